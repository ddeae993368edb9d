package providertest

import (
	"errors"
	"testing"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

var queueTests = []test{
	{"what may be posted in which state, IBA 10.3.1, 11.4.1", queueStates},
	{"a post that is not accepted has no completion, IBA 11.4.1", queueRefused},
	{"a place is free when its completion has been polled, IBA 10.8.6", queuePlaces},
	{"requests without completion, IBA 10.8.6", queueUnsignaled},
	{"an error flushes both queues in order, IBA 10.3.1.7, 10.8.5.2", queueFlush},
	{"one notification an arm, IBA 11.4.2.2", queueArm},
	{"arming with completions that nobody has seen fires at once, doc.go rule 5", queueArmLate},
	{"two QPs share their CQs", queueShared},
}

func queueStates(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	_ = b
	idle := a.NewQP()
	post := func(qp *verbs.QP) (sendErr, recvErr error) {
		a.At(func(f *dispatch.Frame) {
			_, sendErr = qp.Post(f, []verbs.WR{WR(1, verbs.Send)})
			_, recvErr = qp.PostRecv(f, []verbs.RecvWR{{ID: 2}})
		})
		return sendErr, recvErr
	}
	modify := func(to verbs.QPState) error {
		_, err := Try(a.World, func(op *verbs.Op[verbs.None]) { idle.Modify(op, to) })
		return err
	}
	if s, r := post(idle); s != verbs.ErrState || r != verbs.ErrState {
		t.Errorf("in Reset: send %v, receive %v", s, r)
	}
	if err := modify(verbs.Init); err != nil {
		t.Fatal(err)
	}
	if s, r := post(idle); s != verbs.ErrState || r != nil {
		t.Errorf("in Init: send %v, receive %v", s, r)
	}
	if err := modify(verbs.Error); err != nil {
		t.Fatal(err)
	}
	wc := a.Received(1)[0]
	if wc.ID != 2 || wc.Status != verbs.WRFlushErr {
		t.Errorf("receive of Init, then Error: %+v", wc)
	}
	if s, r := post(idle); s != nil || r != nil {
		t.Errorf("in Error: send %v, receive %v", s, r)
	}
	if s, r := a.Sent(1)[0], a.Received(1)[0]; s.Status != verbs.WRFlushErr || r.Status != verbs.WRFlushErr {
		t.Errorf("posted in Error: %s, %s", s.Status, r.Status)
	}
	if s, r := post(a.QP); s != nil || r != nil {
		t.Errorf("in RTS: send %v, receive %v", s, r)
	}
}

func queueRefused(t *testing.T, plug Plug, o Options) {
	o.MaxSend, o.MaxRecv = 5, 5
	a, b := Pair(t, plug, o)
	for i := range 5 {
		b.Recv(uint64(i))
	}
	wrs := make([]verbs.WR, 8)
	for i := range wrs {
		wrs[i] = WR(uint64(i), verbs.Send)
	}
	wrs[2].NumSGE = verbs.MaxSGE + 1
	post := func(want int, why error, wrs []verbs.WR) {
		t.Helper()
		var n int
		var err error
		a.At(func(f *dispatch.Frame) { n, err = a.QP.Post(f, wrs) })
		if n != want || !errors.Is(err, why) {
			t.Errorf("%d accepted, %v; want %d, %v", n, err, want, why)
		}
	}
	post(2, verbs.ErrInvalid, wrs) // before the one that is not sane
	post(3, verbs.ErrFull, wrs[3:])
	post(0, verbs.ErrFull, []verbs.WR{{Op: verbs.Recv}})
	for i, wc := range a.Sent(5) {
		a.Want(wc, []uint64{0, 1, 3, 4, 5}[i], verbs.Send, verbs.Success)
	}
	b.Received(5)
	post(0, verbs.ErrInvalid, []verbs.WR{{Op: verbs.Recv}})
	var n int
	var err error
	b.At(func(f *dispatch.Frame) { n, err = b.QP.PostRecv(f, []verbs.RecvWR{{NumSGE: verbs.MaxSGE + 1}}) })
	if n != 0 || !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("a receive of too many pieces: %d accepted, %v", n, err)
	}
	a.Idle()
	b.Idle()
}

func queuePlaces(t *testing.T, plug Plug, o Options) {
	o.MaxSend, o.MaxRecv = 4, 4
	a, b := Pair(t, plug, o)
	full := func(e *End, send bool) bool {
		var n int
		e.At(func(f *dispatch.Frame) {
			if send {
				n, _ = e.QP.Post(f, []verbs.WR{WR(9, verbs.Send)})
			} else {
				n, _ = e.QP.PostRecv(f, []verbs.RecvWR{{ID: 9}})
			}
		})
		return n == 0
	}
	for i := range 4 {
		b.Recv(uint64(i))
	}
	if !full(b, false) {
		t.Error("a fifth receive was accepted")
	}
	a.Post(WR(0, verbs.Send), WR(1, verbs.Send), WR(2, verbs.Send), WR(3, verbs.Send))
	if got := a.Sent(1)[0]; got.ID != 0 {
		t.Errorf("first completion %d", got.ID)
	}
	if full(a, true) {
		t.Error("the place of a polled completion is not free")
	}
	if !full(a, true) {
		t.Error("places of completions that nobody has seen are free")
	}
	if got := b.Received(2); got[1].ID != 1 {
		t.Errorf("completions %+v", got)
	}
	if full(b, false) || full(b, false) || !full(b, false) {
		t.Error("two polled receives must free two places")
	}
	a.Sent(4)
	b.Received(3)
}

