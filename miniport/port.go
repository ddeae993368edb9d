package miniport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"minisrp/scsi"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Errors that callers branch on.
var (
	// ErrNoUnit: there is no such unit, or no path to it. Scan again.
	ErrNoUnit = errors.New("no such logical unit")
	// ErrClosed: the port is closed.
	ErrClosed = errors.New("port is closed")
)

// Config says how to make a port.
type Config struct {
	// Processors run the port's lanes, 1 to 64. Channels belong to them, and callers
	// that raise one of them get their completions there.
	Processors []*dispatch.Processor
	// Log is told of state changes, never at Dispatch. nil means the default logger.
	Log *slog.Logger
	// UnitFound is told of each unit that a scan finds for the first time, and
	// UnitChanged of one whose paths changed. Called at Passive; may be nil.
	UnitFound, UnitChanged func(u *Unit)
}

// Port is the port driver: it owns adapters, the units behind them, and the memory
// that requests point into.
//
// Ownership: made by New, ended by Close. LOCK ORDER: mu is never held across a call
// into a miniport or a callback.
type Port struct {
	// Fixed after construction.
	config Config
	log    *slog.Logger
	execs  []*executor
	probe  *Region
	scans  chan struct{} // capacity 1: held by the scan that uses the probe's memory

	mu       sync.Mutex // guards what follows
	adapters []*Adapter
	regions  []*Region
	units    []*Unit
	closed   bool
}

// New makes a port without adapters. Errors: an invalid number of processors, or no
// memory.
//
//level:passive
func New(c Config) (*Port, error) {
	if n := len(c.Processors); n < 1 || n > 64 {
		return nil, fmt.Errorf("a port with %d processors: want 1 to 64", n)
	}
	p := &Port{config: c, log: c.Log, scans: make(chan struct{}, 1)}
	if p.log == nil {
		p.log = slog.Default()
	}
	for i, proc := range c.Processors {
		p.execs = append(p.execs, newExecutor(p, proc, i))
	}
	a, err := arena.New(probeMemory)
	if err != nil {
		return nil, err
	}
	p.probe = NewRegion(a)
	p.regions = append(p.regions, p.probe)
	return p, nil
}

// Processors returns the processors that the port was made with.
func (p *Port) Processors() []*dispatch.Processor { return p.config.Processors }

// AddAdapter finds and initialises an adapter. It succeeds with no target in reach.
func (p *Port) AddAdapter(ctx context.Context, name string, mp Miniport) (*Adapter, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	a := &Adapter{port: p, mp: mp, name: name, index: len(p.adapters)}
	if a.index == maxAdapters {
		p.mu.Unlock()
		return nil, fmt.Errorf("adapter %s: a port has at most %d", name, maxAdapters)
	}
	p.adapters = append(p.adapters, a)
	regions := slices.Clone(p.regions)
	p.mu.Unlock()

	if err := mp.FindAdapter(ctx, a); err != nil {
		a.gone.Store(true)
		return nil, fmt.Errorf("adapter %s: %w", name, err)
	}
	for _, r := range regions {
		if err := r.register(ctx, a); err != nil {
			return nil, fmt.Errorf("adapter %s: %w", name, err)
		}
	}
	var err error
	if e := p.call(ctx, p.execs[0], func(f *dispatch.Frame) { err = mp.Initialize(f) }); e != nil {
		err = e
	}
	if err != nil {
		return nil, fmt.Errorf("adapter %s: %w", name, err)
	}
	return a, nil
}

// Adapters returns the adapters in the order they were added.
func (p *Port) Adapters() []*Adapter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.adapters)
}

// Units returns the units in the order they were found.
func (p *Port) Units() []*Unit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.units)
}

// Unit returns the unit with an identity, or ErrNoUnit.
func (p *Port) Unit(id scsi.UnitID) (*Unit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.units {
		if u.id == id {
			return u, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrNoUnit, id)
}

// RegisterRegion makes an arena known to every adapter, also to those added later.
func (p *Port) RegisterRegion(ctx context.Context, a *arena.Arena) (*Region, error) {
	r := NewRegion(a)
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	p.regions = append(p.regions, r)
	adapters := slices.Clone(p.adapters)
	p.mu.Unlock()
	for _, a := range adapters {
		if a.gone.Load() {
			continue
		}
		if err := r.register(ctx, a); err != nil {
			p.DeregisterRegion(ctx, r)
			return nil, err
		}
	}
	return r, nil
}

// DeregisterRegion makes every adapter forget a region: it returns when none can
// reach the memory any more. Nothing submitted may point into it.
func (p *Port) DeregisterRegion(ctx context.Context, r *Region) {
	p.mu.Lock()
	if i := slices.Index(p.regions, r); i >= 0 {
		p.regions = slices.Delete(p.regions, i, i+1)
	}
	p.mu.Unlock()
	r.deregister(ctx)
}

// Close stops everything: units take no more requests, what is queued completes with
// StatusFlushed, what is at an adapter completes, and the adapters stop. When ctx
// ends, adapters are stopped without waiting for what is at them.
func (p *Port) Close(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	units, adapters := slices.Clone(p.units), slices.Clone(p.adapters)
	p.mu.Unlock()
	for _, u := range units {
		u.stop(ctx)
	}
	var errs []error
	for _, a := range adapters {
		if a.gone.Load() {
			continue
		}
		if err := a.mp.AdapterControl(ctx, Stop); err != nil {
			errs = append(errs, fmt.Errorf("adapter %s: %w", a.name, err))
		}
	}
	p.mu.Lock()
	regions := p.regions
	p.regions = nil
	p.mu.Unlock()
	for _, r := range regions {
		r.deregister(ctx)
	}
	for _, a := range adapters {
		if c, ok := a.mp.(interface{ Close(context.Context) error }); ok {
			if err := c.Close(ctx); err != nil {
				errs = append(errs, fmt.Errorf("adapter %s: %w", a.name, err))
			}
		}
	}
	if err := p.probe.arena.Close(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// call runs fn at Dispatch on an executor's processor and waits for it.
func (p *Port) call(ctx context.Context, e *executor, fn dispatch.Func) error {
	done := make(chan struct{})
	d := new(dispatch.DPC)
	d.Init(e.proc, func(f *dispatch.Frame) {
		fn(f)
		close(done)
	})
	d.Post()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxAdapters bounds the table of keys in a Region.
const maxAdapters = 16

// Adapter is one adapter as the port knows it, and what a miniport calls the port
// by.
type Adapter struct {
	// Fixed after construction.
	port  *Port
	mp    Miniport
	name  string
	index int

	gone atomic.Bool // FindAdapter failed, or it was removed
}

// Name returns the adapter's name.
func (a *Adapter) Name() string { return a.name }

// Port returns the port that the adapter belongs to.
func (a *Adapter) Port() *Port { return a.port }

// Log returns where state changes are logged; not at Dispatch.
func (a *Adapter) Log() *slog.Logger { return a.port.log.With("adapter", a.name) }

// Processors returns the processors on which StartIO is called: channel i of a
// session belongs to processor i.
func (a *Adapter) Processors() []*dispatch.Processor { return a.port.config.Processors }
