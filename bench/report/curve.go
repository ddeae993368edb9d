package report

import (
	"gonum.org/v1/plot"

	"minisrp/bench/result"
)

// curve plots one that is in the result as it is.
func curve(c result.Curve) (*plot.Plot, error) {
	p := newPlot(c.Title, c.X.Label, c.Y.Label)
	if err := lines(p, c.Lines); err != nil {
		return nil, err
	}
	legendLeft(p)
	if c.Y.Log {
		logY(p)
	} else {
		p.Y.Min = min(p.Y.Min, 0)
		p.Y.Max *= 1.05
	}
	if c.X.Log {
		at := map[float64]string{}
		for _, l := range c.Lines {
			for _, pt := range l.Points {
				at[pt.X] = short(pt.X)
			}
		}
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks(at)
	}
	return p, nil
}
