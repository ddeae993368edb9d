package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"minisrp/bench/result"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number, "count": count, "bound": result.Figure.Bound, "gib": func(b uint64) string { return number(float64(b) / (1 << 30)) },
	"spread": func(s result.Series) string {
		least, most := s.Spread()
		return span(number, least, most)
	},
	"values": func(s result.Series) string {
		words := make([]string, len(s))
		for i, v := range s {
			words[i] = number(v)
		}
		return strings.Join(words, " ")
	},
}).Parse(pageText))

// HTML writes the page.
func HTML(w io.Writer, r *result.Result) error {
	d := pageData{Result: r}
	var err error
	if d.Plots, err = plots(r); err != nil {
		return err
	}
	for _, g := range r.Groups {
		t := groupTable{Group: g}
		for _, name := range contestants(g) {
			c := series(g, name)
			t.Rows = append(t.Rows, row{Name: name, Columns: c, Foreign: foreign(c.foreign)})
		}
		d.Tables = append(d.Tables, t)
	}
	return page.Execute(w, d)
}

// pageData is what the page is made of.
type pageData struct {
	*result.Result
	Plots  []template.HTML
	Tables []groupTable
}

type groupTable struct {
	result.Group
	Rows []row
}

type row struct {
	Name    string
	Foreign string
	Columns columns
}

// The columns as the template shows them: medians.
func (r row) Failed() string { return r.Columns.failed }
func (r row) Cells() []string {
	c := r.Columns
	if len(c.iops) == 0 {
		return nil
	}
	least, most := c.iops.Spread()
	return []string{
		count(c.iops.Median()), span(count, least, most), number(c.gbs.Median()), number(c.p50.Median()), number(c.p99.Median()),
		number(c.p999.Median()), number(c.server.Median()), number(c.client.Median()), number(c.resident.Median()), r.Foreign,
	}
}

// plots draws all that the result has data for.
func plots(r *result.Result) ([]template.HTML, error) {
	var all []template.HTML
	add := func(p *plot.Plot, height font.Length, err error) error {
		if err != nil || p == nil {
			return err
		}
		s, err := svg(p, wide, height)
		all = append(all, template.HTML(s))
		return err
	}
	p, n, err := overview(r.Figures)
	if err := add(p, vg.Length(n)*16+70, err); err != nil {
		return nil, fmt.Errorf("plot of figures: %w", err)
	}
	var sweep []result.Group
	for _, g := range r.Groups {
		if strings.HasPrefix(g.Name, "nbd-read-4k-") {
			sweep = append(sweep, g)
		}
	}
	if len(sweep) > 0 {
		p, err := depths(sweep)
		if err := add(p, high, err); err != nil {
			return nil, fmt.Errorf("plot of depths: %w", err)
		}
	}
	for _, g := range r.Groups {
		if g.Name == "nbd-read-4k-1" || g.Name == "nbd-read-4k-32" || g.Name == "nbd-write-4k-32" {
			p, err := latencies(g)
			if err := add(p, high, err); err != nil {
				return nil, fmt.Errorf("plot of latencies: %w", err)
			}
			p, err = costs(g)
			if err := add(p, high, err); err != nil {
				return nil, fmt.Errorf("plot of CPU: %w", err)
			}
		}
	}
	for _, c := range r.Curves {
		p, err := curve(c)
		if err := add(p, high, err); err != nil {
			return nil, fmt.Errorf("plot of %s: %w", c.Name, err)
		}
	}
	return all, nil
}
