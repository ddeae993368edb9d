package scale

import "math"

// Plane is how a quantity grows: Fixed + targets·PerTarget + units·PerUnit.
type Plane struct {
	Fixed     float64 `json:"fixed"`
	PerTarget float64 `json:"per_target"` // a target with its session of one channel
	PerUnit   float64 `json:"per_unit"`
	Residual  float64 `json:"residual"` // the most that a point is off it, as a part of the largest value
}

// At returns the quantity for so many of both.
func (p Plane) At(targets, units float64) float64 {
	return p.Fixed + targets*p.PerTarget + units*p.PerUnit
}

// fit returns the plane with the least squares through values at points. Points that lie in one line have none, and give
// the mean.
func fit(points []Point, value func(Point) float64) Plane {
	var m [3][4]float64 // the normal equations
	largest := 0.0
	for _, p := range points {
		x := [3]float64{1, float64(p.Targets), float64(p.Units)}
		y := value(p)
		largest = max(largest, math.Abs(y))
		for i := range x {
			for j := range x {
				m[i][j] += x[i] * x[j]
			}
			m[i][3] += x[i] * y
		}
	}
	c, ok := solve(m)
	if !ok && m[0][0] > 0 {
		c = [3]float64{m[0][3] / m[0][0]}
	}
	f := Plane{Fixed: c[0], PerTarget: c[1], PerUnit: c[2]}
	for _, p := range points {
		if largest > 0 {
			f.Residual = max(f.Residual, math.Abs(value(p)-f.At(float64(p.Targets), float64(p.Units)))/largest)
		}
	}
	return f
}

// solve solves three linear equations; it reports false if they have no one solution.
func solve(m [3][4]float64) (x [3]float64, ok bool) {
	for i := range m {
		pivot := i
		for j := i + 1; j < len(m); j++ {
			if math.Abs(m[j][i]) > math.Abs(m[pivot][i]) {
				pivot = j
			}
		}
		m[i], m[pivot] = m[pivot], m[i]
		if math.Abs(m[i][i]) <= 1e-9*math.Abs(m[0][0]) {
			return x, false
		}
		for j := range m {
			if j == i {
				continue
			}
			part := m[j][i] / m[i][i]
			for k := i; k < 4; k++ {
				m[j][k] -= part * m[i][k]
			}
		}
	}
	for i := range x {
		x[i] = m[i][3] / m[i][i]
	}
	return x, true
}
