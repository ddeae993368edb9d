package scale

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// Result is what was measured, and what follows from it.
type Result struct {
	Points []Point `json:"points"`

	Cost       Plane `json:"cpu_ns_per_request"`
	Up         Plane `json:"up_s"`
	Resident   Plane `json:"resident"`
	Goroutines Plane `json:"goroutines"`
	Files      Plane `json:"files"`
	Mappings   Plane `json:"mappings"`

	Needs []Need `json:"needs"` // what runs out first stands first

	pairs float64
}

// Large is the number of units that is looked at, and UnitsPerTarget how many of them a target has.
const (
	Large          = 10_000
	UnitsPerTarget = 64
)

// Need is what Large units take of something that there is only so much of.
type Need struct {
	What  string  `json:"what"`
	Unit  string  `json:"unit,omitempty"`
	Need  float64 `json:"need"`
	Limit float64 `json:"limit"` // 0: none
	Of    string  `json:"of"`    // where the limit comes from
	Units float64 `json:"units"` // how many units it is enough for; -1: any number
}

// conclude fits the planes, and extrapolates them.
func (r *Result) conclude(l limits) {
	r.Cost = fit(r.Points, Point.CostMedian)
	r.Up = fit(r.Points, func(p Point) float64 { return p.Up })
	r.Resident = fit(r.Points, func(p Point) float64 { return p.Resident })
	r.Goroutines = fit(r.Points, func(p Point) float64 { return p.Goroutines })
	r.Files = fit(r.Points, func(p Point) float64 { return p.Files })
	r.Mappings = fit(r.Points, func(p Point) float64 { return p.Mappings })
	one := Plane{PerTarget: 1}
	r.Needs = []Need{
		need("memory", "bytes", r.Resident, l.memory, "MemAvailable of /proc/meminfo"),
		need("open files", "", r.Files, l.files, "RLIMIT_NOFILE"),
		need("mappings of memory", "", r.Mappings, l.mappings, "vm.max_map_count"),
		need("goroutines", "", r.Goroutines, 0, "memory"),
		need("channels", "", one, channels, "16 bits of a tag"),
		need("queue pairs and completion queues", "", one, l.pairs, "the HCA"),
	}
	slices.SortStableFunc(r.Needs, func(a, b Need) int { return cmp.Compare(a.order(), b.order()) })
}

// order is where it stands: what no number of units reaches is last.
func (n Need) order() float64 {
	if n.Units < 0 {
		return math.Inf(1)
	}
	return n.Units
}

// need extrapolates a plane to Large units, and to its limit.
func need(what, unit string, p Plane, limit float64, of string) Need {
	n := Need{What: what, Unit: unit, Need: p.At(Large/UnitsPerTarget, Large), Limit: limit, Of: of, Units: -1}
	if each := p.PerUnit + p.PerTarget/UnitsPerTarget; limit > 0 && each > 0 {
		n.Units = math.Floor(max(0, limit-p.Fixed) / each)
	}
	return n
}

// Print writes the tables for people.
func (r *Result) Print(out io.Writer) error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "targets\tunits\tCPU ns/request\tup s\tidle KiB\tKiB/unit\tgoroutines\tfiles\tmappings\t")
	for _, p := range r.Points {
		fmt.Fprintf(w, "%d\t%d\t%.0f\t%.2f\t%.0f\t%.1f\t%.0f\t%.0f\t%.0f\t\n", p.Targets, p.Units, p.CostMedian(), p.Up,
			p.Resident/1024, p.Resident/1024/float64(p.Units), p.Goroutines, p.Files, p.Mappings)
	}
	w.Flush()
	fmt.Fprintf(&b, "\neach takes, by least squares (a target has a session of one channel, with %d requests):\n", queue)
	w = tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tfixed\ta target\ta unit\toff by at most\t")
	for _, f := range []struct {
		name  string
		p     Plane
		scale float64
	}{
		{"CPU ns/request", r.Cost, 1}, {"idle KiB", r.Resident, 1024}, {"goroutines", r.Goroutines, 1},
		{"files", r.Files, 1}, {"mappings", r.Mappings, 1}, {"up ms", r.Up, 1e-3},
	} {
		fmt.Fprintf(w, "%s\t%.1f\t%.3f\t%.3f\t%.0f%%\t\n", f.name, f.p.Fixed/f.scale, f.p.PerTarget/f.scale, f.p.PerUnit/f.scale, 100*f.p.Residual)
	}
	w.Flush()
	fmt.Fprintf(&b, "\n%d units, %d of each target, take %.0f ns of CPU a request and are up after %.1f s; what runs out first stands first:\n",
		Large, UnitsPerTarget, r.Cost.At(Large/UnitsPerTarget, Large), r.Up.At(Large/UnitsPerTarget, Large))
	for _, n := range r.Needs {
		fmt.Fprintf(&b, "  %s: %s", n.What, amount(n.Need, n.Unit))
		switch {
		case n.Limit == 0:
			fmt.Fprintf(&b, "; no limit but %s\n", n.Of)
		case n.Units < 0:
			fmt.Fprintf(&b, " of %s (%s); units take none\n", amount(n.Limit, n.Unit), n.Of)
		default:
			fmt.Fprintf(&b, " of %s (%s): enough for %.0f units\n", amount(n.Limit, n.Unit), n.Of, n.Units)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func amount(v float64, unit string) string {
	if unit == "bytes" {
		return fmt.Sprintf("%.0f MiB", v/(1<<20))
	}
	return fmt.Sprintf("%.0f", v)
}
