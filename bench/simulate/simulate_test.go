package simulate_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"minisrp/bench/simulate"
)

var costs = simulate.Costs{
	PerDPC: 150 * time.Nanosecond, PerRequest: 1500 * time.Nanosecond,
	HandOver: 200 * time.Nanosecond, Wake: 5 * time.Microsecond, Line: 100 * time.Nanosecond,
}

func Example() {
	c := simulate.Fit(2550*time.Nanosecond, 1580*time.Nanosecond, 2, 0.2)
	for _, p := range simulate.Curve(c, simulate.Load{Depth: 32, Shared: true}, 3) {
		fmt.Printf("%d processors: %.1f times the requests of one, %.0f %% busy\n", p.Processors, p.Speedup, 100*p.Busy)
	}
	// Output:
	// 1 processors: 1.0 times the requests of one, 100 % busy
	// 2 processors: 1.3 times the requests of one, 67 % busy
	// 3 processors: 1.5 times the requests of one, 50 % busy
}

// On one processor, DPCs a request fall with depth as they are counted to do on the real path. What a batch of requests
// is cut into there depends on more than is simulated.
func TestAgreesWithPath(t *testing.T) {
	var one, simulatedOne float64
	for _, depth := range []int{1, 2, 4, 8, 16, 32} {
		real, simulated := counted(t, depth, 2000), simulate.Curve(costs, simulate.Load{Depth: depth}, 1)[0].DPCs
		t.Logf("depth %d: %.2f DPCs a request, simulated %.2f", depth, real, simulated)
		if depth == 1 {
			one, simulatedOne = real, simulated
		}
		off := (simulated / simulatedOne) / (real / one)
		switch {
		case depth == 1 && math.Abs(real-simulated) > 0.5:
			t.Errorf("%.2f DPCs a request, simulated %.2f: the stages have changed", real, simulated)
		case depth <= 4 && math.Abs(off-1) > 0.25, off > 2.5, off < 0.4:
			t.Errorf("depth %d: %.2f DPCs a request of %.2f at depth 1, simulated %.2f of %.2f", depth, real, one, simulated, simulatedOne)
		}
	}
}

func TestCurve(t *testing.T) {
	for _, l := range []simulate.Load{{Depth: 1}, {Depth: 32}, {Depth: 1, Shared: true}, {Depth: 32, Shared: true}, {Depth: 32, Lines: 2}} {
		curve := simulate.Curve(costs, l, 8)
		if again := simulate.Curve(costs, l, 3); !reflect.DeepEqual(curve[:3], again) {
			t.Errorf("%+v: two runs differ", l)
		}
		t.Logf("%+v", l)
		for i, p := range curve {
			t.Logf("  %+v", p)
			if p.Processors != i+1 || p.Speedup > 1.02*float64(p.Processors) || p.Busy > 1.02 {
				t.Errorf("%+v: %+v", l, p)
			}
			if !l.Shared && p.HandOvers != 0 || !l.Shared && l.Lines == 0 && p.Speedup < 0.98*float64(p.Processors) {
				t.Errorf("%+v: processors that share nothing hinder each other: %+v", l, p)
			}
			if l.Shared && p.Processors > 1 && p.HandOvers == 0 {
				t.Errorf("%+v: nothing crosses: %+v", l, p)
			}
		}
	}
}
