package scale

import (
	"math"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A plane that is known is found.
func TestFit(t *testing.T) {
	want := Plane{Fixed: 1000, PerTarget: 50, PerUnit: 0.25}
	f := fit(DefaultPoints(), func(p Point) float64 { return want.At(float64(p.Targets), float64(p.Units)) })
	if math.Abs(f.Fixed-1000) > 1e-6 || math.Abs(f.PerTarget-50) > 1e-6 || math.Abs(f.PerUnit-0.25) > 1e-6 || f.Residual > 1e-9 {
		t.Errorf("%+v", f)
	}
	// Points in one line leave open what targets and what units take.
	f = fit([]Point{{Targets: 1, Units: 1}, {Targets: 3, Units: 3}}, func(p Point) float64 { return float64(p.Units) })
	if f.Fixed != 2 || f.PerTarget != 0 || f.PerUnit != 0 || f.Residual == 0 {
		t.Errorf("%+v", f)
	}
	if f = fit(nil, nil); f != (Plane{}) {
		t.Errorf("%+v", f)
	}
}

// What runs out first stands first, with the number of units that it is enough for.
func TestConclude(t *testing.T) {
	r := &Result{Points: DefaultPoints()}
	for i := range r.Points {
		p := &r.Points[i]
		n, u := float64(p.Targets), float64(p.Units)
		p.Cost, p.Resident, p.Files, p.Mappings, p.Goroutines = []float64{900 + u}, 1e6+64e3*n+1e3*u, 10+u, 20+32*n, 5
	}
	r.conclude(limits{memory: 1e6 + 2e3*5000, files: 1034, mappings: 20 + 0.5*60000})
	var names []string
	for _, n := range r.Needs {
		names = append(names, n.What)
	}
	if len(r.Needs) != 6 || r.Needs[0].What != "open files" || math.Abs(r.Needs[0].Units-1024) > 1 || r.Needs[1].What != "memory" ||
		math.Abs(r.Needs[1].Units-5000) > 1 || r.Needs[2].What != "mappings of memory" || math.Abs(r.Needs[2].Units-60000) > 1 || r.Needs[3].Units != channels*UnitsPerTarget || r.Needs[5].Units != -1 {
		t.Errorf("%q: %+v", names, r.Needs)
	}
	var out strings.Builder
	if err := r.Print(&out); err != nil || !strings.Contains(out.String(), "open files: 10010 of 1034 (RLIMIT_NOFILE): enough for 1024 units") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestMeasure(t *testing.T) {
	r, err := Measure(t.Context(), Config{
		Points: []Point{{Targets: 1, Units: 1}, {Targets: 2, Units: 4}, {Targets: 1, Units: 3}}, Requests: 500, Rounds: 2, Memory: 1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Points {
		if len(p.Cost) != 2 || p.Up <= 0 || p.Files < float64(p.Units) {
			t.Errorf("%+v", p)
		}
	}
	// A unit in a file has that open, and nothing else.
	if f := r.Files; math.Abs(f.PerUnit-1) > 0.5 {
		t.Errorf("files: %+v", f)
	}
	if _, err := Measure(t.Context(), Config{Points: []Point{{Targets: 2, Units: 3}}}); err == nil {
		t.Error("3 units of 2 targets were measured")
	}
}
