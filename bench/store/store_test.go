package store

import (
	"flag"
	"testing"
	"time"
)

var (
	dir  = flag.String("store.dir", ".", "directory for units, on the disk that is meant")
	size = flag.Uint64("store.size", 256<<20, "bytes of a unit")
	last = flag.Duration("store.time", 3*time.Second, "how long a turn lasts")
)

// BenchmarkFlushed writes 4 KiB at random places, 32 at a time, with a flush after every 32. It is the same however
// large b.N is: run it with -benchtime=1x, and -count for more turns.
func BenchmarkFlushed(b *testing.B) {
	for _, kind := range Kinds {
		b.Run(kind, func(b *testing.B) {
			for range b.N {
				r, err := Measure(b.Context(), Config{
					Kind: kind, Dir: *dir, Size: *size, Block: 4096, Depth: 32, Every: 32, Time: *last,
				})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(r.Rate(), "writes/s")
				b.ReportMetric(r.Took.Seconds()/float64(r.Flushes)*1e6, "µs/flush")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// Each kind of store is measured, and what could not be is said.
func TestMeasure(t *testing.T) {
	for _, kind := range Kinds {
		r, err := Measure(t.Context(), Config{Kind: kind, Dir: t.TempDir(), Size: 8 << 20, Block: 4096, Depth: 8, Every: 4, Time: 1})
		if err != nil || r.Writes == 0 || r.Flushes == 0 || r.Rate() <= 0 {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
	}
	if _, err := Measure(t.Context(), Config{Kind: "tape", Dir: t.TempDir()}); err == nil {
		t.Error("measured what is not there")
	}
}
