package srp

import (
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Fail ends the channel: everything outstanding ends with ChannelDown once the QP is flushed, so that no remote access
// is possible, then EventDown is told. Level: Dispatch, on the channel's processor.
func (c *Channel) Fail(f *dispatch.Frame) {
	c.mustOwn(f)
	c.fail(f, DownError{Cause: CauseFailed})
}

// fail takes the QP to Error, so that no access of the target can begin or go on, and waits for everything posted to
// come back. The first cause counts; but a flush only shows that there was one.
func (c *Channel) fail(f *dispatch.Frame, why DownError) {
	if c.state == chanFailing || c.state == chanClosed || c.state == chanDown {
		flush := c.down.Status == verbs.WRFlushErr && why.Status != verbs.WRFlushErr
		if c.down.Cause == 0 || flush && c.state == chanFailing {
			c.down = why
		}
		return
	}
	if c.state == chanLeaving && c.parting {
		why = DownError{Cause: CauseLogout} // what comes after SRP_I_LOGOUT is its consequence
	}
	c.down = why
	c.state = chanFailing
	c.drains = 2
	c.tell()
	if why.Cause == CauseOverrun {
		c.closeQP(f)
		return
	}
	c.res.qp.Modify(&c.modify, verbs.Error)
	c.modify.Then(c.errored)
}

// runErrored posts the markers: when both are back, so is everything before them.
func (c *Channel) runErrored(f *dispatch.Frame, _ verbs.None, err error) {
	if c.qpClosed {
		return
	}
	if err == nil {
		c.wrs[0] = verbs.WR{ID: wrDrainSend, Op: verbs.Send, Flags: verbs.Signaled}
		_, err = c.res.qp.Post(f, c.wrs[:1])
	}
	if err == nil {
		c.recvs = dispatch.Append(c.recvs[:0], verbs.RecvWR{ID: wrDrainRecv})
		_, err = c.res.qp.PostRecv(f, c.recvs)
		c.recvs = c.recvs[:0]
	}
	if err != nil {
		c.closeQP(f)
	}
}

// closeQP is the way that works without completions: the device forgets the QP.
func (c *Channel) closeQP(f *dispatch.Frame) {
	if !c.qpClosed {
		c.qpClosed = true
		c.res.qp.Close(&c.closeOp)
		c.closeOp.Then(c.closed)
	}
}

func (c *Channel) runClosed(f *dispatch.Frame, _ verbs.None, _ error) {
	c.finishDown(f)
}

// flushed reports whether nothing that was posted is left.
func (c *Channel) flushed() bool { return c.drains == 0 && !c.qpClosed }

// finishDown ends everything that is outstanding. What was answered before keeps its results.
func (c *Channel) finishDown(f *dispatch.Frame) {
	if c.state != chanFailing {
		return
	}
	c.state = chanDown
	for i := range c.slots {
		s := &c.slots[i]
		switch s.state {
		case slotFree:
			continue
		case slotSent:
			s.req.Outcome = ChannelDown
			s.req.clear()
		}
		c.finish(f, s)
	}
	for i := range c.tasks {
		if t := c.tasks[i].req; t != nil {
			c.tasks[i].req = nil
			t.end(f, ChannelDown, 0)
		}
	}
	for c.waiting.head != nil {
		c.waiting.pop().end(f, ChannelDown, 0)
	}
	if c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
	c.tellEvent(f, ChannelEvent{Kind: EventDown, Err: &c.down})
	close(c.ended)
}

// qpEvent is told of the QP's own troubles.
func (c *Channel) qpEvent(f *dispatch.Frame, _ *verbs.QP, e verbs.QPEvent) {
	switch e {
	case verbs.Disconnected:
		c.fail(f, DownError{Cause: CauseDisconnected})
	case verbs.QPFatal:
		c.fail(f, DownError{Cause: CauseFatal})
	case verbs.CQOverrun:
		if c.state == chanFailing {
			c.closeQP(f)
		}
		c.fail(f, DownError{Cause: CauseOverrun})
	}
}

// tell says that SRP_I_LOGOUT is out, or cannot be.
func (c *Channel) tell() {
	if c.told != nil {
		close(c.told)
		c.told = nil
	}
}

// quiet reports whether neither commands nor task management functions are outstanding.
func (c *Channel) quiet() bool {
	if c.free.n != len(c.slots) || c.waiting.head != nil {
		return false
	}
	for i := range c.tasks {
		if c.tasks[i].req != nil {
			return false
		}
	}
	return true
}
