package soft_test

import (
	"bytes"
	"sync/atomic"
	"testing"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	pt "minisrp/verbs/internal/providertest"
	"minisrp/verbs/soft"
)

// staller stalls copies at a place, until told to go on.
type staller struct{ at atomic.Int64 } // bytes moved; less than 0: never

func (s *staller) Step(f *dispatch.Frame, qpn uint32, op verbs.Opcode, moved uint64) bool {
	at := s.at.Load()
	return at >= 0 && moved >= uint64(at)
}

const half, whole = 128 << 10, 256 << 10

// stalled makes two ends with a WRITE or READ or SEND of a that stands at half.
func stalled(t *testing.T, op verbs.Opcode, o pt.Options) (fb *soft.Fabric, s *staller, a, b *pt.End, key uint32) {
	s = &staller{}
	s.at.Store(half)
	fb, p := plug(soft.Config{Fault: s})
	o.Manual = true
	a, b = pt.Pair(t, p, o)
	pt.Fill(a.Mem, 1)
	pt.Fill(b.Mem, 2)
	mw := b.Window()
	key = verbs.NextKey(mw.RKey())
	b.Post(b.Bind(1, mw, key, 0, whole, verbs.RemoteRead|verbs.RemoteWrite))
	b.Sent(1)
	switch op {
	case verbs.Send:
		b.Recv(2, b.Piece(0, whole))
		a.Post(pt.WR(3, op, a.Piece(0, whole)))
	default:
		a.Post(a.RDMA(3, op, 0, whole, b, 0, key))
	}
	a.Idle()
	return fb, s, a, b, key
}

func forEach(t *testing.T, fn func(t *testing.T, o pt.Options)) {
	t.Run("one processor", func(t *testing.T) { fn(t, pt.Options{}) })
	t.Run("two processors", func(t *testing.T) { fn(t, pt.Options{Two: true}) })
}

// A responder that is stalled in mid-copy holds the LOCAL_INV of its key back: it
// completes when the copy has ended, and the copy ends short (IBA 10.6.5).
func TestStalledCopyHoldsInvalidationBack(t *testing.T) {
	for _, op := range []verbs.Opcode{verbs.Write, verbs.Read} {
		forEach(t, func(t *testing.T, o pt.Options) {
			fb, s, a, b, key := stalled(t, op, o)
			b.Post(pt.Inv(4, key), pt.WR(5, verbs.Send))
			b.Idle()
			s.at.Store(-1)
			fb.Resume()
			// The refused access takes b's QP to Error before its engine comes to the
			// invalidation: either way no access is left.
			b.Want(b.Sent(1)[0], 4, verbs.LocalInv, verbs.WRFlushErr)
			after := bytes.Clone(b.Mem)
			a.Want(a.Sent(1)[0], 3, op, verbs.RemAccessErr)
			a.Settle()
			if !bytes.Equal(after, b.Mem) {
				t.Error("bytes were written after the invalidation had completed")
			}
			if op == verbs.Write && bytes.Equal(a.Mem[:half], b.Mem[half:whole]) {
				t.Error("the copy went on under a dead key")
			}
		})
	}
}

// A QP that goes to Error while a peer is stalled in mid-copy: nothing of its memory
// is written after its flush has completed (IBA 10.3.1.7).
func TestStalledCopyAndFlushOfTheResponder(t *testing.T) {
	for _, op := range []verbs.Opcode{verbs.Write, verbs.Send} {
		forEach(t, func(t *testing.T, o pt.Options) {
			fb, s, a, b, _ := stalled(t, op, o)
			b.Recv(9)
			if err := modify(b, b.QP, verbs.Error); err != nil {
				t.Fatal(err)
			}
			n := 1
			if op == verbs.Send {
				n = 2
			}
			for _, wc := range b.Received(n) {
				if wc.Status != verbs.WRFlushErr {
					t.Errorf("%+v", wc)
				}
			}
			flushed := bytes.Clone(b.Mem)
			s.at.Store(-1)
			fb.Resume()
			a.Want(a.Sent(1)[0], 3, op, verbs.RetryExcErr)
			a.Settle()
			if !bytes.Equal(flushed, b.Mem) {
				t.Error("bytes were written after the flush had completed")
			}
		})
	}
}

