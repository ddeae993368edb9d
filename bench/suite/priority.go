package suite

import (
	"context"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"minisrp/bench/priority"
	"minisrp/bench/result"
	"minisrp/bench/rounds"
)

// The contestants that wait for DPCs.
const (
	idle   = "idle"
	loaded = "loaded"
)

// addPriority adds how soon a DPC starts after a completion: with nothing else to do, and beside Passive work that burns
// all processors while badger compacts.
func (s *Suite) addPriority() {
	g := rounds.Group{Name: "priority", Title: "CQ completion to DPC start", Client: "in this process",
		Contestants: []rounds.Contestant{{Name: idle}, {Name: loaded}}}
	g.Together = func(ctx context.Context) (map[string]result.Sample, error) {
		turn := min(500*time.Millisecond, s.cfg.Duration/2)
		r, err := priority.Measure(ctx, priority.Config{Dir: s.cfg.Dir, Turns: 2, Turn: turn})
		if err != nil {
			return nil, err
		}
		return map[string]result.Sample{idle: latencies(r.Idle), loaded: latencies(r.Loaded)}, nil
	}
	s.groups = append(s.groups, g)
	s.lower(g.Name, "priority", "completion to DPC start, p99", "four goroutines burn CPU, badger compacts / idle", 5, 0, ratio(p99, loaded, idle))
}

// latencies makes a sample of a histogram in ns.
func latencies(h *hdrhistogram.Histogram) result.Sample {
	s := result.Sample{IOs: uint64(h.TotalCount()), Latency: result.Latency{Mean: h.Mean(), Percentile: map[string]float64{}}}
	for name, q := range map[string]float64{result.P50: 50, result.P99: 99, result.P999: 99.9} {
		s.Latency.Percentile[name] = float64(h.ValueAtQuantile(q))
	}
	return s
}
