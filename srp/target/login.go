package target

import (
	"context"

	"minisrp/srp"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// A login's way:
//
//	request   Dispatch  checks it, and refuses, or makes a channel in admit
//	build     Passive   memory and verbs objects
//	answer    Dispatch  receives, SRP_LOGIN_RSP in the CM's reply
//	accepted  Dispatch  up: what has come meanwhile is taken

// request is given each connection request.
func (p *Port) request(f *dispatch.Frame, l *verbs.Listener, r *verbs.ConnectRequest) {
	var req srp.LoginReq
	var err error
	at := l.Address()
	if at.IsRDMA() {
		err = req.DecodeRDMACM(r.Private())
	} else {
		err = req.Decode(r.Private())
	}
	if err != nil {
		p.refuse(f, r, &req, refusal{reason: srp.RejectUnableEstablish})
		return
	}
	var x fault.LoginEffect
	if p.faults != nil {
		p.faults.Login(f, &fault.Login{Origin: fault.Origin{Initiator: req.Initiator, Peer: r.Peer()}, Request: &req}, &x)
	}
	g, no := p.judge(&req, r, &x)
	if no.reason != 0 || no.cm != 0 {
		p.refuse(f, r, &req, no)
		return
	}
	p.admit(f, g, &req, r, &x)
}

// admit makes a channel, and builds it when nothing of what it ends is left.
func (p *Port) admit(f *dispatch.Frame, g *Group, req *srp.LoginReq, r *verbs.ConnectRequest, x *fault.LoginEffect) {
	p.serial++
	c := &channel{
		port: p, group: g, id: p.serial, login: *req, peer: r.Peer(), request: r, trouble: *x, begun: f.Now(),
		maxIU: p.cfg.MaxIU, limit: int32(p.cfg.Credits),
	}
	if x.IULimit > 0 {
		c.maxIU = min(c.maxIU, x.IULimit)
	}
	if x.Credits > 0 {
		c.limit = min(c.limit, int32(x.Credits))
	}
	c.more.Init(p.proc, c.runMore)
	c.built.Init(p.proc, c.runBuilt)
	c.disposed.Init(p.proc, c.runDisposed)
	c.timer.Init(p.proc, c.hangUp)
	c.patience.Init(p.proc, c.answer)
	c.endWork.Init(c.runDispose)
	c.then = steps{c.accepted, c.parted, c.errored, c.forgotten}
	c.next, p.channels = p.channels, c
	p.count++

	c.nexus = p.nexus(req.Initiator, g)
	n := c.nexus
	switch multi := req.Flags&srp.LoginChannelMask == srp.LoginMultiChannel; {
	case !multi && n.channels != nil:
		c.result = srp.ChannelsTerminated
		if n.waiting != nil {
			n.waiting.give(f, srp.RejectInsufficientResource) // its initiator has given it up
		}
		n.waiting = c
		for o := n.channels; o != nil; o = o.inNext {
			o.logout(f, srp.LogoutMultiChannel)
		}
		return
	case n.channels != nil, multi && p.cfg.LikeLinux:
		c.result = srp.ChannelsMaintained
	}
	c.start(f)
}

// judge returns the group of a login, or why it is refused.
func (p *Port) judge(req *srp.LoginReq, r *verbs.ConnectRequest, x *fault.LoginEffect) (*Group, refusal) {
	no := func(reason srp.RejectReason) (*Group, refusal) { return nil, refusal{reason: reason} }
	most := p.cfg.MaxIU
	if x.IULimit > 0 {
		most = min(most, x.IULimit)
	}
	switch {
	case x.CM != 0:
		return nil, refusal{cm: x.CM}
	case x.Reject != 0:
		return no(x.Reject)
	case req.MaxITIULen < MinIU && p.cfg.LikeLinux, req.MaxITIULen > uint32(most):
		return no(srp.RejectIUTooLarge)
	case req.MaxITIULen < MinIU:
		return no(srp.RejectUnableEstablish)
	case !p.enabled.Load() || p.closing:
		return no(srp.RejectInsufficientResource)
	case req.Target != p.cfg.ID && req.Target != p.reversed:
		return no(srp.RejectUnableAssociate)
	case (req.BufferFormats == 0 || req.BufferFormats&^p.cfg.Formats != 0) && !p.cfg.LikeLinux:
		return no(srp.RejectUnsupportedFormat)
	}
	g := p.groupOf(req.Initiator, r.Peer())
	if g == nil {
		reason := srp.RejectUnableAssociate
		if p.cfg.LikeLinux {
			reason = srp.RejectChannelLimit
		}
		return nil, refusal{reason: reason, unknown: true}
	}
	return g, refusal{reason: p.judgeChannels(req, g)}
}

// judgeChannels returns why an initiator that may log in may not have the channel that it wants, or 0.
func (p *Port) judgeChannels(req *srp.LoginReq, g *Group) srp.RejectReason {
	n := p.known(req.Initiator)
	action := req.Flags & srp.LoginChannelMask
	multi, first := action == srp.LoginMultiChannel, n == nil || n.channels == nil
	switch {
	case n != nil && n.group != g:
		return srp.RejectUnableAssociate // its other channels come from where another group is named
	case p.cfg.StrictChannels && action > srp.LoginMultiChannel:
		return srp.RejectUnableEstablish
	case p.cfg.StrictChannels && multi && first:
		return srp.RejectUnableAssociate
	case multi && !first && p.cfg.ChannelsPerNexus == 1:
		return srp.RejectNoMultiChannel
	case multi && n != nil && n.count >= p.cfg.ChannelsPerNexus:
		return srp.RejectChannelLimit
	case p.count >= p.cfg.MaxChannels:
		return srp.RejectInsufficientResource
	}
	return 0
}

// refuse answers a connection request with what is said in no.
func (p *Port) refuse(f *dispatch.Frame, r *verbs.ConnectRequest, req *srp.LoginReq, no refusal) {
	no.id, no.peer = req.Initiator, r.Peer()
	if no.cm != 0 {
		r.Reject(no.cm, nil)
	} else {
		p.reject(r, req.Tag, no.reason)
	}
	p.refused.note(f, no)
}

// reject answers a connection request with SRP_LOGIN_REJ.
func (p *Port) reject(r *verbs.ConnectRequest, tag uint64, reason srp.RejectReason) {
	var b [srp.LoginRejLen]byte
	rej := srp.LoginRej{Reason: reason, Tag: tag, BufferFormats: p.cfg.Formats}
	if _, err := rej.Encode(b[:]); err != nil {
		panic("target: SRP_LOGIN_REJ does not fit its own length: " + err.Error())
	}
	r.Reject(verbs.RejectConsumer, b[:])
}

// start begins to build the channel.
func (c *channel) start(f *dispatch.Frame) {
	c.nexus.add(c)
	c.buildWork.Init(c.build)
	c.port.worker.Queue(&c.buildWork)
}

// give ends a login that has nothing yet.
func (c *channel) give(f *dispatch.Frame, reason srp.RejectReason) {
	c.port.reject(c.request, c.login.Tag, reason)
	c.port.forget(f, c)
}

// build makes what a channel needs.
func (c *channel) build(ctx context.Context) {
	cfg := &c.port.cfg
	n := cfg.receives()
	if c.buildErr = c.res.build(ctx, c); c.buildErr == nil {
		c.commands = make([]command, n)
		for i := range c.commands {
			k := &c.commands[i]
			k.c, k.index = c, uint32(i)
			k.task.Init(c.group.server, k)
			k.fn.Init(c.group.server, k)
			k.timer.Init(c.port.proc, k.awake)
			c.free.push(k)
		}
		c.backlog.items = make([]struct{ index, length uint32 }, n)
		c.recvs = make([]verbs.RecvWR, 0, n)
		c.sends = make([]verbs.WR, 0, postBatch)
	} else {
		cfg.Log.Warn("login failed", "target", cfg.ID, "initiator", c.login.Initiator, "peer", peerText(c.peer), "err", c.buildErr)
	}
	c.built.Post()
}

// runBuilt answers the login, at once unless a fault says otherwise.
func (c *channel) runBuilt(f *dispatch.Frame) {
	if c.trouble.Delay > 0 && c.buildErr == nil && c.cause == causeNone {
		c.patience.Arm(f, c.trouble.Delay)
		return
	}
	c.answer(f)
}

// answer answers the login.
func (c *channel) answer(f *dispatch.Frame) {
	p := c.port
	if c.buildErr != nil || c.cause != causeNone {
		p.reject(c.request, c.login.Tag, srp.RejectInsufficientResource)
		c.dispose(f)
		return
	}
	rsp := srp.LoginRsp{
		RequestLimitDelta: c.limit, Tag: c.login.Tag, MaxITIULen: c.allowedIU(), MaxTIIULen: maxRspLen,
		BufferFormats: p.cfg.Formats, Flags: c.result,
	}
	off := int(c.login.ImmediateOffset)
	if c.login.Flags&srp.LoginImmediateWanted != 0 && !p.cfg.NoImmediateData && off >= srp.CommandLen && off <= c.maxIU {
		c.immediate = off
		rsp.Flags |= srp.ImmediateSupported
	}
	n, err := rsp.Encode(c.reply[:])
	if err != nil {
		panic("target: SRP_LOGIN_RSP does not fit its own length: " + err.Error())
	}
	c.state = chanAccepting
	for i := range c.commands {
		c.repost(uint32(i))
	}
	c.flush(f)
	if c.state != chanAccepting {
		p.reject(c.request, c.login.Tag, srp.RejectInsufficientResource)
		return
	}
	c.res.cq.Arm(f)
	c.acceptAttr = verbs.AcceptAttr{
		Request: c.request, Private: c.reply[:n], RNRRetry: rnrForEver,
		ReadsIssued: min(readsIssued, c.request.ReadsAnswered, p.cfg.Device.Attr().MaxReadAtomic),
	}
	c.res.qp.Accept(&c.accept, &c.acceptAttr)
	c.accept.Then(c.then.accepted)
}

// allowedIU is the MAXIMUM INITIATOR TO TARGET IU LENGTH of the response.
func (c *channel) allowedIU() uint32 {
	switch {
	case c.trouble.MaxIU > 0:
		return uint32(c.trouble.MaxIU)
	case c.login.MaxITIULen == winOFEDIU && c.login.Flags&srp.LoginImmediateWanted == 0:
		return min(uint32(c.maxIU), winOFEDAllowed)
	}
	return uint32(c.maxIU)
}

// accepted lets the channel go.
func (c *channel) accepted(f *dispatch.Frame, _ verbs.None, err error) {
	if err != nil {
		c.port.reject(c.request, c.login.Tag, srp.RejectInsufficientResource)
		c.fail(f, causeLogin)
	}
	c.request = nil
	if c.state != chanAccepting {
		return
	}
	c.state, c.loggedIn = chanUp, true
	c.logWork.Init(c.logLogin)
	c.port.worker.Queue(&c.logWork)
	c.settle(f)
}

// logLogin runs on the port's worker, as what waits may not log.
func (c *channel) logLogin(context.Context) {
	cfg := &c.port.cfg
	args := []any{"target", cfg.ID, "initiator", c.login.Initiator, "peer", peerText(c.peer), "channel", c.id}
	if g := c.group.Name(); g != "" {
		args = append(args, "group", g)
	}
	for range c.group.server.Units {
		cfg.Log.Info("initiator logged in", args...)
		return
	}
	cfg.Log.Warn("initiator logged in, and there is no unit for it", args...)
}
