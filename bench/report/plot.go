package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"minisrp/bench/result"
)

// palette is Okabe and Ito's, which those who see few colours can tell apart too.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{230, 159, 0, 255}, {86, 180, 233, 255}, {0, 0, 0, 255}, {128, 128, 128, 255},
}

// known are the contestants that have the same colour in every plot.
var known = []string{"srpd", "nbdkit memory", "slice", "nbdkit -t 1 memory", "qsd file", "qsd null-co", "nbdkit null", "tgt"}

// colour returns a contestant's; others have that of their place in the plot.
func colour(name string, place int) color.RGBA {
	if i := slices.Index(known, name); i >= 0 {
		place = i
	}
	return palette[place%len(palette)]
}

var (
	grey  = color.RGBA{200, 200, 200, 255}
	black = color.RGBA{40, 40, 40, 255}
)

// newPlot makes a plot with a grid, and its legend at the top. The labels of logarithmic axes are to be short: plot
// makes room for them where the middle of a linear axis would be.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	for _, s := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		s.Font.Typeface, s.Font.Variant, s.Font.Size, s.Color = "Liberation", "Sans", 9, black
	}
	p.Title.TextStyle.Font.Size, p.Title.TextStyle.Font.Weight = 11, 3 // bold
	p.Title.Padding, p.X.Label.Padding, p.Y.Label.Padding = 6, 4, 6
	p.Legend.Top, p.Legend.Padding, p.Legend.ThumbnailWidth, p.Legend.XOffs = true, 2, 18, -6
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = grey, grey
	g.Horizontal.Width, g.Vertical.Width = 0.4, 0.4
	p.Add(g)
	return p
}

// Sizes of a plot on the page.
const (
	wide = 17 * vg.Centimeter
	high = 9 * vg.Centimeter
)

// svg draws a plot as an element that stands in a page.
func svg(p *plot.Plot, width, height font.Length) (string, error) {
	c := vgsvg.New(width, height)
	p.Draw(draw.Crop(draw.New(c), 4, -8, 4, -4))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	s := b.Bytes()
	s = s[bytes.Index(s, []byte("<svg")):] // without the head of a file of its own
	// Where the font is not there, one of the same widths is to take its place.
	s = bytes.ReplaceAll(s, []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	return string(s), nil
}

// lines draws lines through points, with the spread of each point.
func lines(p *plot.Plot, all []result.Line) error {
	for i, l := range all {
		pts := spreads(l.Points)
		line, points, err := plotter.NewLinePoints(pts)
		if err != nil {
			return err
		}
		bars, err := plotter.NewYErrorBars(pts)
		if err != nil {
			return err
		}
		c := colour(l.Name, i)
		line.Color, line.Width = c, 1.4
		if l.Name == "srpd" {
			line.Width = 2.4
		}
		points.Color, points.Shape, points.Radius = c, draw.CircleGlyph{}, 2
		bars.Color, bars.Width, bars.CapWidth = c, 0.7, 5
		p.Add(bars, line, points)
		p.Legend.Add(l.Name, line, points)
	}
	return nil
}

// legendLeft puts the legend to the left, where lines that rise leave room.
func legendLeft(p *plot.Plot) { p.Legend.Left, p.Legend.XOffs = true, 8 }

// spreads are points that have a place and a spread.
type spreads []result.Point

func (s spreads) Len() int                    { return len(s) }
func (s spreads) XY(i int) (x, y float64)     { return s[i].X, s[i].Y }
func (s spreads) YError(i int) (l, h float64) { return s[i].Y - s[i].Min, s[i].Max - s[i].Y }

// logY makes the vertical axis logarithmic. It begins and ends at a power of ten, or half of one.
func logY(p *plot.Plot) {
	if p.Y.Min <= 0 || p.Y.Min >= p.Y.Max {
		return
	}
	p.Y.Scale = plot.LogScale{}
	p.Y.Min, p.Y.Max = bound(p.Y.Min, math.Floor), bound(p.Y.Max, math.Ceil)
	var ticks []plot.Tick
	for at := math.Pow(10, math.Floor(math.Log10(p.Y.Min))); at <= p.Y.Max*1.001; at *= 10 {
		for _, n := range []float64{1, 2, 5} {
			if v := n * at; v >= p.Y.Min*0.999 && v <= p.Y.Max*1.001 {
				ticks = append(ticks, plot.Tick{Value: v, Label: short(v)})
			}
		}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
}

// short prints a round number.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%g", v)
}

// bound moves a value to a power of ten, or to half of one.
func bound(v float64, round func(float64) float64) float64 {
	return math.Pow(10, round(math.Log10(v)*2)/2)
}

// ticks makes an axis with just these.
func ticks(labels map[float64]string) plot.ConstantTicks {
	var all plot.ConstantTicks
	for v, l := range labels {
		all = append(all, plot.Tick{Value: v, Label: l})
	}
	slices.SortFunc(all, func(a, b plot.Tick) int { return int(math.Copysign(1, a.Value-b.Value)) })
	return all
}