func queueUnsignaled(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	var wrs []verbs.WR
	for i := range 10 {
		b.Recv(uint64(i))
		wr := WR(uint64(i), verbs.Send)
		if i != 9 {
			wr.Flags = 0
		}
		wrs = append(wrs, wr)
	}
	a.Post(wrs...)
	a.Want(a.Sent(1)[0], 9, verbs.Send, verbs.Success)
	b.Received(10)
	a.Idle()
	// One that fails completes all the same.
	bad := WR(20, verbs.Send, a.Piece(-1, 1))
	bad.Flags = 0
	a.Post(bad)
	a.Want(a.Sent(1)[0], 20, verbs.Send, verbs.LocProtErr)
}

func queueFlush(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	for i := range 8 {
		a.Recv(uint64(100 + i))
		b.Recv(uint64(200 + i))
	}
	var wrs []verbs.WR
	for i := range 8 {
		wr := WR(uint64(i), verbs.Send)
		if i == 2 {
			wr = a.RDMA(2, verbs.Write, 0, 1, b, 0, 0)
		}
		if i%2 == 1 {
			wr.Flags = 0 // what is flushed completes all the same
		}
		wrs = append(wrs, wr)
	}
	wrs[1].Flags = verbs.Signaled
	a.Post(wrs...)
	for i, wc := range a.Sent(8) {
		want := verbs.WRFlushErr
		switch {
		case i < 2:
			want = verbs.Success
		case i == 2:
			want = verbs.RemAccessErr
		}
		a.Want(wc, uint64(i), wrs[i].Op, want)
	}
	for i, wc := range a.Received(8) {
		a.Want(wc, uint64(100+i), verbs.Recv, verbs.WRFlushErr)
	}
	for i, wc := range b.Received(8) {
		want := verbs.WRFlushErr
		if i < 2 {
			want = verbs.Success
		}
		b.Want(wc, uint64(200+i), verbs.Recv, want)
	}
	bothDead(a, b)
	a.Idle()
	b.Idle()
}

// notified waits until e has had n notifications, and no more.
func notified(e *End, n int) {
	e.T.Helper()
	seen := func() (got int) {
		e.At(func(*dispatch.Frame) { got = e.Notified })
		return got
	}
	for seen() < n {
	}
	if got := seen(); got != n {
		e.T.Fatalf("%d notifications; want %d", got, n)
	}
}

func arm(e *End) { e.At(func(f *dispatch.Frame) { e.RCQ.Arm(f) }) }

func queueArm(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	for i := range 6 {
		b.Recv(uint64(i))
	}
	send := func(n int) {
		for range n {
			a.Post(WR(1, verbs.Send))
		}
		a.Sent(n)
	}
	send(1)
	b.Received(1)
	notified(b, 0) // it was not armed
	arm(b)
	notified(b, 0)
	send(3)
	b.Received(3)
	notified(b, 1)
	send(1)
	b.Received(1)
	notified(b, 1) // it was not armed again
	arm(b)
	send(1)
	notified(b, 2)
	b.Received(1)
}

func queueArmLate(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	for i := range 3 {
		b.Recv(uint64(i))
	}
	a.Post(WR(1, verbs.Send), WR(2, verbs.Send))
	a.Sent(2)
	b.Received(1) // the second is there and unseen
	for n := range 3 {
		arm(b)
		notified(b, n+1)
	}
	b.Received(1)
	arm(b)
	notified(b, 3)
	a.Post(WR(3, verbs.Send))
	a.Sent(1)
	notified(b, 4)
	b.Received(1)
}

func queueShared(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	qa, qb := Another(a, b)
	a.At(func(f *dispatch.Frame) {
		for i := range 4 {
			qa.PostRecv(f, []verbs.RecvWR{{ID: uint64(i)}})
			a.QP.PostRecv(f, []verbs.RecvWR{{ID: uint64(10 + i)}})
		}
	})
	b.At(func(f *dispatch.Frame) {
		for i := range 4 {
			qb.Post(f, []verbs.WR{WR(uint64(i), verbs.Send)})
			b.QP.Post(f, []verbs.WR{WR(uint64(10+i), verbs.Send)})
		}
	})
	next := map[uint32]uint64{qa.Num(): 0, a.QP.Num(): 10}
	for _, wc := range a.Received(8) {
		if wc.ID != next[wc.QPN] || wc.Status != verbs.Success {
			t.Errorf("%+v; want %d of QP %#x", wc, next[wc.QPN], wc.QPN)
		}
		next[wc.QPN]++
	}
	b.Sent(8)
}
