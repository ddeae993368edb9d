package result_test

import (
	"math"
	"testing"

	"minisrp/bench/result"
)

func TestMedianAndSpread(t *testing.T) {
	tests := []struct {
		name                string
		values              result.Series
		median, least, most float64
	}{
		{"one", result.Series{7}, 7, 7, 7},
		{"two", result.Series{3, 1}, 2, 1, 3},
		{"odd", result.Series{5, 1, 4, 2, 3}, 3, 1, 5},
		{"even", result.Series{10, 2, 38, 23, 38, 23}, 23, 2, 38},
		{"an outlier moves the spread only", result.Series{1, 1, 1, 1, 1000}, 1, 1, 1000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.values.Median(); got != test.median {
				t.Errorf("median %v, want %v", got, test.median)
			}
			if least, most := test.values.Spread(); least != test.least || most != test.most {
				t.Errorf("spread %v to %v, want %v to %v", least, most, test.least, test.most)
			}
		})
	}
	if least, most := (result.Series{}).Spread(); !math.IsNaN(result.Series{}.Median()) || !math.IsNaN(least) || !math.IsNaN(most) {
		t.Error("nothing has a median or a spread")
	}
}

// The order of rounds is kept.
func TestMedianLeavesOrder(t *testing.T) {
	s := result.Series{3, 1, 2}
	_ = s.Median()
	if s[0] != 3 || s[1] != 1 || s[2] != 2 {
		t.Errorf("the series is now %v", s)
	}
}
