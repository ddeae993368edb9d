package priority

import (
	"flag"
	"testing"
	"time"
)

var (
	dir   = flag.String("priority.dir", ".", "directory for the badger unit")
	turns = flag.Int("priority.turns", 4, "idle and loaded turns, of each")
	turn  = flag.Duration("priority.turn", 2*time.Second, "how long a turn lasts")
)

// BenchmarkPriority prints both sets of percentiles, and their ratio. It is the same however large b.N is: run it with
// -benchtime=1x. The second case is not the product's: nobody in it takes tokens.
func BenchmarkPriority(b *testing.B) {
	for name, hostile := range map[string]bool{"tokens": false, "hostile": true} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				r, err := Measure(b.Context(), Config{Dir: *dir, Turns: *turns, Turn: *turn, Hostile: hostile})
				if err != nil {
					b.Fatal(err)
				}
				b.Logf("\n%v%d MiB written", r, r.Written>>20)
				b.ReportMetric(float64(r.Idle.ValueAtQuantile(99))/1e3, "idle-p99-µs")
				b.ReportMetric(float64(r.Loaded.ValueAtQuantile(99))/1e3, "loaded-p99-µs")
				b.ReportMetric(r.Ratio(99), "p99-ratio")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// Both kinds of turns are measured, under load of both kinds.
func TestMeasure(t *testing.T) {
	for _, hostile := range []bool{false, true} {
		r, err := Measure(t.Context(), Config{Dir: t.TempDir(), Turns: 1, Turn: 20 * time.Millisecond, Hostile: hostile})
		if err != nil || r.Idle.TotalCount() == 0 || r.Loaded.TotalCount() == 0 || r.Written == 0 || r.Ratio(50) <= 0 {
			t.Errorf("%v, %v", r, err)
		}
	}
}
