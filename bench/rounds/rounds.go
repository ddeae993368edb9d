package rounds

import (
	"context"
	"fmt"
	"time"

	"minisrp/bench/result"
)

// Contestant is what is measured.
type Contestant struct {
	Name string
	// Measure takes one sample. It may take longer the first time, when there is something to start.
	Measure func(ctx context.Context) (result.Sample, error)
}

// Group is those that are measured under the same load.
type Group struct {
	Name, Title, Client string // as in result.Group
	Load                result.Load
	Contestants         []Contestant
	Rounds              int // this many only; 0: all

	// Together measures all contestants in the place of their own Measure: those of one process, that take turns much
	// shorter than a round's. It returns samples by their names.
	Together func(ctx context.Context) (map[string]result.Sample, error)
}

// Runner runs groups. All fields must be set.
type Runner struct {
	Rounds int
	Busy   func() (time.Duration, error) // what all processors have spent so far
	Own    func() time.Duration          // and this benchmark of it, with all that it started
	Now    func() time.Time
	Round  func(round int, g result.Group) error // is told of each group that had its turn; an error ends the run
}

// failures is after how many a contestant is left out.
const failures = 2

// Run measures. What it returns beside an error is what was measured until then.
func (r *Runner) Run(ctx context.Context, groups []Group) ([]result.Group, error) {
	all := make([]result.Group, len(groups))
	for i, g := range groups {
		all[i] = result.Group{Name: g.Name, Title: g.Title, Client: g.Client, Load: g.Load}
	}
	for n := range r.Rounds {
		for i, g := range groups {
			if g.Rounds != 0 && n >= g.Rounds {
				continue
			}
			round, err := r.round(ctx, g, n, all[i].Rounds)
			if err != nil {
				return all, err
			}
			all[i].Rounds = append(all[i].Rounds, round)
			if err := r.Round(n, all[i]); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// round measures the contestants of a group once.
func (r *Runner) round(ctx context.Context, g Group, n int, before []result.Round) (result.Round, error) {
	round := result.Round{Samples: map[string]result.Sample{}, Failed: map[string]string{}}
	if g.Together != nil {
		err := r.together(ctx, g, before, &round)
		return round, err
	}
	for i := range g.Contestants {
		c := g.Contestants[(i+n)%len(g.Contestants)]
		if reason, out := leftOut(c.Name, before); out {
			round.Failed[c.Name] = reason
			continue
		}
		round.Order = append(round.Order, c.Name)
		err := r.measure(ctx, func(ctx context.Context) (map[string]result.Sample, error) {
			s, err := c.Measure(ctx)
			return map[string]result.Sample{c.Name: s}, err
		}, &round)
		if ctx.Err() != nil {
			return round, fmt.Errorf("%s, %s: %w", g.Name, c.Name, context.Cause(ctx))
		}
		if err != nil {
			round.Failed[c.Name] = err.Error()
		}
	}
	return round, nil
}

// together measures the contestants of a group at once.
func (r *Runner) together(ctx context.Context, g Group, before []result.Round, round *result.Round) error {
	for _, c := range g.Contestants {
		if reason, out := leftOut(c.Name, before); out {
			round.Failed[c.Name] = reason
		}
	}
	if len(round.Failed) > 0 {
		return nil
	}
	err := r.measure(ctx, g.Together, round)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", g.Name, context.Cause(ctx))
	}
	for _, c := range g.Contestants {
		round.Order = append(round.Order, c.Name)
		if err != nil {
			round.Failed[c.Name] = err.Error()
		}
	}
	return nil
}

// measure takes samples into a round, and notes what others did meanwhile.
func (r *Runner) measure(ctx context.Context, take func(context.Context) (map[string]result.Sample, error), into *result.Round) error {
	busy, err := r.Busy()
	if err != nil {
		return err
	}
	began, own := r.Now(), r.Own()
	samples, err := take(ctx)
	if err != nil {
		return err
	}
	after, err := r.Busy()
	if err != nil {
		return err
	}
	took := r.Now().Sub(began)
	for name, s := range samples {
		if took > 0 {
			s.Foreign = max(0, float64(after-busy-(r.Own()-own))/float64(took))
		}
		into.Samples[name] = s
	}
	return nil
}

// leftOut says why a contestant is not tried any more.
func leftOut(name string, before []result.Round) (reason string, out bool) {
	n := 0
	for _, r := range before {
		if f, ok := r.Failed[name]; ok {
			reason = f
			n++
		}
	}
	return reason, n >= failures
}
