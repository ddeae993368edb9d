package scale

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"minisrp/bench/load"
	"minisrp/bench/stack"
	"minisrp/cmd/srpd/embedded"
)

// Config says what to measure.
type Config struct {
	Points   []Point // Targets and Units of each are given; nil means DefaultPoints
	Requests uint64  // of the load, the same for each point; 0 means 100,000
	Rounds   int     // loads at each point; 0 means 3
	Memory   uint64  // bytes of all units together, the same for each point; 0 means 64 MiB
}

// DefaultPoints are 1, 16 and 256 targets, and 1, 64 and 1024 units.
func DefaultPoints() []Point {
	return []Point{{Targets: 1, Units: 1}, {Targets: 16, Units: 16}, {Targets: 256, Units: 256}, {Targets: 1, Units: 64}, {Targets: 16, Units: 1024}}
}

// Point is a stack, and what it took.
type Point struct {
	Targets int `json:"targets"`
	Units   int `json:"units"` // in all, a multiple of Targets

	Cost       []float64 `json:"cpu_ns_per_request,omitempty"` // round by round, units in memory
	Up         float64   `json:"up_s"`                         // until all are logged in to and found
	Resident   float64   `json:"resident"`                     // bytes that the idle stack takes, units in files
	Goroutines float64   `json:"goroutines"`
	Files      float64   `json:"files"`
	Mappings   float64   `json:"mappings"` // of memory
}

// CostMedian returns the middle of the rounds.
func (p Point) CostMedian() float64 {
	if len(p.Cost) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(p.Cost))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// queue is how many requests a channel has under way: what a daemon with many targets gives each.
const queue = 16

// depth is that of the load.
const depth = 16

// Measure measures every point, and draws the conclusions. Errors: the stacks', and that requests failed.
func Measure(ctx context.Context, c Config) (*Result, error) {
	if c.Points == nil {
		c.Points = DefaultPoints()
	}
	if c.Requests == 0 {
		c.Requests = 100_000
	}
	if c.Rounds == 0 {
		c.Rounds = 3
	}
	if c.Memory == 0 {
		c.Memory = 64 << 20
	}
	r := &Result{Points: slices.Clone(c.Points)}
	for i := range r.Points {
		p := &r.Points[i]
		if p.Targets < 1 || p.Units < p.Targets || p.Units%p.Targets != 0 {
			return nil, fmt.Errorf("%d units of %d targets: want a multiple", p.Units, p.Targets)
		}
		if err := p.cost(ctx, &c); err != nil {
			return nil, fmt.Errorf("%d targets, %d units: %w", p.Targets, p.Units, err)
		}
		if err := p.idle(ctx, r); err != nil {
			return nil, fmt.Errorf("%d targets, %d units: %w", p.Targets, p.Units, err)
		}
	}
	l := systemLimits()
	l.pairs = r.pairs
	r.conclude(l)
	return r, nil
}

// with makes a stack and ends it.
func (p *Point) with(ctx context.Context, c stack.Config, fn func(*stack.Stack) error) (err error) {
	if c.Dir, err = os.MkdirTemp("", "minisrp-scale-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.Dir)) }()
	c.Targets, c.Units, c.QueueSize = p.Targets, p.Units/p.Targets, queue
	s, err := stack.New(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close(context.WithoutCancel(ctx)))
}

// cost has the load made at all units in turn. They are in memory, and small enough that all points have as much.
func (p *Point) cost(ctx context.Context, c *Config) error {
	size := max(c.Memory/uint64(p.Units)&^4095, 4096)
	return p.with(ctx, stack.Config{Store: embedded.RAM, Size: size}, func(s *stack.Stack) error {
		j := load.NewJob("scale")
		j.RW, j.Depth, j.Number, j.Repeat = load.RW{Read: true, Random: true}, depth, c.Requests, true
		j.TimeBase, j.Runtime = true, time.Hour
		j.Units = nil
		for i := range s.Units {
			j.Units = append(j.Units, i)
		}
		for range c.Rounds {
			r, err := load.Run(ctx, load.Config{Port: s.Port, Units: s.Units, Jobs: []load.Job{j}})
			if err := errors.Join(err, r.Err()); err != nil {
				return err
			}
			p.Cost = append(p.Cost, r.CPU.PerRequest)
		}
		return nil
	})
}

// idle looks at what a stack takes that nobody uses. Its units are in files, which take no memory.
func (p *Point) idle(ctx context.Context, r *Result) error {
	before := look()
	began := time.Now()
	return p.with(ctx, stack.Config{Store: embedded.File, Size: 1 << 20}, func(s *stack.Stack) error {
		r.pairs = float64(min(s.Attr().MaxQP, s.Attr().MaxCQ))
		p.Up = time.Since(began).Seconds()
		after := look()
		p.Resident, p.Goroutines = after.resident-before.resident, after.goroutines-before.goroutines
		p.Files, p.Mappings = after.files-before.files, after.mappings-before.mappings
		return nil
	})
}

// usage is what the process has at a time.
type usage struct{ resident, goroutines, files, mappings float64 }

// look returns that, without what is garbage. What the kernel does not tell is 0.
func look() usage {
	debug.FreeOSMemory()
	u := usage{goroutines: float64(runtime.NumGoroutine())}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(text)); len(f) > 1 {
			pages, _ := strconv.ParseFloat(f[1], 64)
			u.resident = pages * float64(os.Getpagesize())
		}
	}
	if all, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.files = float64(len(all))
	}
	if text, err := os.ReadFile("/proc/self/maps"); err == nil {
		u.mappings = float64(strings.Count(string(text), "\n"))
	}
	return u
}
