package disk

import (
	"testing"
	"time"
)

// Every duration is in the bucket whose bound is the next, and bounds are not more than a quarter too high.
func TestLatencyBuckets(t *testing.T) {
	for i := range LatencyBuckets {
		most := LatencyBound(i)
		if got := bucketOf(most); got != i {
			t.Errorf("%v is in bucket %d, want %d", most, got, i)
		}
		if got := bucketOf(most + 1); got != min(i+1, LatencyBuckets-1) {
			t.Errorf("%v is in bucket %d, want %d", most+1, got, i+1)
		}
		if i > 4 && float64(most) > 1.251*float64(LatencyBound(i-1)) {
			t.Errorf("bucket %d goes from %v to %v", i, LatencyBound(i-1), most)
		}
	}
	if bucketOf(-1) != 0 || bucketOf(time.Hour) != LatencyBuckets-1 {
		t.Error("what is out of range is not in the first or last bucket")
	}
	var l latency
	if n := testing.AllocsPerRun(100, func() { l.add(time.Millisecond) }); n != 0 || l.count.Load() != 101 {
		t.Errorf("%v allocations, count %d", n, l.count.Load())
	}
}
