package tap

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// Records come out whole, in the order of their positions, whatever their lengths and
// wherever the ring ends; a full ring refuses.
func TestRingKeepsRecordsWhole(t *testing.T) {
	r := newRing(8 * cellSize)
	put := func(n int, fill byte) bool {
		rec, b, pos := r.reserve(n)
		if rec == nil {
			return false
		}
		for i := range b {
			b[i] = fill
		}
		rec.kind = message
		rec.commit.Store(pos + 1)
		return true
	}
	take := func(n int, fill byte) {
		t.Helper()
		rec, b := r.next()
		for rec != nil && rec.kind == skipped {
			r.free(rec)
			rec, b = r.next()
		}
		if rec == nil || len(b) != n {
			t.Fatalf("record of %d bytes; want %d", len(b), n)
		}
		for i := range b {
			if b[i] != fill {
				t.Fatalf("byte %d of record %d is %d", i, fill, b[i])
			}
		}
		r.free(rec)
	}
	for round := range 100 {
		a, b, c := byte(round), byte(round+1), byte(round+2)
		if !put(3*cellSize, a) || !put(0, b) || !put(cellSize+1, c) {
			t.Fatalf("round %d: refused while there is room", round)
		}
		if put(3*cellSize, 0) {
			t.Fatalf("round %d: taken without room", round)
		}
		take(3*cellSize, a)
		take(0, b)
		take(cellSize+1, c)
		if rec, _ := r.next(); rec != nil && rec.kind != skipped {
			t.Fatalf("round %d: a record that nobody put", round)
		}
	}
}

// Many put at once: each record comes out once, with its bytes, and those of one
// producer in order.
func TestRingWithManyProducers(t *testing.T) {
	r := newRing(64 * cellSize)
	const producers, each = 4, 2000
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := 0; i < each; {
				n := 8 + (i*37+p*1001)%(5*cellSize)
				rec, b, pos := r.reserve(n)
				if rec == nil {
					runtime.Gosched()
					continue
				}
				binary.BigEndian.PutUint32(b, uint32(p))
				binary.BigEndian.PutUint32(b[4:], uint32(i))
				for j := range b[8:] {
					b[8+j] = byte(p*31 + i)
				}
				rec.kind = message
				rec.commit.Store(pos + 1)
				i++
			}
		})
	}
	var next [producers]uint32
	for got := 0; got < producers*each; {
		rec, b := r.next()
		if rec == nil {
			runtime.Gosched()
			continue
		}
		if rec.kind == message {
			p, i := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
			if i != next[p] || len(b) != 8+(int(i)*37+int(p)*1001)%(5*cellSize) {
				t.Fatalf("record %d of producer %d, with %d bytes; want record %d", i, p, len(b), next[p])
			}
			for j, x := range b[8:] {
				if x != byte(int(p)*31+int(i)) {
					t.Fatalf("record %d of producer %d: byte %d is %d", i, p, j, x)
				}
			}
			next[p]++
			got++
		}
		r.free(rec)
	}
	wg.Wait()
	if !r.empty() {
		t.Error("something is left")
	}
}

// Keeping a message allocates nothing, and neither does dropping one.
func TestKeepingAllocatesNothing(t *testing.T) {
	a := netip.MustParseAddr("192.0.2.1")
	c := &Capture{snap: 1000, ring: newRing(1500 * cellSize), wake: make(chan struct{}, 1), start: time.Now()}
	m := &soft.Message{From: soft.End{Addr: a, QPN: 5}, To: soft.End{Addr: a, QPN: 6}, MTU: 4096, Length: 100}
	g := &soft.Management{From: a, To: a, Private: make([]byte, 56)}
	f := new(dispatch.Frame)
	if n := testing.AllocsPerRun(1000, func() { c.Message(f, m); c.Manage(g) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if c.Messages() != 1500 || c.Dropped() != 2*1001-1500 {
		t.Errorf("%d kept, %d dropped", c.Messages(), c.Dropped())
	}
}