// The same of the requester: its flush completes at once, and nothing of its READ
// arrives later, nor of its WRITE at the peer.
func TestStalledCopyAndFlushOfTheRequester(t *testing.T) {
	for _, op := range []verbs.Opcode{verbs.Write, verbs.Read, verbs.Send} {
		forEach(t, func(t *testing.T, o pt.Options) {
			fb, s, a, b, key := stalled(t, op, o)
			if err := modify(a, a.QP, verbs.Error); err != nil {
				t.Fatal(err)
			}
			a.Want(a.Sent(1)[0], 3, op, verbs.WRFlushErr)
			am, bm := bytes.Clone(a.Mem), bytes.Clone(b.Mem)
			s.at.Store(-1)
			fb.Resume()
			a.Settle()
			if !bytes.Equal(am, a.Mem) || !bytes.Equal(bm, b.Mem) {
				t.Error("bytes were written after the flush had completed")
			}
			// The key is free of it.
			b.Post(pt.Inv(4, key))
			b.Want(b.Sent(1)[0], 4, verbs.LocalInv, verbs.Success)
		})
	}
}

// A region that is closed while a copy under it is stalled stays until the copy has
// ended (IBA 10.6.3.6).
func TestStalledCopyHoldsDeregistrationBack(t *testing.T) {
	fb, s, a, b, _ := stalled(t, verbs.Write, pt.Options{})
	stuck, _ := pt.Another(a, b)
	var op verbs.Op[verbs.None]
	done := make(chan struct{})
	b.MR.Close(&op)
	op.Then(func(*dispatch.Frame, verbs.None, error) { close(done) })
	// The worker has begun when others are refused.
	for refused := false; !refused; {
		a.Post(a.RDMA(4, verbs.Read, whole, 1, b, 0, b.MR.RKey()))
		refused = a.Sent(1)[0].Status != verbs.Success
	}
	select {
	case <-done:
		t.Fatal("the region is gone while a copy is under way")
	default:
	}
	s.at.Store(-1)
	fb.Resume()
	b.Await(done)
	after := bytes.Clone(b.Mem)
	if wc := a.Sent(1)[0]; wc.QPN != stuck.Num() || wc.ID != 3 || wc.Status != verbs.RemAccessErr {
		t.Errorf("%+v", wc)
	}
	if !bytes.Equal(after, b.Mem) {
		t.Error("bytes were written after the region was gone")
	}
}

// A stalled copy does not hold up the end of either side.
func TestStalledCopyAndClose(t *testing.T) {
	for _, first := range []int{0, 1} {
		forEach(t, func(t *testing.T, o pt.Options) {
			_, _, a, b, _ := stalled(t, verbs.Write, o)
			e := []*pt.End{a, b}[first]
			e.World.Close(e.QP)
			e = []*pt.End{b, a}[first]
			e.World.Close(e.QP)
		})
	}
}

// A requester whose own memory goes during a copy fails by itself; the responder
// only sees that nothing more comes (IBA 9.9.2).
func TestStalledCopyLosesTheRequestersMemory(t *testing.T) {
	fb, s, a, b, _ := stalled(t, verbs.Write, pt.Options{})
	stuck, other := pt.Another(a, b)
	var op verbs.Op[verbs.None]
	done := make(chan struct{})
	a.MR.Close(&op)
	op.Then(func(*dispatch.Frame, verbs.None, error) { close(done) })
	for refused := false; !refused; {
		b.Post(b.RDMA(4, verbs.Read, whole, 1, a, 0, a.MR.RKey()))
		refused = b.Sent(1)[0].Status != verbs.Success
	}
	s.at.Store(-1)
	fb.Resume()
	a.Await(done)
	if wc := a.Sent(1)[0]; wc.QPN != stuck.Num() || wc.ID != 3 || wc.Status != verbs.LocProtErr {
		t.Errorf("%+v", wc)
	}
	if s := other.State(); s != verbs.RTS {
		t.Errorf("responder %s", s)
	}
}
