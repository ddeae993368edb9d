package report

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"minisrp/bench/result"
)

// verdictColours are those of the overview and of the page.
var verdictColours = map[result.Verdict]color.RGBA{
	result.Aim: {0, 158, 115, 255}, result.Met: {0, 114, 178, 255}, result.Missed: {213, 94, 0, 255},
}

// overview plots every figure that has a bound, as a multiple of what it must be: what is better is on the right.
func overview(figures []result.Figure) (*plot.Plot, int, error) {
	p := newPlot("Figures as multiples of what must be: right of 1 is met", "× must", "")
	p.Y.Tick.Length = 0
	labels := map[float64]string{}
	n := 0
	for i := len(figures) - 1; i >= 0; i-- { // the first on top
		f := figures[i]
		if f.Must == 0 || len(f.Values) == 0 {
			continue
		}
		y := float64(n)
		n++
		labels[y] = f.Name
		least, most := f.Values.Spread()
		m := result.Point{X: goodness(f, f.Values.Median()), Y: y, Min: goodness(f, least), Max: goodness(f, most)}
		if err := mark(p, f, m); err != nil {
			return nil, 0, err
		}
	}
	if n == 0 {
		return nil, 0, nil
	}
	must, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.7}, {X: 1, Y: float64(n) - 0.3}})
	if err != nil {
		return nil, 0, err
	}
	must.Color, must.Width = black, 1.2
	p.Add(must)
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = -0.7, float64(n)-0.3, ticks(labels)
	p.X.Scale = plot.LogScale{}
	p.X.Min, p.X.Max = min(p.X.Min*0.95, 0.5), max(p.X.Max*1.05, 2)
	at := map[float64]string{}
	for _, v := range []float64{0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100} {
		if v >= p.X.Min && v <= p.X.Max {
			at[v] = fmt.Sprint(v)
		}
	}
	p.X.Tick.Marker = ticks(at)
	return p, n, nil
}

// goodness is how many times a value is as good as it must be, within what a plot can show.
func goodness(f result.Figure, v float64) float64 {
	const least, most = 0.04, 125
	if f.Lower {
		v, f.Must = f.Must, max(v, math.SmallestNonzeroFloat64)
	}
	return min(max(v/f.Must, least), most)
}

// mark draws one figure: its spread, its median, and the aim.
func mark(p *plot.Plot, f result.Figure, m result.Point) error {
	c := verdictColours[f.Verdict()]
	spread, err := plotter.NewLine(plotter.XYs{{X: m.Min, Y: m.Y}, {X: m.Max, Y: m.Y}})
	if err != nil {
		return err
	}
	spread.Color, spread.Width = c, 2
	point, err := plotter.NewScatter(plotter.XYs{{X: m.X, Y: m.Y}})
	if err != nil {
		return err
	}
	point.Color, point.Shape, point.Radius = c, draw.CircleGlyph{}, vg.Points(3.5)
	p.Add(spread, point)
	if f.Aim == 0 {
		return nil
	}
	x := goodness(f, f.Aim)
	aim, err := plotter.NewLine(plotter.XYs{{X: x, Y: m.Y - 0.3}, {X: x, Y: m.Y + 0.3}})
	if err != nil {
		return err
	}
	aim.Color, aim.Width = verdictColours[result.Aim], 1.5
	p.Add(aim)
	return nil
}
