package disk

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// LatencyBuckets is how many buckets a Latency has.
const LatencyBuckets = 4 + 4*26

// Latency is the distribution of how long requests took, from when their processor had them until they were complete.
type Latency struct {
	Count   uint64
	Sum     time.Duration
	Max     time.Duration
	Buckets [LatencyBuckets]uint64 // see LatencyBound
}

// LatencyBound returns the longest duration of bucket i: whole units of 1024 ns, in steps of a quarter of the power of
// two below. The last bucket has all that is longer too.
func LatencyBound(i int) time.Duration {
	if i < 4 {
		return time.Duration(i+1)<<10 - 1
	}
	return time.Duration(4+i%4+1)<<(i/4-1)<<10 - 1
}

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int {
	v := uint64(max(0, d)) >> 10
	if v < 4 {
		return int(v)
	}
	e := bits.Len64(v) - 3 // what v is shifted by to be 4 to 7
	return min((e+1)*4+int(v>>e)-4, LatencyBuckets-1)
}

// latency is a lane's share. Its processor adds; others read.
type latency struct {
	count, sum, max atomic.Uint64
	buckets         [LatencyBuckets]atomic.Uint64
}

func (l *latency) add(d time.Duration) {
	n := uint64(max(0, d))
	l.count.Add(1)
	l.sum.Add(n)
	if n > l.max.Load() {
		l.max.Store(n)
	}
	l.buckets[bucketOf(d)].Add(1)
}

// Latencies are those of a disk's requests that have ended well since Open.
type Latencies struct{ Read, Write, Flush, Other Latency }

// The places of a lane's latencies.
const (
	latencyRead = iota
	latencyWrite
	latencyFlush
	latencyOther
	latencies
)

func latencyOf(o Op) int {
	switch o {
	case Read:
		return latencyRead
	case Write:
		return latencyWrite
	case Flush:
		return latencyFlush
	}
	return latencyOther
}

// Latencies returns them. Requests that end meanwhile may be counted in part. Level: both.
func (d *Disk) Latencies() *Latencies {
	t := new(Latencies)
	for _, l := range d.lanes {
		for i, to := range [latencies]*Latency{&t.Read, &t.Write, &t.Flush, &t.Other} {
			from := &l.latency[i]
			to.Count += from.count.Load()
			to.Sum += time.Duration(from.sum.Load())
			to.Max = max(to.Max, time.Duration(from.max.Load()))
			for b := range from.buckets {
				to.Buckets[b] += from.buckets[b].Load()
			}
		}
	}
	return t
}
