package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"

	"minisrp/bench/result"
)

// latencies plots the percentiles of a group: the further to the right, the rarer.
func latencies(g result.Group) (*plot.Plot, error) {
	var all []result.Line
	for _, name := range contestants(g) {
		l := result.Line{Name: name}
		for p, s := range percentiles(g, name) {
			least, most := s.Spread()
			l.Points = append(l.Points, result.Point{X: nines(p), Y: s.Median(), Min: least, Max: most})
		}
		slices.SortFunc(l.Points, func(a, b result.Point) int { return int(math.Copysign(1, a.X-b.X)) })
		if len(l.Points) > 0 {
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	p := newPlot("Latency: "+g.Title, "percentile (median of the rounds, with their spread)", "µs")
	if err := lines(p, all); err != nil {
		return nil, err
	}
	p.X.Tick.Marker = ticks(map[float64]string{
		0: "0", nines(50): "50", nines(90): "90", nines(99): "99", nines(99.9): "99.9", nines(99.99): "99.99",
	})
	p.X.Min, p.X.Max = 0, nines(99.99)
	legendLeft(p)
	logY(p)
	return p, nil
}

// nines is where a percentile stands on the axis: each step of 1 is ten times rarer.
func nines(percentile float64) float64 { return -math.Log10(1 - percentile/100) }

// percentiles returns those of a contestant in µs, round by round.
func percentiles(g result.Group, name string) map[float64]result.Series {
	all := map[float64]result.Series{}
	for _, r := range g.Rounds {
		for p, ns := range r.Samples[name].Latency.Percentile {
			if v, err := strconv.ParseFloat(p, 64); err == nil && v < 100 && ns > 0 {
				all[v] = append(all[v], ns/1e3)
			}
		}
	}
	return all
}

// depths plots requests a second against the depth, of groups that differ in nothing else.
func depths(groups []result.Group) (*plot.Plot, error) {
	by := map[string]*result.Line{}
	var names []string
	labels := map[float64]string{}
	for _, g := range groups {
		for _, name := range contestants(g) {
			s := series(g, name).iops
			if len(s) == 0 {
				continue
			}
			l := by[name]
			if l == nil {
				l = &result.Line{Name: name}
				by[name] = l
				names = append(names, name)
			}
			least, most := s.Spread()
			l.Points = append(l.Points, result.Point{X: float64(g.Load.Depth), Y: s.Median() / 1e3, Min: least / 1e3, Max: most / 1e3})
			labels[float64(g.Load.Depth)] = strconv.Itoa(g.Load.Depth)
		}
	}
	var all []result.Line
	for _, name := range names {
		if l := by[name]; len(l.Points) > 2 { // some are measured at one depth only
			slices.SortFunc(l.Points, func(a, b result.Point) int { return int(a.X - b.X) })
			all = append(all, *l)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	load := groups[0].Load
	p := newPlot(fmt.Sprintf("NBD %s of %d KiB: requests a second against depth", load.Mode, load.Block>>10), "depth", "thousands of requests a second")
	if err := lines(p, all); err != nil {
		return nil, err
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks(labels)
	p.Y.Min = 0
	p.Y.Max *= 1.05
	legendLeft(p)
	return p, nil
}
