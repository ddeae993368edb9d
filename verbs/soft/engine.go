package soft

import (
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// runAway is the engine: it executes q's requests in order, on the peer's
// processor.
//
// A request that cannot go on (no receive, a key in use, a budget used up) leaves
// the engine where it is, and what ends the wait queues the engine again.
//
//level:dispatch noalloc
func (q *qp) runAway(f *dispatch.Frame) {
	if !q.attached.Load() {
		q.home.Queue(f)
		return
	}
	q.running, q.budget = true, runBudget
	q.run(f)
	q.running = false
}

func (q *qp) run(f *dispatch.Frame) {
	for {
		if q.State() == verbs.Error {
			q.letGo(f)
			return
		}
		if q.exec == q.avail.load(q) {
			break
		}
		if q.budget <= 0 {
			q.away.Queue(f)
			break
		}
		q.budget -= requestCost
		e := &q.sq[q.exec&q.sqMask]
		status, wait := q.execute(f, e)
		if wait {
			break
		}
		e.status = status
		q.exec++
		if status != verbs.Success {
			q.failed.Store(true)
			q.done.store(q, q.exec)
			q.letGo(f)
			return
		}
	}
	if q.done.load(q) != q.exec {
		q.done.store(q, q.exec)
		if f.On(q.proc) {
			q.reap(f)
		} else {
			q.home.Queue(f)
		}
	}
}

// letGo ends the engine's part at the peer's processor: nothing is held there any
// more, and what is left is flushed at home.
func (q *qp) letGo(f *dispatch.Frame) {
	if !q.attached.Load() {
		return
	}
	q.m.abort()
	q.rnr.Cancel(f)
	q.rnrWait = false
	q.attached.Store(false)
	q.home.Queue(f)
}

// execute goes on with one request. It is called again for the same request until
// it does not ask to wait.
func (q *qp) execute(f *dispatch.Frame, e *sqEntry) (verbs.Status, bool) {
	switch wr := &e.wr; wr.Op {
	case verbs.BindWindow:
		e.byteLen = 0
		return q.bind(wr), false
	case verbs.LocalInv:
		e.byteLen = 0
		return q.localInv(wr)
	default:
		return q.transfer(f, e)
	}
}

// bind binds a quiet window (IBA 10.6.7.2.2).
func (q *qp) bind(wr *verbs.WR) verbs.Status {
	w := q.dev.keys.get(wr.Key)
	if w == nil || w.index != wr.MW || !w.claim() {
		return verbs.MWBindErr
	}
	var s span
	g := &wr.SGE[0]
	if w.pd.Load() != q.pd || g.Length == 0 || !q.bindable(&s, wr) {
		w.unclaim()
		return verbs.MWBindErr
	}
	w.owner, w.base, w.mem, w.access = q.serial, g.Addr, s.mem, wr.Access
	w.parent, w.pkey, w.pround = s.k, g.LKey, roundOf(s.k.state.Load())
	s.release()
	w.publish(wr.Key, window)
	return verbs.Success
}

// bindable takes the memory of a bind request, if the region gives the rights that
// the window shall have.
func (q *qp) bindable(s *span, wr *verbs.WR) bool {
	need := verbs.BindMW
	if wr.Access&verbs.RemoteWrite != 0 {
		need |= verbs.LocalWrite
	}
	return wr.Access&^(verbs.RemoteRead|verbs.RemoteWrite) == 0 && q.dev.keys.local(s, &wr.SGE[0], q.pd, need)
}

// localInv ends a window's key, and waits until no access under it is left.
func (q *qp) localInv(wr *verbs.WR) (verbs.Status, bool) {
	if !q.m.ending() {
		if !q.m.invalidate(&q.dev.keys, wr.Key, q.pd, &q.away) {
			return verbs.LocQPOpErr, false
		}
	}
	return verbs.Success, !q.m.ended()
}

// transfer does what moves bytes between q and its peer.
func (q *qp) transfer(f *dispatch.Frame, e *sqEntry) (verbs.Status, bool) {
	m, p := &q.m, q.peer
	if m.active && p.State() == verbs.Error {
		m.abort() // in mid-copy; begin says what becomes of it
	}
	if !m.active {
		if status, wait := q.begin(f, e); status != verbs.Success || wait {
			return status, wait
		}
	}
	if !m.ending() {
		status, wait := m.move(f, q)
		if wait {
			return 0, true
		}
		if status != verbs.Success {
			mine := status == verbs.LocProtErr
			m.abort()
			if !mine {
				q.brokenOff(f, &e.wr)
			}
			return status, false
		}
		if e.wr.Op == verbs.SendInv && !m.invalidate(&p.dev.keys, e.wr.Key, p.pd, &q.away) {
			m.abort()
			p.breakOff(f, verbs.WC{Status: verbs.LocAccessErr})
			return verbs.RemOpErr, false
		}
	}
	if !m.ended() {
		return 0, true
	}
	m.abort()
	q.delivered(f, e)
	return verbs.Success, false
}

// begin checks a request at both ends and takes the memory of both.
func (q *qp) begin(f *dispatch.Frame, e *sqEntry) (verbs.Status, bool) {
	wr, p, m := &e.wr, q.peer, &q.m
	switch p.State() {
	case verbs.RTS, verbs.RTR:
	case verbs.Error:
		if !p.left.Load() {
			return verbs.RetryExcErr, false // it does not answer
		}
		return 0, true // the hang-up is on its way, and flushes this
	default:
		return 0, true // the peer is being connected, and rings
	}
	m.reset()
	mine, theirs, need := &m.src, &m.dst, verbs.Access(0)
	if wr.Op == verbs.Read {
		mine, theirs, need = &m.dst, &m.src, verbs.LocalWrite
	}
	if status := q.gather(mine, wr, need); status != verbs.Success {
		m.abort()
		return status, false
	}
	e.byteLen = uint32(m.left)
	var status verbs.Status
	var wait bool
	switch wr.Op {
	case verbs.Send, verbs.SendInv:
		status, wait = q.beginSend(f, theirs)
	case verbs.Write, verbs.Read:
		status = q.beginRDMA(f, wr, theirs)
	}
	if status != verbs.Success || wait {
		m.abort()
		return status, wait
	}
	m.active = true
	if t := q.dev.fabric.tap; t != nil {
		q.tapBegin(f, t, wr)
	}
	return verbs.Success, false
}

// maxMessage is the largest message (IBA 9.7.2).
const maxMessage = 1 << 31

// gather takes the memory of q's own side.
func (q *qp) gather(mine *side, wr *verbs.WR, need verbs.Access) verbs.Status {
	for i := range wr.NumSGE {
		if g := &wr.SGE[i]; g.Length != 0 {
			if !q.dev.keys.local(mine.span(i), g, q.pd, need) {
				return verbs.LocProtErr
			}
			q.m.left += uint64(g.Length)
		}
	}
	if q.m.left > maxMessage {
		return verbs.LocLenErr
	}
	return verbs.Success
}

// beginSend takes the memory of the peer's oldest receive.
func (q *qp) beginSend(f *dispatch.Frame, dst *side) (verbs.Status, bool) {
	p := q.peer
	if p.rqHead == p.rqTail {
		return q.receiverNotReady(f)
	}
	if q.rnrWait {
		q.rnrWait, q.rnrLeft = false, q.rnrRetry
		q.rnr.Cancel(f)
	}
	r := &p.rq[p.rqHead&p.rqMask]
	var room uint64
	for i := range r.NumSGE {
		g := &r.SGE[i]
		room += uint64(g.Length)
		if g.Length != 0 && !p.dev.keys.local(dst.span(i), g, p.pd, verbs.LocalWrite) {
			p.breakOff(f, verbs.WC{Status: verbs.LocProtErr})
			return verbs.RemOpErr, false
		}
	}
	if room < q.m.left {
		p.breakOff(f, verbs.WC{Status: verbs.LocLenErr})
		return verbs.RemInvReqErr, false
	}
	return verbs.Success, false
}

// receiverNotReady waits for a receive, as long as the peer's RNR timer and q's
// retry count say.
func (q *qp) receiverNotReady(f *dispatch.Frame) (verbs.Status, bool) {
	if q.rnrWait && q.rnr.Armed() {
		return 0, true // woken by something else
	}
	if q.rnrRetry != rnrForEver {
		if q.rnrLeft == 0 {
			return verbs.RNRRetryExcErr, false
		}
		q.rnrLeft--
	}
	q.rnrWait = true
	d := q.peer.attr.RNRTimer
	if d == 0 {
		d = defaultRNRTimer
	}
	q.rnr.Arm(f, d)
	return 0, true
}

// beginRDMA takes the memory that the request names at the peer.
func (q *qp) beginRDMA(f *dispatch.Frame, wr *verbs.WR, theirs *side) verbs.Status {
	need := verbs.RemoteWrite
	if wr.Op == verbs.Read {
		need = verbs.RemoteRead
	}
	p := q.peer
	if p.attr.Access&need == 0 {
		p.breakOff(f, verbs.WC{})
		return verbs.RemInvReqErr
	}
	// A zero-length access checks no key (IBA C9-88).
	if q.m.left != 0 && !p.dev.keys.remote(theirs.span(0), wr.Key, wr.RemoteAddr, uint32(q.m.left), p, need) {
		p.breakOff(f, verbs.WC{})
		return verbs.RemAccessErr
	}
	return verbs.Success
}

// delivered ends a transfer that has moved its bytes.
func (q *qp) delivered(f *dispatch.Frame, e *sqEntry) {
	q.psn += max(1, (e.byteLen+mtu-1)/mtu)
	switch e.wr.Op {
	case verbs.Send:
		q.peer.receive(f, verbs.WC{ByteLen: e.byteLen})
	case verbs.SendInv:
		q.peer.receive(f, verbs.WC{ByteLen: e.byteLen, Invalidated: true, InvKey: e.wr.Key})
	}
}

// brokenOff is the peer's part when its memory went away during a transfer.
func (q *qp) brokenOff(f *dispatch.Frame, wr *verbs.WR) {
	wc := verbs.WC{}
	if wr.Op == verbs.Send || wr.Op == verbs.SendInv {
		wc.Status = verbs.LocProtErr
	}
	q.peer.breakOff(f, wc)
}

// breakOff is what a responder does after a fatal NAK: the receive that was in use,
// if any, completes with the error, and the QP goes to Error.
func (q *qp) breakOff(f *dispatch.Frame, wc verbs.WC) {
	if wc.Status != verbs.Success && q.rqHead != q.rqTail {
		q.receive(f, wc)
	}
	q.enterError(f)
	q.up.Notify(verbs.QPFatal)
}
