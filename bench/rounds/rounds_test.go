package rounds_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"minisrp/bench/result"
	"minisrp/bench/rounds"
)

// fake is a machine whose clocks the test moves, and on which contestants write down that they were called.
type fake struct {
	calls     []string
	told      []string
	now       time.Time
	busy, own time.Duration
}

func (f *fake) runner(n int) *rounds.Runner {
	return &rounds.Runner{
		Rounds: n,
		Busy:   func() (time.Duration, error) { return f.busy, nil },
		Own:    func() time.Duration { return f.own },
		Now:    func() time.Time { return f.now },
		Round: func(n int, g result.Group) error {
			f.told = append(f.told, fmt.Sprintf("%d %s %d", n, g.Name, len(g.Rounds)))
			return nil
		},
	}
}

// group has contestants that take a second, of which this benchmark uses a half, and others the given part.
func (f *fake) group(name string, others time.Duration, names ...string) rounds.Group {
	g := rounds.Group{Name: name, Title: "title of " + name, Load: result.Load{Depth: 3}}
	for _, n := range names {
		g.Contestants = append(g.Contestants, rounds.Contestant{Name: n, Measure: func(context.Context) (result.Sample, error) {
			f.calls = append(f.calls, n)
			f.now = f.now.Add(time.Second)
			f.own += time.Second / 2
			f.busy += time.Second/2 + others
			return result.Sample{IOPS: float64(len(f.calls))}, nil
		}})
	}
	return g
}

// Contestants take turns, groups too, and another one is first in each round.
func TestInterleaving(t *testing.T) {
	f := &fake{}
	groups := []rounds.Group{f.group("one", 0, "a", "b", "c"), f.group("two", 0, "d", "e")}
	groups[1].Rounds = 2
	got, err := f.runner(4).Run(t.Context(), groups)
	if err != nil {
		t.Fatal(err)
	}
	const want = "a b c d e b c a e d c a b a b c"
	if calls := strings.Join(f.calls, " "); calls != want {
		t.Errorf("called %s\nwant   %s", calls, want)
	}
	if want := []string{"0 one 1", "0 two 1", "1 one 2", "1 two 2", "2 one 3", "3 one 4"}; !slices.Equal(f.told, want) {
		t.Errorf("told %q, want %q", f.told, want)
	}
	if len(got) != 2 || len(got[0].Rounds) != 4 || len(got[1].Rounds) != 2 {
		t.Fatalf("got %+v", got)
	}
	r := got[0].Rounds[1]
	if !slices.Equal(r.Order, []string{"b", "c", "a"}) || r.Samples["b"].IOPS != 6 || r.Samples["a"].IOPS != 8 {
		t.Errorf("the second round is %+v", r)
	}
	if got[0].Title != "title of one" || got[0].Load.Depth != 3 {
		t.Errorf("the group is %+v", got[0])
	}
}

// What others used is what was used in all, but for what this benchmark did.
func TestForeign(t *testing.T) {
	f := &fake{}
	got, err := f.runner(1).Run(t.Context(), []rounds.Group{f.group("quiet", 0, "a"), f.group("loud", 750*time.Millisecond, "a")})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0, 0.75} {
		if v := got[i].Rounds[0].Samples["a"].Foreign; v != want {
			t.Errorf("%s: %v processors, want %v", got[i].Name, v, want)
		}
	}
}

// Who fails is tried once more, and leaves the others alone.
func TestFailure(t *testing.T) {
	f := &fake{}
	g := f.group("one", 0, "a", "b")
	tries := 0
	g.Contestants[0].Measure = func(context.Context) (result.Sample, error) {
		tries++
		return result.Sample{}, errors.New("out of paper")
	}
	got, err := f.runner(4).Run(t.Context(), []rounds.Group{g})
	if err != nil || tries != 2 {
		t.Fatalf("%d tries, %v", tries, err)
	}
	for i, r := range got[0].Rounds {
		if _, ok := r.Samples["a"]; ok || r.Failed["a"] != "out of paper" {
			t.Errorf("round %d: %+v", i, r)
		}
		if _, ok := r.Samples["b"]; !ok {
			t.Errorf("round %d: b was not measured", i)
		}
	}
}

// A group that takes its turns itself is asked once a round.
func TestTogether(t *testing.T) {
	f := &fake{}
	asked := 0
	g := rounds.Group{Name: "one", Contestants: []rounds.Contestant{{Name: "a"}, {Name: "b"}}}
	g.Together = func(context.Context) (map[string]result.Sample, error) {
		if asked++; asked > 1 {
			return nil, errors.New("once is enough")
		}
		return map[string]result.Sample{"a": {IOPS: 1}, "b": {IOPS: 2}}, nil
	}
	got, err := f.runner(5).Run(t.Context(), []rounds.Group{g})
	if err != nil || asked != 3 {
		t.Fatalf("asked %d times, %v", asked, err)
	}
	if r := got[0].Rounds[0]; len(r.Samples) != 2 || r.Samples["b"].IOPS != 2 {
		t.Errorf("the first round is %+v", r)
	}
	for _, r := range got[0].Rounds[1:] {
		if len(r.Samples) != 0 || r.Failed["a"] == "" || r.Failed["b"] == "" {
			t.Errorf("a round that failed is %+v", r)
		}
	}
}

// The end of the context ends the run; what was measured is there.
func TestCancel(t *testing.T) {
	f := &fake{}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	g := f.group("one", 0, "a", "b")
	measure := g.Contestants[1].Measure
	g.Contestants[1].Measure = func(ctx context.Context) (result.Sample, error) {
		if len(f.calls) >= 2 {
			cancel(cause)
		}
		return measure(ctx)
	}
	got, err := f.runner(9).Run(ctx, []rounds.Group{g})
	if !errors.Is(err, cause) || len(got) != 1 || len(got[0].Rounds) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
