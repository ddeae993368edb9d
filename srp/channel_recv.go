package srp

import (
	"minisrp/scsi"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// notified takes what has completed, and arms the CQ when there is no more.
//
//level:dispatch noalloc
func (c *Channel) notified(f *dispatch.Frame, cq *verbs.CQ) {
	for range batchesARun {
		if c.state == chanDown {
			return
		}
		n := cq.Poll(f, c.wcs[:])
		c.stats.Polls++
		if n == 0 {
			c.stats.IdlePolls++
			// What completes from here on fires the armed CQ, also if it is there already.
			cq.Arm(f)
			return
		}
		for i := range n {
			c.completed(f, &c.wcs[i])
		}
		c.flush(f)
	}
	c.more.Queue(f)
}

//level:dispatch noalloc
func (c *Channel) runMore(f *dispatch.Frame) { c.notified(f, c.res.cq) }

// flush posts what a batch has collected, and passes on what has become free.
func (c *Channel) flush(f *dispatch.Frame) {
	if c.state == chanFailing || c.state == chanDown {
		c.inv, c.recvs = c.inv[:0], c.recvs[:0]
		if c.state == chanFailing && c.flushed() {
			c.finishDown(f)
		}
		return
	}
	c.postRecv(f) // first: what is sent next may be answered at once
	c.postInv(f)
	c.pump(f)
	c.offer(f)
}

// offer tells the owner that there is room, if it has asked, and Logout that nothing is outstanding.
func (c *Channel) offer(f *dispatch.Frame) {
	switch c.state {
	case chanUp:
		if c.wanting && c.free.n > 0 && c.mayCommand() {
			c.wanting = false
			if c.ready != nil {
				c.ready(f, c)
			}
		}
	case chanLeaving:
		if c.idle != nil && c.quiet() {
			close(c.idle)
			c.idle = nil
		}
	}
}

// completed handles one completion.
func (c *Channel) completed(f *dispatch.Frame, wc *verbs.WC) {
	kind, i := wc.ID&wrKindMask, uint32(wc.ID)
	switch kind {
	case wrDrainSend, wrDrainRecv:
		c.drains--
		return
	}
	if wc.Status != verbs.Success {
		c.fail(f, DownError{Cause: CauseTransport, Op: opOf(kind), Status: wc.Status})
		return
	}
	switch kind {
	case wrSend:
		s := &c.slots[i]
		s.sendDone = true
		if s.state != slotSent {
			c.finish(f, s)
		}
	case wrInv:
		c.finish(f, &c.slots[i])
	case wrRecv:
		c.received(f, i, c.res.rx(i)[:min(int(wc.ByteLen), c.recvLen)])
	case wrTask:
		t := &c.tasks[i]
		t.sendDone = true
		t.used = t.req != nil
	case wrAnswer:
		c.repost(f, i)
	case wrLogout:
		c.tell()
	}
}

// opOf returns the opcode of a kind of work request; failed completions need not say it.
func opOf(kind uint64) verbs.Opcode {
	switch kind {
	case wrBind:
		return verbs.BindWindow
	case wrInv:
		return verbs.LocalInv
	case wrRecv:
		return verbs.Recv
	}
	return verbs.Send
}

// finish ends a slot's request: nothing can reach its memory any more.
func (c *Channel) finish(f *dispatch.Frame, s *slot) {
	r := s.req
	if s.state == slotGivenUp {
		r.Outcome = Aborted
		r.clear()
	}
	s.req, s.state, r.slot = nil, slotFree, nil
	c.free.push(s)
	f.Completing(dispatch.LayerSRP)
	r.Done(f, r)
	f.Completed(dispatch.LayerSRP)
}

// runLater ends what was given up when nothing of it was in the queues.
//
//level:dispatch noalloc
func (c *Channel) runLater(f *dispatch.Frame) {
	if c.state == chanFailing || c.state == chanDown {
		return // they have ended with the channel, or will
	}
	for c.ending.head != nil {
		c.finish(f, c.ending.pop())
	}
	c.flush(f)
}

// noOpcode stands for the type of an information unit that has no bytes.
const noOpcode Opcode = 0xff

// received handles an information unit, in the receive i.
func (c *Channel) received(f *dispatch.Frame, i uint32, b []byte) {
	op, tag, ok := Peek(b)
	if !ok {
		e := FormatError{IU: noOpcode, Field: "length received", Rule: AtLeast, Got: uint64(len(b)), Want: HeaderLen}
		if len(b) > 0 {
			e.IU = Opcode(b[0])
		}
		c.violated(f, &e)
		return
	}
	var err error
	switch op {
	case OpResponse:
		if err = c.rsp.Decode(b); err == nil {
			c.handleRSP(f)
		} else {
			c.violated(f, &c.rsp.fault.err)
		}
	case OpCredReq:
		if err = c.cred.Decode(b); err != nil {
			c.violated(f, &c.cred.fault.err)
			break
		}
		c.stats.CreditReqs++
		c.credited(f, op, c.cred.RequestLimitDelta)
		c.credAn.Tag = tag
		n, _ := c.credAn.Encode(c.res.answer(i))
		c.answer(f, i, n)
		return
	case OpAERReq:
		if err = c.aer.Decode(b); err != nil {
			c.violated(f, &c.aer.fault.err)
			break
		}
		c.stats.AsyncEvents++
		c.credited(f, op, c.aer.RequestLimitDelta)
		c.tellEvent(f, ChannelEvent{Kind: EventAsync, LUN: scsi.LUNFromBytes(c.aer.LUN), Sense: c.aer.Sense})
		c.aerAn.Tag = tag
		n, _ := c.aerAn.Encode(c.res.answer(i))
		c.answer(f, i, n)
		return
	case OpTLogout:
		if err = c.tlo.Decode(b); err != nil {
			c.violated(f, &c.tlo.fault.err)
			break
		}
		if c.state == chanUp || c.state == chanLeaving {
			c.tellEvent(f, ChannelEvent{Kind: EventTargetLogout, Logout: c.tlo.Reason})
		}
		c.fail(f, DownError{Cause: CauseTargetLogout, Logout: c.tlo.Reason})
	default:
		c.stats.UnknownIUs++
	}
	c.repost(f, i)
}

// credited takes a REQUEST LIMIT DELTA.
func (c *Channel) credited(f *dispatch.Frame, op Opcode, delta int32) {
	if !c.credit.add(delta) {
		c.violated(f, &FormatError{IU: op, Field: "request limit", Rule: AtMost, Got: uint64(c.credit.avail), Want: maxCredit})
	}
}

// handleRSP handles the response in c.rsp.
//
//level:dispatch noalloc
func (c *Channel) handleRSP(f *dispatch.Frame) {
	c.credited(f, OpResponse, c.rsp.RequestLimitDelta)
	channel, index, gen := splitTag(c.rsp.Tag)
	at := int(index)
	switch {
	case int(channel) != c.index || at >= len(c.slots)+len(c.tasks):
		c.stats.UnknownTags++
	case at >= len(c.slots):
		c.taskAnswered(f, &c.tasks[at-len(c.slots)], gen)
	default:
		s := &c.slots[at]
		if s.gen != gen || s.state != slotSent {
			c.stale(gen, s.gen)
			return
		}
		c.stats.Responses++
		c.credit.ended()
		s.state = slotAnswered
		c.result(s)
		switch {
		case s.bound > 0:
			if c.state != chanFailing {
				c.invalidate(f, s)
			}
		case s.sendDone:
			c.finish(f, s)
		}
	}
}

// stale counts a response that nobody waits for: late, if its tag was in use once.
func (c *Channel) stale(gen, now uint32) {
	if now-gen < 1<<31 && gen != 0 {
		c.stats.Late++
	} else {
		c.stats.UnknownTags++
	}
}

// result takes over what the response in c.rsp says about a slot's request.
func (c *Channel) result(s *slot) {
	r, p := s.req, &c.rsp
	r.clear()
	r.Outcome, r.Status, r.Flags = Completed, scsi.Status(p.Status), p.Flags
	r.DataOutResidual, r.DataInResidual = p.DataOutResidual, p.DataInResidual
	if code, ok := p.ResponseCode(); ok && code != ResponseComplete {
		r.Outcome, r.Code = Refused, code
		return
	}
	r.Sense = r.sense[:copy(r.sense[:], p.Sense)]
	r.Transferred = r.Length
	switch {
	case r.Direction == DataIn && p.Flags&DataInUnder != 0:
		r.Transferred -= min(r.Length, p.DataInResidual)
	case r.Direction == DataOut && p.Flags&DataOutUnder != 0:
		r.Transferred -= min(r.Length, p.DataOutResidual)
	}
	if r.Direction == DataOut && r.Status == scsi.StatusGood {
		c.stats.BytesOut += uint64(r.Transferred)
	}
	if r.Direction == DataIn {
		c.stats.BytesIn += uint64(r.Transferred)
		if c.sess.cfg.Protect == ProtectBounce {
			c.copyIn(&s.bounce[0], r, int(r.Transferred))
		}
	}
}

func (r *Request) clear() {
	r.Status, r.Code, r.Flags = 0, 0, 0
	r.DataOutResidual, r.DataInResidual, r.Transferred = 0, 0, 0
	r.Sense = nil
}

// answer sends n bytes of the answer buffer of receive i. The receive is posted again when that is out: a target that
// asks faster than it takes the answers waits for receives.
func (c *Channel) answer(f *dispatch.Frame, i uint32, n int) {
	if c.state == chanFailing || c.state == chanDown {
		return
	}
	wr := &c.wrs[0]
	*wr = verbs.WR{ID: wrAnswer | uint64(i), Op: verbs.Send, Flags: verbs.Signaled, NumSGE: 1}
	wr.SGE[0] = verbs.SGE{Addr: c.res.answerAddr(i), Length: uint32(n), LKey: c.res.mr.LKey()}
	if _, err := c.res.qp.Post(f, c.wrs[:1]); err != nil {
		c.fail(f, DownError{Cause: CauseTransport, Op: verbs.Send, Status: verbs.LocQPOpErr})
	}
}

// repost collects receives to post again.
func (c *Channel) repost(f *dispatch.Frame, i uint32) {
	if len(c.recvs) == cap(c.recvs) {
		c.postRecv(f)
	}
	c.recvs = dispatch.Append(c.recvs, c.res.recv(i))
}

func (c *Channel) postRecv(f *dispatch.Frame) {
	if len(c.recvs) == 0 {
		return
	}
	_, err := c.res.qp.PostRecv(f, c.recvs)
	c.recvs = c.recvs[:0]
	if err != nil {
		c.fail(f, DownError{Cause: CauseTransport, Op: verbs.Recv, Status: verbs.LocQPOpErr})
	}
}

// violated ends the channel because of what the target sent.
func (c *Channel) violated(f *dispatch.Frame, e *FormatError) {
	c.fail(f, DownError{Cause: CauseProtocol, Format: *e})
}

// tellEvent calls the owner's Event.
func (c *Channel) tellEvent(f *dispatch.Frame, e ChannelEvent) {
	if c.event != nil {
		c.ev = e
		c.event(f, c, &c.ev)
	}
}
