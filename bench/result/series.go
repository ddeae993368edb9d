package result

import (
	"math"
	"slices"
)

// Series is one quantity, round by round.
type Series []float64

// Median returns the middle value, of an even number the mean of the middle two; NaN of none.
func (s Series) Median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Spread returns the least and the greatest value; NaN of none.
func (s Series) Spread() (least, most float64) {
	if len(s) == 0 {
		return math.NaN(), math.NaN()
	}
	return slices.Min(s), slices.Max(s)
}
