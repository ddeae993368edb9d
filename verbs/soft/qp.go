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
//	Post      q's processor     ring, avail, doorbell
//	runAway   peer's processor  execute: check, copy, complete the peer's receive; done
//	runHome   q's processor     reap: completions; when in Error and let go: flush
//
// Ownership: by the frame that owns proc, except the group marked "engine", which is
// the peer's processor's while attached, and the atomics between the two.
type qp struct {
	// Fixed after construction.
	up             *verbs.QP
	dev            *HCA
	pd             *pd
	num            uint32
	serial         uint64 // of all QPs of the fabric, never used again
	rxPSN          uint32 // that the peer's first packet shall have
	proc           *dispatch.Processor
	sendCQ, recvCQ *cq
	attr           verbs.QPAttr
	sqMask, rqMask uint32

	state    atomic.Uint32 // verbs.QPState; written at home
	attached atomic.Bool   // the engine is at the peer's; cleared there
	apart    bool          // the peer has another processor; fixed before attached is set
	avail    mark          // end of what is posted; written at home
	done     mark          // end of what is executed; written by the engine
	failed   atomic.Bool   // the engine met a fatal error: q goes to Error
	left     atomic.Bool   // this end has ended the connection; written at home

	// Home.
	sq       []sqEntry
	sqFree   uint32 // end of what was posted and may be posted over
	reaped   uint32
	rq       []verbs.RecvWR
	rqFree   uint32
	rqHead   uint32
	rqTail   uint32
	peer     *qp
	conn     *connection
	linked   bool // was connected once
	gone     bool // the peer has ended the connection
	closing  bool // nothing begins any more
	request  *request
	home     dispatch.DPC
	timer    dispatch.Timer // of Connect
	hangup   dispatch.DPC   // the peer has ended the connection
	detached chan struct{}  // Destroy waits for the engine

	// Engine.
	away     dispatch.DPC
	running  bool // runAway is on the stack
	exec     uint32
	budget   int
	m        mover
	rnr      dispatch.Timer
	rnrWait  bool
	rnrLeft  uint8
	rnrRetry uint8
	psn      uint32
}

// mark is a place in q's ring that one of home and engine writes, and the other reads. Where both run on one processor it
// takes no barrier, which on the way of a request there would be six of.
type mark struct {
	here  uint32
	apart atomic.Uint32 // of a qp that is apart
}

func (m *mark) load(q *qp) uint32 {
	if q.apart {
		return m.apart.Load()
	}
	return m.here
}

func (m *mark) store(q *qp, at uint32) {
	if q.apart {
		m.apart.Store(at)
	} else {
		m.here = at
	}
}

// part tells a peer on another processor what there is already.
func (q *qp) part() {
	q.avail.apart.Store(q.avail.here)
	q.done.apart.Store(q.done.here)
	q.apart = true
}

// sqEntry is a place of the send queue's ring.
type sqEntry struct {
	wr      verbs.WR
	byteLen uint32
	status  verbs.Status
}

func (q *qp) State() verbs.QPState { return verbs.QPState(q.state.Load()) }

//level:dispatch noalloc
func (q *qp) Post(f *dispatch.Frame, wrs []verbs.WR) (accepted int, err error) {
	if s := q.State(); s != verbs.RTS && s != verbs.Error {
		return 0, verbs.ErrState
	}
	tail := q.avail.load(q)
	for i := range wrs {
		if tail-q.sqFree >= q.attr.MaxSend {
			err = verbs.ErrFull
			break
		}
		if !q.sane(&wrs[i]) {
			err = verbs.ErrInvalid
			break
		}
		q.sq[tail&q.sqMask].wr = wrs[i]
		tail++
		accepted++
	}
	if accepted != 0 {
		q.avail.store(q, tail)
		q.posted(f)
	}
	return accepted, err
}

// posted has the engine look at the ring: at once where it runs on this processor, which spares a deferred call. What that
// completes is told by the CQs' deferred calls all the same, never within Post.
func (q *qp) posted(f *dispatch.Frame) {
	if !q.apart && !q.running && q.attached.Load() {
		q.runAway(f)
	} else {
		q.Ring(f)
	}
}

func (q *qp) sane(wr *verbs.WR) bool {
	return wr.Op < verbs.Recv && uint32(wr.NumSGE) <= q.attr.MaxSGE && (wr.Op != verbs.BindWindow || wr.NumSGE == 1)
}

//level:dispatch noalloc
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

