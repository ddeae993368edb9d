package soft

import (
	"context"
	"sync/atomic"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// qp is a reliable-connected queue pair.
//
// A connection has an engine for each direction. The engine of q's sends runs on
// the peer's processor, so that the peer's receive queue, CQ and state are touched
// only where they belong; it reads q's ring, and tells q how far it has come. When
// both ends share a processor all of it happens in one run. While q has no peer its
// ring is flushed at home.
//
// Ownership: by the frame that owns proc, except the group marked "engine", which is
// the peer's processor's while attached, and the atomics between the two.
type qp struct {
	// Fixed after construction.
	up             *verbs.QP
	dev            *HCA
	pd             *pd
	num            uint32
	proc           *dispatch.Processor
	sendCQ, recvCQ *cq
	attr           verbs.QPAttr
	sqMask, rqMask uint32

	state    atomic.Uint32 // verbs.QPState; written at home
	attached atomic.Bool   // the engine runs at the peer's; cleared there
	avail    atomic.Uint32 // end of what is posted; written at home
	done     atomic.Uint32 // end of what is executed; written by the engine
	failed   atomic.Uint32 // the engine met a fatal error: what goes to Error is q

	// Home.
	sq       []sqEntry
	reaped   uint32
	rq       []verbs.RecvWR
	rqHead   uint32
	rqTail   uint32
	peer     *qp
	linked   bool // was connected once
	request  *request
	home     dispatch.DPC
	timer    dispatch.Timer // of Connect
	hangup   dispatch.DPC   // the peer has disconnected
	detached chan struct{}  // Destroy waits for the engine

	// Engine.
	away     dispatch.DPC
	exec     uint32
	m        mover
	rnr      dispatch.Timer
	rnrWait  bool
	rnrLeft  uint8
	rnrRetry uint8
	psn      uint32
}

// sqEntry is a place of the send queue's ring.
type sqEntry struct {
	wr      verbs.WR
	byteLen uint32
	status  verbs.Status
}

func (q *qp) State() verbs.QPState { return verbs.QPState(q.state.Load()) }

func (q *qp) Post(f *dispatch.Frame, wrs []verbs.WR) (int, error) {
	if s := q.State(); s != verbs.RTS && s != verbs.Error {
		return 0, verbs.ErrState
	}
	tail := q.avail.Load()
	for i := range wrs {
		if tail-q.reaped > q.sqMask {
			q.publish(f, tail)
			return i, verbs.ErrFull
		}
		if !q.sane(&wrs[i]) {
			q.publish(f, tail)
			return i, verbs.ErrInvalid
		}
		q.sq[tail&q.sqMask].wr = wrs[i]
		tail++
	}
	q.publish(f, tail)
	return len(wrs), nil
}

func (q *qp) sane(wr *verbs.WR) bool {
	return wr.Op < verbs.Recv && uint32(wr.NumSGE) <= q.attr.MaxSGE && (wr.Op != verbs.BindWindow || wr.NumSGE == 1)
}

// publish makes what was posted visible to the engine and rings its doorbell.
func (q *qp) publish(f *dispatch.Frame, tail uint32) {
	if tail == q.avail.Load() {
		return
	}
	q.avail.Store(tail)
	q.Ring(f)
}

func (q *qp) Ring(f *dispatch.Frame) {
	if q.attached.Load() {
		q.away.Queue(f)
		if q.attached.Load() {
			return
		}
		// The engine was taken home meanwhile; where it was, nobody may run it any more.
	}
	q.home.Queue(f)
}

func (q *qp) PostRecv(f *dispatch.Frame, wrs []verbs.RecvWR) (int, error) {
	s := q.State()
	if s == verbs.Reset {
		return 0, verbs.ErrState
	}
	for i := range wrs {
		if q.rqTail-q.rqHead > q.rqMask {
			return i, verbs.ErrFull
		}
		if uint32(wrs[i].NumSGE) > q.attr.MaxSGE {
			return i, verbs.ErrInvalid
		}
		q.rq[q.rqTail&q.rqMask] = wrs[i]
		q.rqTail++
	}
	if s == verbs.Error {
		q.home.Queue(f)
	} else if p := q.peer; p != nil && p.rnrWait {
		p.away.Queue(f)
	}
	return len(wrs), nil
}

// runHome reaps what the engine has executed, and flushes when there is none.
func (q *qp) runHome(f *dispatch.Frame) {
	q.reap(f)
	if q.failed.Load() != 0 && q.State() != verbs.Error {
		q.enterError(f)
		q.up.Notify(verbs.QPFatal)
		return // runs again when the engine has let go
	}
	if q.attached.Load() {
		return
	}
	if q.State() == verbs.RTS && q.linked && q.exec != q.avail.Load() {
		// The peer has gone without a word: the first request finds out.
		e := &q.sq[q.exec&q.sqMask]
		e.status = verbs.RetryExcErr
		q.exec++
		q.enterError(f)
		q.up.Notify(verbs.QPFatal)
	}
	if q.State() == verbs.Error {
		for tail := q.avail.Load(); q.exec != tail; q.exec++ {
			q.sq[q.exec&q.sqMask].status = verbs.WRFlushErr
		}
		q.flushRecv(f)
	}
	q.done.Store(q.exec)
	q.reap(f)
	if q.detached != nil {
		close(q.detached)
		q.detached = nil
	}
}

// reap turns executed requests into completions.
func (q *qp) reap(f *dispatch.Frame) {
	for end := q.done.Load(); q.reaped != end; q.reaped++ {
		e := &q.sq[q.reaped&q.sqMask]
		if e.status == verbs.Success && e.wr.Flags&verbs.Signaled == 0 {
			continue
		}
		wc := verbs.WC{ID: e.wr.ID, QPN: q.num, Status: e.status, Op: e.wr.Op, ByteLen: e.byteLen}
		if !q.sendCQ.push(f, wc) {
			q.overrun(f)
		}
	}
}

func (q *qp) overrun(f *dispatch.Frame) {
	q.up.Notify(verbs.CQOverrun)
	q.enterError(f)
}

// receive completes the oldest receive.
func (q *qp) receive(f *dispatch.Frame, wc verbs.WC) {
	r := &q.rq[q.rqHead&q.rqMask]
	q.rqHead++
	wc.ID, wc.QPN, wc.Op = r.ID, q.num, verbs.Recv
	if !q.recvCQ.push(f, wc) {
		q.overrun(f)
	}
}

func (q *qp) flushRecv(f *dispatch.Frame) {
	for q.rqHead != q.rqTail {
		q.receive(f, verbs.WC{Status: verbs.WRFlushErr})
	}
}

// enterError takes q to the Error state. Everything posted is flushed, once the
// engines have let go of what they hold.
func (q *qp) enterError(f *dispatch.Frame) {
	if q.State() == verbs.Error {
		return
	}
	q.state.Store(uint32(verbs.Error))
	if p := q.peer; p != nil && p.attached.Load() {
		p.away.Queue(f) // what it sends to q cannot arrive any more
	}
	q.Ring(f)
}

// Modify does what a consumer may ask for; connections do the rest.
func (q *qp) Modify(ctx context.Context, to verbs.QPState) (err error) {
	call(q.proc, func(f *dispatch.Frame) {
		switch from := q.State(); {
		case !from.CanGo(to), (to == verbs.RTR || to == verbs.RTS) && q.peer == nil:
			err = verbs.ErrState
		case to == verbs.Error:
			q.enterError(f)
		case to == verbs.Reset && q.linked:
			// The peer still knows this number: a new connection takes a new QP.
			err = verbs.ErrState
		default:
			q.state.Store(uint32(to))
		}
	})
	return err
}

// Destroy takes q to Error, waits until no engine runs for or against it, and
// forgets it.
func (q *qp) Destroy(ctx context.Context) {
	wait := make(chan struct{})
	call(q.proc, func(f *dispatch.Frame) {
		q.timer.Cancel(f)
		q.enterError(f)
		if p := q.peer; p != nil {
			// The peer's engine runs here, on q's processor: take it home.
			p.letGo(f)
			p.hangup.Queue(f)
		}
		q.detached = wait
		q.Ring(f)
	})
	<-wait
	q.dev.forget(q)
}
