package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Samples are one subject's figures, in ns a request, one a round. Two subjects' samples of a round belong together:
// they were taken one after the other.
type Samples []float64

// Median returns the middle one; 0 if there are none.
func (s Samples) Median() float64 {
	if len(s) == 0 {
		return 0
	}
	s = slices.Sorted(slices.Values(s))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Over returns s divided by t, round by round: what is to be quoted, by its median and spread.
func (s Samples) Over(t Samples) Samples {
	r := make(Samples, min(len(s), len(t)))
	for i := range r {
		r[i] = s[i] / t[i]
	}
	return r
}

// Plan says how long to measure.
type Plan struct {
	Rounds int           // each with a turn of every subject; 0 means 15
	Turn   time.Duration // about, of one subject; 0 means 20 ms: what disturbs the machine then disturbs all of a round
}

// Result is what was measured of one case: samples by the name of the subject.
type Result struct {
	Case Case
	Time map[string]Samples // that passed
	CPU  map[string]Samples // of this process: what else runs on the machine does not count
}

// Bytes returns the median of a subject's bytes a second.
func (r *Result) Bytes(name string) float64 {
	return float64(r.Case.Size) / r.Time[name].Median() * 1e9
}

// Measure lets memcpy, model and path take turns at a case. Errors: ErrCase, ctx's, and that requests failed.
func (b *Bed) Measure(ctx context.Context, c Case, p Plan) (*Result, error) {
	var subjects []Subject
	for _, open := range []func(Case) (Subject, error){b.Memcpy, b.Model, b.Path} {
		s, err := open(c)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, s)
	}
	return Measure(ctx, c, p, subjects...)
}

// Measure lets subjects take turns, the first in a round last in the next, each for about as long. Errors: ctx's, and
// that requests failed.
func Measure(ctx context.Context, c Case, p Plan, subjects ...Subject) (*Result, error) {
	if p.Rounds == 0 {
		p.Rounds = 15
	}
	if p.Turn == 0 {
		p.Turn = 20 * time.Millisecond
	}
	r := &Result{Case: c, Time: make(map[string]Samples), CPU: make(map[string]Samples)}
	turns := make([]int, len(subjects))
	for i, s := range subjects {
		turns[i] = calibrate(s, p.Turn)
	}
	for round := range p.Rounds {
		for i := range subjects {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			i = (i + round) % len(subjects)
			s, n := subjects[i], turns[i]
			began, used := time.Now(), cpu()
			failed := s.Run(n)
			took, used := time.Since(began), cpu()-used
			if failed > 0 {
				return nil, fmt.Errorf("%s, %v: %d of %d requests failed", s.Name(), c, failed, n)
			}
			r.Time[s.Name()] = append(r.Time[s.Name()], float64(took)/float64(n))
			r.CPU[s.Name()] = append(r.CPU[s.Name()], float64(used)/float64(n))
		}
	}
	return r, nil
}

// calibrate returns how many requests a subject moves in about d.
func calibrate(s Subject, d time.Duration) int {
	for n := 64; ; n *= 4 {
		began := time.Now()
		s.Run(n)
		if took := time.Since(began); took > d/8 || n > 1<<28 {
			return max(1, int(float64(n)*float64(d)/float64(max(took, 1))))
		}
	}
}

// cpu returns the processor time that this process has used.
func cpu() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
