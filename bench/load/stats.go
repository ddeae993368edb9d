package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// stats are what a worker counts.
type stats struct {
	kinds [directions + 1]kind // by direction; the last is of the reads at the end that verify

	ended    time.Duration // on the processor's clock
	verified time.Duration // when what was read at the end was read
}

// verifies is the place of the reads at the end.
const verifies = directions

type kind struct {
	ios, bytes uint64
	latency    *hdrhistogram.Histogram // ns; nil of what the job does not do
}

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(longest), digits) }

// init makes room for what a job does.
func (s *stats) init(j *Job) {
	for i, used := range [len(s.kinds)]bool{
		Read: j.RW.Read, Write: j.RW.Write, Trim: j.RW.Trim, Flush: j.FlushEvery > 0, verifies: j.Verify != VerifyNone,
	} {
		if used {
			s.kinds[i].latency = newHistogram()
		}
	}
}

// add counts a request.
func (s *stats) add(d Direction, verifying bool, took time.Duration, n uint64) {
	if verifying {
		d = verifies
	}
	k := &s.kinds[d]
	k.ios++
	k.bytes += n
	// It is within the histogram's range, so that there is no error.
	_ = k.latency.RecordValue(int64(min(max(took, 0), longest)))
}

func (s *stats) reset() {
	for i := range s.kinds {
		k := &s.kinds[i]
		k.ios, k.bytes = 0, 0
		if k.latency != nil {
			k.latency.Reset()
		}
	}
}

// merge adds what another worker has counted.
func (k *kind) merge(from *kind) {
	k.ios += from.ios
	k.bytes += from.bytes
	if k.latency != nil {
		k.latency.Merge(from.latency)
	}
}
