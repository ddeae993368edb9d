package suite

import (
	"time"

	"minisrp/bench/result"
	"minisrp/bench/simulate"
)

// DPCs a request of the loopback path, as package simulate's tests count them: at depth 1, and at 32.
const (
	dpcsOne  = 2
	dpcsDeep = 0.2
)

// Curves makes the curves that come from what was measured so far; those for which that is not enough are left out.
func (s *Suite) Curves(groups []result.Group) []result.Curve {
	one, deep := timeOf(groups, "loopback-read-4k-1"), timeOf(groups, "loopback-read-4k-32")
	if one == 0 || deep == 0 {
		return nil
	}
	c := simulate.Fit(one, deep, dpcsOne, dpcsDeep)
	c.HandOver, c.Wake, c.Line = 200*time.Nanosecond, 5*time.Microsecond, 100*time.Nanosecond
	curve := result.Curve{
		Name: "processors", Title: "Simulated: loopback 4 KiB read, depth 32, by processors",
		X: result.Axis{Label: "processors, each with a submitter"}, Y: result.Axis{Label: "times the requests of one"},
		Remark: "From the time a request at depth 1 and 32 that this run has measured, with 0.2 µs for a hand-over, 5 µs for a wake-up and " +
			"0.1 µs for a line of memory that moves. It shows what structure costs, and knows nothing of the bandwidth of memory: " +
			"real processors scale worse.",
	}
	for _, l := range []struct {
		name string
		load simulate.Load
	}{
		{"a unit each", simulate.Load{Depth: 32}},
		{"a unit each, two lines written by all", simulate.Load{Depth: 32, Lines: 2}},
		{"one unit for all", simulate.Load{Depth: 32, Shared: true}},
		{"one unit for all, depth 1", simulate.Load{Depth: 1, Shared: true}},
	} {
		line := result.Line{Name: l.name}
		for _, p := range simulate.Curve(c, l.load, 8) {
			line.Points = append(line.Points, result.Point{X: float64(p.Processors), Y: p.Speedup, Min: p.Speedup, Max: p.Speedup})
		}
		curve.Lines = append(curve.Lines, line)
	}
	return []result.Curve{curve}
}

// timeOf returns the median of the path's time a request in a group; 0 if it was not measured.
func timeOf(groups []result.Group, name string) time.Duration {
	var all result.Series
	for _, g := range groups {
		for _, r := range g.Rounds {
			if s := r.Samples[path]; g.Name == name && s.IOPS > 0 {
				all = append(all, 1e9/s.IOPS)
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	return time.Duration(all.Median())
}
