package report

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"minisrp/bench/result"
)

// costs plots the CPU a request of servers and clients in a group, one bar on the other.
func costs(g result.Group) (*plot.Plot, error) {
	var server, client plotter.Values
	var names []string
	for _, name := range contestants(g) {
		s := series(g, name)
		if len(s.iops) == 0 || s.server.Median() == 0 {
			continue
		}
		names = append(names, name)
		server = append(server, s.server.Median())
		client = append(client, s.client.Median())
	}
	if len(names) == 0 {
		return nil, nil
	}
	slices.Reverse(names) // the first on top
	slices.Reverse(server)
	slices.Reverse(client)
	p := newPlot("CPU a request: "+g.Title, "µs of CPU a request, median of the rounds", "")
	width := vg.Points(14)
	low, err := plotter.NewBarChart(server, width)
	if err != nil {
		return nil, err
	}
	rest, err := plotter.NewBarChart(client, width)
	if err != nil {
		return nil, err
	}
	low.Color, low.LineStyle.Width, low.Horizontal = palette[0], 0, true
	rest.Color, rest.LineStyle.Width, rest.Horizontal = grey, 0, true
	rest.StackOn(low)
	p.Add(low, rest)
	p.NominalY(names...)
	p.Y.Tick.Length = 0
	p.Legend.Add("server", low)
	p.Legend.Add("client", rest)
	p.X.Min = 0
	p.X.Max *= 1.15 // room for the legend
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
	return p, nil
}
