package suite

import (
	"fmt"
	"slices"

	"minisrp/bench/result"
	"minisrp/bench/scale"
)

// ScaleCurves makes curves of what targets and units cost, and of what follows for more of them.
func ScaleCurves(r *scale.Result) []result.Curve {
	x := result.Axis{Label: "units, of all targets", Log: true}
	cost := result.Curve{
		Name: "scale-cost", Title: "CPU a request by units: loopback, 4 KiB random read, depth 16 in all", X: x,
		Y:      result.Axis{Label: "µs of CPU a request"},
		Remark: fmt.Sprintf("A target adds %.0f ns to each request, a unit %.1f ns, by least squares.", r.Cost.PerTarget, r.Cost.PerUnit),
	}
	memory := result.Curve{
		Name: "scale-memory", Title: "Resident memory by units: idle, in files, targets and initiator in one process", X: x,
		Y: result.Axis{Label: "MiB", Log: true}, Remark: remark(r),
	}
	const mib = 1 << 20
	for _, p := range r.Points {
		each := p.Units / p.Targets
		name := fmt.Sprintf("%d units a target", each)
		if each == 1 {
			name = "a unit a target"
		}
		c := result.Point{X: float64(p.Units), Y: p.CostMedian() / 1e3, Min: slices.Min(p.Cost) / 1e3, Max: slices.Max(p.Cost) / 1e3}
		cost.Lines = add(cost.Lines, name, c)
		memory.Lines = add(memory.Lines, name, flat(float64(p.Units), p.Resident/mib))
	}
	for _, units := range []float64{scale.UnitsPerTarget, 1024, scale.Large} {
		name := fmt.Sprintf("computed, %d units a target", scale.UnitsPerTarget)
		memory.Lines = add(memory.Lines, name, flat(units, r.Resident.At(units/scale.UnitsPerTarget, units)/mib))
	}
	return []result.Curve{cost, memory}
}

// remark says what becomes of many units.
func remark(r *scale.Result) string {
	s := fmt.Sprintf("A target with its session takes %.0f KiB, a unit %.1f KiB. %d units, %d a target, would take %.0f MiB and be up after %.0f s.",
		r.Resident.PerTarget/1024, r.Resident.PerUnit/1024, scale.Large, scale.UnitsPerTarget,
		r.Resident.At(scale.Large/scale.UnitsPerTarget, scale.Large)/(1<<20), r.Up.At(scale.Large/scale.UnitsPerTarget, scale.Large))
	if first := r.Needs[0]; first.Units >= 0 {
		s += fmt.Sprintf(" What runs out first is %s (%s), at %.0f units.", first.What, first.Of, first.Units)
	}
	return s
}

func flat(x, y float64) result.Point { return result.Point{X: x, Y: y, Min: y, Max: y} }

// add appends a point to the line of a name.
func add(lines []result.Line, name string, p result.Point) []result.Line {
	i := slices.IndexFunc(lines, func(l result.Line) bool { return l.Name == name })
	if i < 0 {
		i, lines = len(lines), append(lines, result.Line{Name: name})
	}
	lines[i].Points = append(lines[i].Points, p)
	return lines
}
