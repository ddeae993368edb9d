package soft_test

import (
	"testing"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	pt "minisrp/verbs/internal/providertest"
	"minisrp/verbs/soft"
)

// A CQ without room loses completions, and its QP goes to Error and says so; what was
// in it stays (IBA 11.6.3.1).
func TestCQOverrun(t *testing.T) {
	for _, two := range []bool{false, true} {
		a, b := pt.Pair(t, fresh, pt.Options{Manual: true, Two: two, Entries: 3})
		for i := range 6 {
			b.Recv(uint64(i))
		}
		a.Post(pt.WR(0, verbs.Send), pt.WR(1, verbs.Send), pt.WR(2, verbs.Send))
		a.Sent(3)
		if len(b.Events) != 0 {
			t.Fatalf("events %v", b.Events)
		}
		a.Post(pt.WR(3, verbs.Send))
		b.AwaitEvent(verbs.CQOverrun)
		if s := b.QP.State(); s != verbs.Error {
			t.Errorf("QP %s", s)
		}
		for i, wc := range b.Received(3) {
			b.Want(wc, uint64(i), verbs.Recv, verbs.Success)
		}
	}
}

// observer counts the steps of copies, and when another DPC of the processor ran.
type observer struct {
	steps int
	seen  []int // steps at each run of the DPC
	d     dispatch.DPC
}

func (o *observer) Step(f *dispatch.Frame, qpn uint32, op verbs.Opcode, moved uint64) bool {
	if o.steps++; o.steps%8 == 1 {
		o.d.Queue(f)
	}
	return false
}

// A run of an engine is bounded: others of its processor go on in between, within one
// long message and within many short ones.
func TestEngineLetsOthersRun(t *testing.T) {
	obs := &observer{}
	_, p := plug(soft.Config{Fault: obs})
	a, b := pt.Pair(t, p, pt.Options{Manual: true, Memory: 8 << 20, MaxSend: 1000, Entries: 1000})
	obs.d.Init(a.P, func(*dispatch.Frame) { obs.seen = append(obs.seen, obs.steps) })
	a.Post(a.RDMA(1, verbs.Write, 0, 8<<20, b, 0, b.MR.RKey()))
	a.Want(a.Sent(1)[0], 1, verbs.Write, verbs.Success)
	if obs.steps != 128 || len(obs.seen) != 8 || obs.seen[0] > 16 {
		t.Errorf("%d steps; others ran after %v", obs.steps, obs.seen)
	}
	obs.steps, obs.seen = 0, nil
	wrs := make([]verbs.WR, 1000)
	for i := range wrs {
		wrs[i] = a.RDMA(uint64(i), verbs.Write, i, 1, b, 0, b.MR.RKey())
	}
	a.Post(wrs...)
	for i, wc := range a.Sent(1000) {
		a.Want(wc, uint64(i), verbs.Write, verbs.Success)
	}
	if len(obs.seen) < 60 {
		t.Errorf("%d steps; others ran %d times", obs.steps, len(obs.seen))
	}
}

// Posting, executing, completing and polling allocate nothing.
func TestDataPathAllocatesNothing(t *testing.T) {
	a, b := pt.Pair(t, fresh, pt.Options{Manual: true})
	mw := b.Window()
	key := mw.RKey()
	var wcs [8]verbs.WC
	var recv [1]verbs.RecvWR
	var wrs [2]verbs.WR
	var bind, inv [1]verbs.WR
	f := new(dispatch.Frame)
	round := func() {
		key = verbs.NextKey(key)
		a.P.Raise(f)
		bind[0] = b.Bind(1, mw, key, 0, 4096, verbs.RemoteWrite)
		b.QP.Post(f, bind[:])
		recv[0] = verbs.RecvWR{ID: 2, NumSGE: 1, SGE: [4]verbs.SGE{b.Piece(8192, 100)}}
		b.QP.PostRecv(f, recv[:])
		b.RCQ.Arm(f)
		f.Lower()
		a.P.Raise(f)
		wrs[0] = a.RDMA(3, verbs.Write, 0, 4096, b, 0, key)
		wrs[1] = pt.WR(4, verbs.Send, a.Piece(0, 64))
		a.QP.Post(f, wrs[:])
		f.Lower()
		a.P.Raise(f)
		inv[0] = pt.Inv(5, key)
		b.QP.Post(f, inv[:])
		f.Lower()
		a.P.Raise(f)
		n := a.SCQ.Poll(f, wcs[:])
		n += b.SCQ.Poll(f, wcs[n:])
		n += b.RCQ.Poll(f, wcs[n:])
		f.Lower()
		if n != 5 {
			t.Fatalf("%d completions", n)
		}
		for _, wc := range wcs[:n] {
			if wc.Status != verbs.Success {
				t.Fatalf("%+v", wc)
			}
		}
	}
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}
