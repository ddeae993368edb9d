package target

import (
	"context"

	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// leave is what SRP_I_LOGOUT asks for: what the channel has is answered, then it is disconnected.
func (c *channel) leave(f *dispatch.Frame) {
	c.state, c.cause = chanLeaving, causeILogout // flush hangs up when nothing is outstanding
}

// violated ends the channel because of what the initiator sent.
func (c *channel) violated(f *dispatch.Frame) {
	if c.state == chanUp || c.state == chanLeaving {
		c.cause = causeProtocol
		c.tell(f, srp.LogoutInvalidIUType)
	}
}

// logout tells the initiator to go, and aborts what it has outstanding.
func (c *channel) logout(f *dispatch.Frame, reason srp.LogoutReason) {
	if c.cause == causeNone {
		c.cause = causeTLogout
	}
	switch c.state {
	case chanBuilding:
		switch {
		case c.nexus.waiting == c:
			c.nexus.waiting = nil
			c.give(f, srp.RejectInsufficientResource)
		case c.patience.Cancel(f):
			c.answer(f)
		}
	case chanAccepting:
		c.fail(f, causeTLogout)
	case chanUp, chanLeaving:
		c.tell(f, reason)
	}
}

// tell sends SRP_T_LOGOUT; when that is taken, or after logoutTime, the channel is disconnected.
func (c *channel) tell(f *dispatch.Frame, reason srp.LogoutReason) {
	c.flush(f)
	if c.state >= chanHangingUp {
		return
	}
	c.state = chanHangingUp
	c.abort(f)
	b, addr := c.res.last()
	c.tlo = srp.TLogout{Reason: reason}
	n, err := c.tlo.Encode(b)
	if err != nil {
		panic("target: SRP_T_LOGOUT does not fit its own length: " + err.Error())
	}
	c.sends = dispatch.Append(c.sends[:0], verbs.WR{ID: wrLogout, Op: verbs.Send, Flags: verbs.Signaled, NumSGE: 1})
	c.sends[0].SGE[0] = verbs.SGE{Addr: addr, Length: uint32(n), LKey: c.res.mr.LKey()}
	_, err = c.res.qp.Post(f, c.sends)
	c.sends = c.sends[:0]
	if err != nil {
		c.hangUp(f)
		return
	}
	c.timer.Arm(f, logoutTime)
}

// abort aborts the channel's tasks, as its nexus would.
func (c *channel) abort(f *dispatch.Frame) {
	for i := range c.commands {
		if k := &c.commands[i]; k.inSet {
			c.group.server.Abort(f, &k.task)
		}
	}
}

// hangUp disconnects.
func (c *channel) hangUp(f *dispatch.Frame) {
	if c.hungUp || c.state >= chanFailing {
		return
	}
	c.hungUp, c.state = true, chanHangingUp
	c.timer.Cancel(f)
	c.res.qp.Disconnect(&c.disconnect)
	c.disconnect.Then(c.then.parted)
}

func (c *channel) parted(f *dispatch.Frame, _ verbs.None, _ error) { c.fail(f, causeDisconnected) }

// event is told of the QP's own troubles.
func (c *channel) event(f *dispatch.Frame, _ *verbs.QP, e verbs.QPEvent) {
	switch e {
	case verbs.Disconnected:
		c.fail(f, causeDisconnected)
	default:
		c.fail(f, causeTransport)
		if e == verbs.CQOverrun {
			c.closeQP(f)
		}
	}
}

// fail takes the QP to Error and waits for everything posted to come back. The first cause counts.
func (c *channel) fail(f *dispatch.Frame, why cause) {
	if c.cause == causeNone {
		c.cause = why
	}
	if c.state >= chanFailing || c.state == chanBuilding {
		return
	}
	c.state = chanFailing
	c.timer.Cancel(f)
	c.sends, c.recvs = c.sends[:0], c.recvs[:0]
	c.abort(f)
	c.drains = 2
	c.res.qp.Modify(&c.modify, verbs.Error)
	c.modify.Then(c.then.errored)
}

// errored posts the markers: when both are back, so is everything before them.
func (c *channel) errored(f *dispatch.Frame, _ verbs.None, err error) {
	if err == nil {
		c.sends = dispatch.Append(c.sends[:0], verbs.WR{ID: wrDrainSend, Op: verbs.Send, Flags: verbs.Signaled})
		_, err = c.res.qp.Post(f, c.sends)
		c.sends = c.sends[:0]
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
func (c *channel) closeQP(f *dispatch.Frame) {
	if c.qpClosed {
		return
	}
	c.qpClosed = true
	c.res.qp.Close(&c.closeQPOp)
	c.closeQPOp.Then(c.then.forgotten)
}

func (c *channel) forgotten(f *dispatch.Frame, _ verbs.None, _ error) {
	c.res.qp, c.drains = nil, 0
	c.flushed(f)
}

// flushed ends what is outstanding once nothing of it is with the device, and takes the channel down when the store has
// let go too.
func (c *channel) flushed(f *dispatch.Frame) {
	if c.state != chanFailing || c.drains > 0 {
		return
	}
	if !c.swept {
		c.swept = true
		c.ready, c.parked, c.backlog.n = list{}, list{}, 0
		for i := range c.commands {
			k := &c.commands[i]
			switch k.state {
			case cmdFree, cmdBlocked, cmdWorking, cmdManaging:
				continue
			case cmdBuffering:
				k.cells.waiting.remove(k)
			case cmdHeld:
				k.unhold(f)
			}
			k.finish(f)
		}
	}
	c.recvs = c.recvs[:0]
	if c.busy == 0 {
		c.dispose(f)
	}
}

// dispose gives everything back.
func (c *channel) dispose(f *dispatch.Frame) {
	c.state = chanDisposing
	c.port.worker.Queue(&c.endWork)
}

func (c *channel) runDispose(context.Context) {
	cfg := &c.port.cfg
	err := c.res.dispose()
	switch {
	case err != nil:
		cfg.Log.Error("channel not given back", "target", cfg.ID, "initiator", c.login.Initiator, "channel", c.id, "err", err)
	case c.loggedIn:
		cfg.Log.Info("initiator gone", "target", cfg.ID, "initiator", c.login.Initiator, "peer", peerText(c.peer),
			"channel", c.id, "cause", c.cause.String())
	}
	c.disposed.Post()
}

// runDisposed is the channel's end. A login that waited for it goes on.
func (c *channel) runDisposed(f *dispatch.Frame) {
	n := c.nexus
	n.remove(c)
	c.port.forget(f, c)
	if w := n.waiting; w != nil && n.channels == nil {
		n.group.server.NexusLost(f, &n.scsi)
		n.waiting, n.scsi = nil, lun.Nexus{Initiator: n.id} // the old nexus is lost, also to the units
		w.start(f)
	}
}

// forget takes the channel out of the port.
func (p *Port) forget(f *dispatch.Frame, c *channel) {
	for at := &p.channels; *at != nil; at = &(*at).next {
		if *at == c {
			*at = c.next
			p.count--
			break
		}
	}
	p.drop(f, c.nexus)
	p.left(f)
}
