package tap

import (
	"sync/atomic"
	"time"

	"minisrp/verbs/soft"
)

// ring is a bounded queue of records with their bytes. Many put into it at the same
// time, one takes out.
//
// A record takes one cell or more in a row. To put, a producer moves tail past its
// cells by compare-and-swap, fills them, and commits the first by its position. The
// consumer goes on only over what is committed, and then moves head.
//
// Ownership: cells between head and tail are their producer's until committed, then
// the consumer's.
type ring struct {
	recs []record // one for each cell; a record uses its first cell's
	mem  []byte
	head atomic.Uint64 // cells freed; moved by the consumer
	tail atomic.Uint64 // cells reserved
}

// record is what is known of one message.
type record struct {
	commit atomic.Uint64 // position + 1 once the rest is valid
	span   uint64        // cells
	kind   kind
	at     time.Duration
	n      int // bytes kept
	msg    soft.Message
	manage soft.Management
}

type kind uint8

const (
	skipped kind = iota // cells before the end of the ring, too few for what came
	message
	management
)

func newRing(size int) *ring {
	n := size / cellSize
	return &ring{recs: make([]record, n), mem: make([]byte, n*cellSize)}
}

// reserve returns a record with room for n bytes, and its position; nil when the ring
// is full.
func (r *ring) reserve(n int) (rec *record, b []byte, pos uint64) {
	size, cells := uint64(len(r.recs)), uint64(max(1, (n+cellSize-1)/cellSize))
	for {
		tail := r.tail.Load()
		// The bytes lie in a row: skip the ring's end if it is too short.
		skip := uint64(0)
		if left := size - tail%size; left < cells {
			skip = left
		}
		if tail+skip+cells-r.head.Load() > size {
			return nil, nil, 0
		}
		if !r.tail.CompareAndSwap(tail, tail+skip+cells) {
			continue
		}
		if skip != 0 {
			rec = &r.recs[tail%size]
			rec.kind, rec.span = skipped, skip
			rec.commit.Store(tail + 1)
		}
		pos = tail + skip
		rec = &r.recs[pos%size]
		rec.span, rec.n = cells, n
		at := pos % size * cellSize
		return rec, r.mem[at : at+uint64(n)], pos
	}
}

// next returns the oldest record if it is committed.
func (r *ring) next() (rec *record, b []byte) {
	pos, size := r.head.Load(), uint64(len(r.recs))
	rec = &r.recs[pos%size]
	if rec.commit.Load() != pos+1 {
		return nil, nil
	}
	at := pos % size * cellSize
	return rec, r.mem[at : at+uint64(rec.n)]
}

// free gives the oldest record's cells back.
func (r *ring) free(rec *record) { r.head.Add(rec.span) }

// empty reports whether nothing is reserved.
func (r *ring) empty() bool { return r.head.Load() == r.tail.Load() }
