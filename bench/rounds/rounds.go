package rounds

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	Turns               int // of each contestant in a round, of which the middle one counts; 0: 1
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

// round measures the contestants of a group, in as many turns as it has.
func (r *Runner) round(ctx context.Context, g Group, n int, before []result.Round) (result.Round, error) {
	round := result.Round{Samples: map[string]result.Sample{}, Failed: map[string]string{}}
	all := map[string][]result.Sample{}
	for turn := range max(1, g.Turns) {
		for i := range g.Contestants {
			c := g.Contestants[(i+n+turn)%len(g.Contestants)]
			if _, failed := round.Failed[c.Name]; failed {
				continue
			}
			if reason, out := leftOut(c.Name, before); out {
				round.Failed[c.Name] = reason
				continue
			}
			if turn == 0 {
				round.Order = append(round.Order, c.Name)
			}
			s, err := r.measure(ctx, c)
			switch {
			case ctx.Err() != nil:
				return round, fmt.Errorf("%s, %s: %w", g.Name, c.Name, context.Cause(ctx))
			case err != nil:
				round.Failed[c.Name] = err.Error()
			default:
				all[c.Name] = append(all[c.Name], s)
			}
		}
	}
	for name, samples := range all {
		if _, failed := round.Failed[name]; !failed {
			round.Samples[name] = middle(samples)
		}
	}
	return round, nil
}

// middle returns the sample in the middle by requests a second, with what others used meanwhile on the average.
func middle(samples []result.Sample) result.Sample {
	foreign := 0.0
	for _, s := range samples {
		foreign += s.Foreign / float64(len(samples))
	}
	slices.SortFunc(samples, func(a, b result.Sample) int { return cmp.Compare(a.IOPS, b.IOPS) })
	s := samples[len(samples)/2]
	s.Foreign = foreign
	return s
}

// measure takes a sample, and notes what others did meanwhile.
func (r *Runner) measure(ctx context.Context, c Contestant) (result.Sample, error) {
	busy, err := r.Busy()
	if err != nil {
		return result.Sample{}, err
	}
	began, own := r.Now(), r.Own()
	s, err := c.Measure(ctx)
	if err != nil {
		return s, err
	}
	after, err := r.Busy()
	if err != nil {
		return s, err
	}
	if took := r.Now().Sub(began); took > 0 {
		s.Foreign = max(0, float64(after-busy-(r.Own()-own))/float64(took))
	}
	return s, nil
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