//level:dispatch noalloc
func (q *qp) PostRecv(f *dispatch.Frame, wrs []verbs.RecvWR) (accepted int, err error) {
	s := q.State()
	if s == verbs.Reset {
		return 0, verbs.ErrState
	}
	for i := range wrs {
		if q.rqTail-q.rqFree >= q.attr.MaxRecv {
			err = verbs.ErrFull
			break
		}
		if uint32(wrs[i].NumSGE) > q.attr.MaxSGE {
			err = verbs.ErrInvalid
			break
		}
		q.rq[q.rqTail&q.rqMask] = wrs[i]
		q.rqTail++
		accepted++
	}
	if s == verbs.Error {
		q.home.Queue(f)
	} else if p := q.peer; accepted != 0 && p != nil && p.rnrWait {
		p.away.Queue(f)
	}
	return accepted, err
}

// runHome reaps what the engine has executed, and flushes when there is none.
//
//level:dispatch noalloc
func (q *qp) runHome(f *dispatch.Frame) {
	q.reap(f)
	if q.failed.Load() && q.State() != verbs.Error {
		q.enterError(f)
		q.up.Notify(verbs.QPFatal)
	}
	if q.attached.Load() {
		return // runs again when the engine has let go
	}
	if q.State() == verbs.Error {
		q.flush(f)
	}
	if q.detached != nil {
		close(q.detached)
		q.detached = nil
	}
}

// flush completes everything posted. What the peer was copying into q's memory ends
// before, if its engine has not run since q is in Error: what is flushed is not
// touched any more.
func (q *qp) flush(f *dispatch.Frame) {
	if p := q.peer; p != nil && p.attached.Load() && p.m.active {
		p.m.abort()
		p.away.Queue(f)
	}
	for tail := q.avail.load(q); q.exec != tail; q.exec++ {
		q.sq[q.exec&q.sqMask].status = verbs.WRFlushErr
	}
	q.done.store(q, q.exec)
	q.reap(f)
	for q.rqHead != q.rqTail {
		q.receive(f, verbs.WC{Status: verbs.WRFlushErr})
	}
}

// reap turns executed requests into completions.
func (q *qp) reap(f *dispatch.Frame) {
	for end := q.done.load(q); q.reaped != end; {
		e := &q.sq[q.reaped&q.sqMask]
		q.reaped++
		if e.status == verbs.Success && e.wr.Flags&verbs.Signaled == 0 {
			continue
		}
		wc := verbs.WC{ID: e.wr.ID, QPN: q.num, Status: e.status, Op: e.wr.Op, ByteLen: e.byteLen}
		if !q.sendCQ.push(f, &cqe{wc: wc, q: q, end: q.reaped}) {
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
	if !q.recvCQ.push(f, &cqe{wc: wc, q: q, end: q.rqHead}) {
		q.overrun(f)
	}
}

// polled frees the place of a request whose completion the consumer has seen, and of
// all before it.
func (q *qp) polled(c *cqe) {
	if c.wc.Op == verbs.Recv {
		q.rqFree = c.end
	} else {
		q.sqFree = c.end
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
	q.proc.Run(func(f *dispatch.Frame) {
		switch from := q.State(); {
		case q.closing:
			err = verbs.ErrClosed
		case !from.CanGo(to), (to == verbs.RTR || to == verbs.RTS) && q.peer == nil:
			err = verbs.ErrState
		case to == verbs.Error:
			q.enterError(f)
		case to != verbs.Reset:
			q.state.Store(uint32(to))
		case q.linked || q.request != nil:
			// The peer knows this number: a new connection takes a new QP.
			err = verbs.ErrState
		default:
			q.reset()
		}
	})
	return err
}

// reset forgets what is posted, without completions (IBA 10.3.1.1).
func (q *qp) reset() {
	q.state.Store(uint32(verbs.Reset))
	q.rqHead, q.rqFree = q.rqTail, q.rqTail
	q.sqFree = q.avail.load(q)
}

// Destroy takes q to Error, waits until no engine runs for or against it, and
// forgets it. It comes after Cancel, which has told the peer.
func (q *qp) Destroy(ctx context.Context) {
	wait := make(chan struct{})
	q.proc.Run(func(f *dispatch.Frame) {
		q.timer.Cancel(f)
		q.enterError(f)
		if p := q.peer; p != nil {
			p.letGo(f) // the peer's engine, which runs here
		}
		q.detached = wait
		q.Ring(f)
	})
	<-wait
	q.dev.forget(q)
}
