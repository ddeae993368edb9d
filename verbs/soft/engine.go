package soft

import (
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// runAway is the engine: it executes q's requests in order, on the peer's
// processor.
//
// A request that cannot go on (no receive, a key in use, a step budget used up)
// leaves the engine where it is, and what ends the wait queues the engine again.
func (q *qp) runAway(f *dispatch.Frame) {
	if !q.attached.Load() {
		q.home.Queue(f)
		return
	}
	for {
		if q.State() == verbs.Error {
			q.letGo(f)
			return
		}
		if q.exec == q.avail.Load() {
			break
		}
		e := &q.sq[q.exec&q.sqMask]
		status, wait := q.execute(f, e)
		if wait {
			break
		}
		e.status = status
		q.exec++
		if status != verbs.Success {
			q.failed.Store(1)
			q.done.Store(q.exec)
			q.letGo(f)
			return
		}
	}
	if q.done.Load() != q.exec {
		q.done.Store(q.exec)
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
		return q.bind(wr), false
	case verbs.LocalInv:
		return q.localInv(wr)
	default:
		return q.transfer(f, e)
	}
}

func (q *qp) bind(wr *verbs.WR) verbs.Status {
	t := &q.dev.keys
	g := &wr.SGE[0]
	w := t.get(wr.MW << 8)
	if w == nil || !w.window || w.pd != q.pd || !w.quiet() || wr.Key>>8 != w.index || g.Length == 0 {
		return verbs.MWBindErr
	}
	need := verbs.BindMW
	if wr.Access&verbs.RemoteWrite != 0 {
		need |= verbs.LocalWrite
	}
	var s span
	if wr.Access&^(verbs.RemoteRead|verbs.RemoteWrite) != 0 || !t.local(&s, g, q.pd, need) {
		return verbs.MWBindErr
	}
	w.qpn, w.base, w.mem, w.access = q.num, g.Addr, s.mem, wr.Access
	w.parent, w.pkey = s.k, g.LKey
	s.release()
	w.state.Store(stateOf(wr.Key, valid))
	return verbs.Success
}

func (q *qp) localInv(wr *verbs.WR) (verbs.Status, bool) {
	e := q.dev.keys.get(wr.Key)
	if q.m.dying != nil {
		// Called again: the last access has ended, or something else woke the engine.
		if q.m.dying.state.Load()&dying != 0 {
			return 0, true
		}
		q.m.dying = nil
		return verbs.Success, false
	}
	if e == nil || !e.window || e.pd != q.pd {
		return verbs.LocQPOpErr, false
	}
	ok, done := e.invalidate(wr.Key, &q.away)
	switch {
	case !ok:
		return verbs.LocQPOpErr, false
	case !done:
		q.m.dying = e
		return 0, true
	}
	return verbs.Success, false
}

// transfer does what moves bytes between q and its peer.
func (q *qp) transfer(f *dispatch.Frame, e *sqEntry) (verbs.Status, bool) {
	if !q.m.active {
		if status, wait := q.begin(f, e); status != verbs.Success || wait {
			return status, wait
		}
	}
	status, wait := q.m.move(f, q)
	if wait {
		return 0, true
	}
	q.m.abort()
	return q.finish(f, e, status), false
}

// begin checks a request at both ends and takes the memory of both.
func (q *qp) begin(f *dispatch.Frame, e *sqEntry) (verbs.Status, bool) {
	wr, p := &e.wr, q.peer
	if p.State() != verbs.RTS && p.State() != verbs.RTR {
		return verbs.RetryExcErr, false
	}
	m := &q.m
	m.reset()
	need := verbs.Access(0)
	mine, theirs := &m.src, &m.dst
	if wr.Op == verbs.Read {
		need = verbs.LocalWrite
		mine, theirs = &m.dst, &m.src
	}
	for i := range wr.NumSGE {
		if g := &wr.SGE[i]; g.Length != 0 {
			if !q.dev.keys.local(&mine.spans[i], g, q.pd, need) {
				m.abort()
				return verbs.LocProtErr, false
			}
			m.left += uint64(g.Length)
		}
	}
	if m.left > maxMessage {
		m.abort()
		return verbs.LocLenErr, false
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

func (q *qp) beginSend(f *dispatch.Frame, dst *side) (verbs.Status, bool) {
	p := q.peer
	if p.rqHead == p.rqTail {
		return q.receiverNotReady(f)
	}
	q.rnrWait, q.rnrLeft = false, q.rnrRetry
	q.rnr.Cancel(f)
	r := &p.rq[p.rqHead&p.rqMask]
	var room uint64
	for i := range r.NumSGE {
		g := &r.SGE[i]
		room += uint64(g.Length)
		if g.Length != 0 && !p.dev.keys.local(&dst.spans[i], g, p.pd, verbs.LocalWrite) {
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
	if q.m.left != 0 && !p.dev.keys.remote(&theirs.spans[0], wr.Key, wr.RemoteAddr, uint32(q.m.left), p, need) {
		p.breakOff(f, verbs.WC{})
		return verbs.RemAccessErr
	}
	return verbs.Success
}

// finish ends a transfer that has moved its bytes, or has had to stop.
func (q *qp) finish(f *dispatch.Frame, e *sqEntry, status verbs.Status) verbs.Status {
	p, wr := q.peer, &e.wr
	if status != verbs.Success {
		wc := verbs.WC{}
		if wr.Op == verbs.Send || wr.Op == verbs.SendInv {
			wc.Status = verbs.LocProtErr
		}
		p.breakOff(f, wc)
		return status
	}
	q.psn += max(1, (e.byteLen+mtu-1)/mtu)
	if wr.Op != verbs.Send && wr.Op != verbs.SendInv {
		return verbs.Success
	}
	wc := verbs.WC{ByteLen: e.byteLen}
	if wr.Op == verbs.SendInv {
		k := p.dev.keys.get(wr.Key)
		ok := k != nil && k.window && k.pd == p.pd
		if ok {
			ok, _ = k.invalidate(wr.Key, nil)
		}
		if !ok {
			p.breakOff(f, verbs.WC{Status: verbs.LocAccessErr})
			return verbs.RemOpErr
		}
		wc.Invalidated, wc.InvKey = true, wr.Key
	}
	p.receive(f, wc)
	return verbs.Success
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
