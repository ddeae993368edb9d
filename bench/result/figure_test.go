package result_test

import (
	"testing"

	"minisrp/bench/result"
)

func TestVerdict(t *testing.T) {
	tests := []struct {
		name   string
		figure result.Figure
		want   result.Verdict
	}{
		{"more is better, aim", result.Figure{Must: 1, Aim: 2, Values: result.Series{2}}, result.Aim},
		{"more is better, met", result.Figure{Must: 1, Aim: 2, Values: result.Series{1}}, result.Met},
		{"more is better, missed", result.Figure{Must: 1, Aim: 2, Values: result.Series{0.99}}, result.Missed},
		{"less is better, aim", result.Figure{Lower: true, Must: 2, Aim: 1, Values: result.Series{1}}, result.Aim},
		{"less is better, met", result.Figure{Lower: true, Must: 2, Aim: 1, Values: result.Series{2}}, result.Met},
		{"less is better, missed", result.Figure{Lower: true, Must: 2, Aim: 1, Values: result.Series{2.01}}, result.Missed},
		{"no aim", result.Figure{Must: 1, Values: result.Series{100}}, result.Met},
		{"the median counts", result.Figure{Must: 1, Values: result.Series{0, 0, 1, 1, 1}}, result.Met},
		{"nothing is demanded", result.Figure{Values: result.Series{0.1}}, result.Shown},
		{"nothing was measured", result.Figure{Must: 1, Missing: "no tool"}, result.NotRun},
	}
	for _, test := range tests {
		if got := test.figure.Verdict(); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestCompare(t *testing.T) {
	before := &result.Result{Figures: []result.Figure{
		{Name: "same", Values: result.Series{1, 2, 3}},
		{Name: "faster", Values: result.Series{1, 1.1, 1.2}},
		{Name: "cheaper", Lower: true, Values: result.Series{10, 11, 12}},
		{Name: "slower", Values: result.Series{10, 11, 12}},
		{Name: "gone", Values: result.Series{1}},
	}}
	after := &result.Result{Figures: []result.Figure{
		{Name: "new", Values: result.Series{7}},
		{Name: "slower", Values: result.Series{5, 5.5, 6}},
		{Name: "cheaper", Lower: true, Values: result.Series{5, 5.5, 6}},
		{Name: "faster", Values: result.Series{2.1, 2.2, 2.3}},
		{Name: "same", Values: result.Series{3, 2.2, 1}},
	}}
	want := []struct {
		name           string
		percent, worse float64
		apart          bool
	}{
		{"same", 10, -10, false}, {"faster", 100, -100, true}, {"cheaper", -50, -50, true}, {"slower", -50, 50, true},
		{"gone", 0, 0, false}, {"new", 0, 0, false},
	}
	got := result.Compare(before, after)
	if len(got) != len(want) {
		t.Fatalf("got %d changes: %+v", len(got), got)
	}
	for i, w := range want {
		c := got[i]
		const rounding = 1e-9
		if c.Name != w.name || c.Percent-w.percent > rounding || w.percent-c.Percent > rounding ||
			c.Worse()-w.worse > rounding || w.worse-c.Worse() > rounding || c.Apart() != w.apart {
			t.Errorf("got %+v, worse by %v, apart %v; want %+v", c, c.Worse(), c.Apart(), w)
		}
	}
}
