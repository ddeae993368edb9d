package target

import (
	"context"

	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// A login's way:
//
//	request   Dispatch  checks it, and refuses, or makes a channel
//	build     Passive   memory and verbs objects
//	runBuilt  Dispatch  receives, SRP_LOGIN_RSP in the CM's reply
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
	reason := srp.RejectUnableEstablish
	if err == nil {
		reason = p.judge(&req, r)
	}
	if reason != 0 {
		p.reject(r, req.Tag, reason)
		return
	}
	p.serial++
	c := &channel{port: p, id: p.serial, login: req, peer: r.Peer(), request: r}
	c.more.Init(p.proc, c.runMore)
	c.built.Init(p.proc, c.runBuilt)
	c.disposed.Init(p.proc, c.runDisposed)
	c.timer.Init(p.proc, c.hangUp)
	c.next, p.channels = p.channels, c
	p.count++

	c.nexus = p.nexus(req.Initiator)
	n := c.nexus
	if req.Flags&srp.LoginChannelMask != srp.LoginMultiChannel && n.channels != nil {
		c.result = srp.ChannelsTerminated
		if n.waiting != nil {
			n.waiting.give(f, srp.RejectInsufficientResource) // its initiator has given it up
		}
		n.waiting = c
		for o := n.channels; o != nil; o = o.inNext {
			o.logout(f, srp.LogoutMultiChannel)
		}
		return
	}
	if n.channels != nil {
		c.result = srp.ChannelsMaintained
	}
	c.start(f)
}

// judge returns why a login is refused, or 0.
func (p *Port) judge(req *srp.LoginReq, r *verbs.ConnectRequest) srp.RejectReason {
	n := p.known(req.Initiator)
	multi := req.Flags&srp.LoginChannelMask == srp.LoginMultiChannel
	switch {
	case req.MaxITIULen < MinIU:
		return srp.RejectUnableEstablish
	case req.MaxITIULen > uint32(p.cfg.MaxIU):
		return srp.RejectIUTooLarge
	case !p.enabled.Load() || p.closing:
		return srp.RejectInsufficientResource
	case req.Target != p.cfg.ID:
		return srp.RejectUnableAssociate
	case req.BufferFormats == 0 || req.BufferFormats&^p.cfg.Formats != 0:
		return srp.RejectUnsupportedFormat
	}
	if p.cfg.Allow != nil {
		if reason := p.cfg.Allow(req.Initiator, r.Peer()); reason != 0 {
			return reason
		}
	}
	switch {
	case multi && n != nil && n.channels != nil && p.cfg.ChannelsPerNexus == 1:
		return srp.RejectNoMultiChannel
	case multi && n != nil && n.count >= p.cfg.ChannelsPerNexus:
		return srp.RejectChannelLimit
	case p.count >= p.cfg.MaxChannels:
		return srp.RejectInsufficientResource
	}
	return 0
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
			k.task.Init(c.port.server, k)
			k.fn.Init(c.port.server, k)
			c.free.push(k)
		}
		c.backlog.items = make([]struct{ index, length uint32 }, n)
		c.recvs = make([]verbs.RecvWR, 0, n)
		c.sends = make([]verbs.WR, 0, postBatch)
	} else {
		cfg.Log.Warn("login failed", "target", cfg.ID, "initiator", c.login.Initiator, "peer", c.peer.String(), "err", c.buildErr)
	}
	c.built.Post()
}

// runBuilt answers the login.
func (c *channel) runBuilt(f *dispatch.Frame) {
	p := c.port
	if c.buildErr != nil || c.cause != causeNone {
		p.reject(c.request, c.login.Tag, srp.RejectInsufficientResource)
		c.dispose(f)
		return
	}
	rsp := srp.LoginRsp{
		RequestLimitDelta: int32(p.cfg.Credits), Tag: c.login.Tag, MaxITIULen: uint32(p.cfg.MaxIU), MaxTIIULen: maxRspLen,
		BufferFormats: p.cfg.Formats, Flags: c.result,
	}
	off := int(c.login.ImmediateOffset)
	if c.login.Flags&srp.LoginImmediateWanted != 0 && !p.cfg.NoImmediateData && off >= srp.CommandLen && off <= p.cfg.MaxIU {
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
	c.accept.Then(c.accepted)
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
	cfg.Log.Info("initiator logged in", "target", cfg.ID, "initiator", c.login.Initiator, "peer", c.peer.String(), "channel", c.id)
}
