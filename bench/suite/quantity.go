package suite

import (
	"fmt"
	"strings"

	"minisrp/bench/result"
)

// quantity is one number of a sample.
type quantity func(result.Sample) float64

func iops(s result.Sample) float64      { return s.IOPS }
func bytes(s result.Sample) float64     { return s.Bytes }
func p50(s result.Sample) float64       { return s.Latency.At(result.P50) }
func serverCPU(s result.Sample) float64 { return s.ServerCPU }

// ratio puts a contestant in relation to another: to the best of several, of which one may be missing.
func ratio(q quantity, of string, to ...string) func(result.Round) (float64, error) {
	return func(r result.Round) (float64, error) {
		v, err := value(q, r, of)
		if err != nil {
			return 0, err
		}
		best := 0.0
		for _, name := range to {
			w, e := value(q, r, name)
			if e != nil {
				err = e
			}
			best = max(best, w)
		}
		if best == 0 {
			return 0, err
		}
		return v / best, nil
	}
}

// value is a quantity of a contestant in a round.
func value(q quantity, r result.Round, name string) (float64, error) {
	if reason, failed := r.Failed[name]; failed {
		first, _, _ := strings.Cut(reason, "\n")
		return 0, fmt.Errorf("%s: %s", name, first)
	}
	s, ok := r.Samples[name]
	if !ok {
		return 0, fmt.Errorf("%s was not measured", name)
	}
	v := q(s)
	if v == 0 {
		return 0, fmt.Errorf("%s did not tell it", name)
	}
	return v, nil
}
