//go:build leveltwin

package dispatch

import (
	"fmt"
	"math/bits"
	"sync"
)

// record is what the twin knows of a goroutine. Only that one touches it.
type record struct {
	frame *Frame // that it has raised; nil at Passive
	locks [2]uint64
}

// records holds the records by goroutine. The runtime uses the same address for one goroutine after another, each with
// an empty record, so there are no more of them than goroutines at a time.
var records sync.Map // of uintptr to *record

func recordOf(g uintptr) *record {
	if r, ok := records.Load(g); ok {
		return r.(*record)
	}
	r, _ := records.LoadOrStore(g, new(record))
	return r.(*record)
}

func raisedBy(g uintptr) *Frame { return recordOf(g).frame }

func setRaised(g uintptr, f *Frame) { recordOf(g).frame = f }

// mustRank panics if a lock of this rank or above is held.
func (r *record) mustRank(rank int) {
	high := -1
	if r.locks[1] != 0 {
		high = 64 + bits.Len64(r.locks[1]) - 1
	} else if r.locks[0] != 0 {
		high = bits.Len64(r.locks[0]) - 1
	}
	if high >= rank {
		panic(fmt.Sprintf("dispatch: a lock of rank %d is taken while one of rank %d is held, in %s", rank, high, callers(2)))
	}
}

// held notes that a lock has been taken (1) or given up (-1).
func (r *record) held(rank, n int) {
	bit := uint64(1) << (rank % 64)
	if n > 0 {
		r.locks[rank/64] |= bit
	} else {
		r.locks[rank/64] &^= bit
	}
}
