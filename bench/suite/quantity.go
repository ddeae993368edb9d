package suite

import (
	"fmt"
	"strings"

	"minisrp/bench/result"
)

// quantity is one number of a sample.
type quantity func(result.Sample) float64

func iops(s result.Sample) float64       { return s.IOPS }
func throughput(s result.Sample) float64 { return s.Bytes }
func p50(s result.Sample) float64        { return s.Latency.At(result.P50) }
func p99(s result.Sample) float64        { return s.Latency.At(result.P99) }
func serverCPU(s result.Sample) float64  { return s.ServerCPU }

func mebibytes(s result.Sample) float64 { return float64(s.Resident) / (1 << 20) }
func percent(s result.Sample) float64   { return 100 * s.IdleCPU }

// only takes a quantity of one contestant, as it is.
func only(q quantity, of string) func(result.Round) (float64, error) {
	return func(r result.Round) (float64, error) {
		s, err := sample(r, of)
		return q(s), err
	}
}

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

// inverse turns a ratio of rates into one of times.
func inverse(of func(result.Round) (float64, error)) func(result.Round) (float64, error) {
	return func(r result.Round) (float64, error) {
		v, err := of(r)
		return 1 / v, err
	}
}

// sample returns what a contestant did in a round, or why it is not known.
func sample(r result.Round, name string) (result.Sample, error) {
	if reason, failed := r.Failed[name]; failed {
		first, _, _ := strings.Cut(reason, "\n")
		return result.Sample{}, fmt.Errorf("%s: %s", name, first)
	}
	s, ok := r.Samples[name]
	if !ok {
		return s, fmt.Errorf("%s was not measured", name)
	}
	return s, nil
}

// value is a quantity of a contestant in a round, which cannot be 0.
func value(q quantity, r result.Round, name string) (float64, error) {
	s, err := sample(r, name)
	if err != nil {
		return 0, err
	}
	v := q(s)
	if v == 0 {
		return 0, fmt.Errorf("%s did not tell it", name)
	}
	return v, nil
}
