package soft

import (
	"context"
	"sync/atomic"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// How a connection is made. a is the active side's QP, b the passive side's.
//
//	Connect     a's worker           a.request, timer; the request is posted to
//	runDeliver  listener's processor the consumer sees it
//	Accept      b's worker           answered: b links on its processor, then a on its
//	Reject      anywhere             answered: runReject on a's processor
//	timeout     a's processor        given up
//	Cancel      a's processor        given up
//
// Who takes request.state from open decides; the others find it taken.

// listener takes connection requests of one service.
type listener struct {
	up      *verbs.Listener
	dev     *HCA
	proc    *dispatch.Processor
	service service
	closed  atomic.Bool
}

// Listen registers a service.
func (h *HCA) Listen(ctx context.Context, attr *verbs.ListenAttr, up *verbs.Listener) (verbs.ListenerDriver, error) {
	s := service{h.gid, attr.Address.ServiceID}
	if attr.Address.IsRDMA() {
		if a := attr.Address.Dst.Addr(); !a.IsUnspecified() && GIDOf(a) != h.gid {
			return nil, verbs.ErrNoRoute
		}
		s.id = rdmaService(attr.Address.Dst.Port())
	}
	l := &listener{up: up, dev: h, proc: attr.Processor, service: s}
	fb := h.fabric
	fb.mu.Lock()
	defer fb.mu.Unlock()
	if fb.listeners[s] != nil {
		return nil, verbs.ErrInUse
	}
	fb.listeners[s] = l
	return l, nil
}

// Destroy refuses what has not been delivered: a request that is on its way finds
// closed set.
func (l *listener) Destroy(ctx context.Context) {
	l.closed.Store(true)
	l.dev.fabric.mu.Lock()
	delete(l.dev.fabric.listeners, l.service)
	l.dev.fabric.mu.Unlock()
}

// Connect finds the listener and gives it a request.
func (q *qp) Connect(ctx context.Context, attr *verbs.ConnectAttr) error {
	l, err := q.dev.resolve(&attr.Address)
	if err != nil {
		return err
	}
	r := newRequest(q, l, attr)
	q.proc.Run(func(f *dispatch.Frame) { err = q.await(f, r) })
	if err != nil {
		return err
	}
	r.manage(&Management{
		Kind: ConnectRequest, QPN: q.num, PSN: q.rxPSN, GUID: q.dev.attr.NodeGUID, MTU: mtu,
		ReadsAnswered: attr.ReadsAnswered, ReadsIssued: attr.ReadsIssued,
		RetryCount: attr.RetryCount, RNRRetry: attr.RNRRetry,
		PKey: defaultPKey, ServiceID: r.service(), RDMA: attr.Address.IsRDMA(), SrcPort: r.src.Port(),
		Private: r.private,
	}, true)
	if l == nil {
		r.Reject(verbs.RejectInvalidServe, nil)
		return nil
	}
	r.deliver.Post()
	if l.closed.Load() && r.delivery.CompareAndSwap(undelivered, refused) {
		// Perhaps its processor runs nothing any more.
		r.Reject(verbs.RejectInvalidServe, nil)
	}
	return nil
}

// resolve finds what listens at an address: nil if nothing does.
func (h *HCA) resolve(a *verbs.Address) (*listener, error) {
	s := service{a.DGID, a.ServiceID}
	switch {
	case a.IsRDMA():
		s = service{GIDOf(a.Dst.Addr()), rdmaService(a.Dst.Port())}
	case a.PKey != 0 && a.PKey&0x7fff != defaultPKey&0x7fff, a.GIDIndex != 0:
		return nil, verbs.ErrInvalid // the port has one of each
	}
	fb := h.fabric
	fb.mu.Lock()
	defer fb.mu.Unlock()
	if fb.hcas[s.gid] == nil {
		return nil, verbs.ErrNoRoute
	}
	return fb.listeners[s], nil
}

// await makes r the request that q waits for.
func (q *qp) await(f *dispatch.Frame, r *request) error {
	switch {
	case q.closing:
		return verbs.ErrClosed
	case !q.linkable():
		return verbs.ErrState
	}
	q.state.Store(uint32(verbs.Init))
	q.request = r
	d := r.attr.Timeout
	if d == 0 {
		d = defaultConnectTimeout
	}
	q.timer.Arm(f, d)
	return nil
}

// linkable reports whether a connection can be made with q.
func (q *qp) linkable() bool {
	s := q.State()
	return (s == verbs.Reset || s == verbs.Init) && q.request == nil && !q.closing
}

// connectTimeout gives up.
func (q *qp) connectTimeout(f *dispatch.Frame) { q.giveUp(f, verbs.ErrTimeout) }

// giveUp ends a pending Connect, unless it has been answered.
func (q *qp) giveUp(f *dispatch.Frame, why error) {
	r := q.request
	if r == nil || !r.state.CompareAndSwap(requestOpen, requestGivenUp) {
		return
	}
	q.request = nil
	q.timer.Cancel(f)
	r.manage(&Management{Kind: Rejected, Refused: ConnectRequest, Reason: verbs.RejectTimeout}, true)
	q.up.ConnectFailed(why)
}

// Accept connects b, of the passive side, with the QP that asked.
func (r *request) Accept(ctx context.Context, drv verbs.QPDriver, attr *verbs.AcceptAttr) error {
	b, ok := verbs.Find[*qp](drv)
	if !ok || b.dev != r.listener.dev {
		return verbs.ErrInvalid
	}
	a := r.active
	var err error
	// The passive side must be able to receive before the active side may send.
	b.proc.Run(func(f *dispatch.Frame) {
		switch {
		case b.closing:
			err = verbs.ErrClosed
		case !b.linkable():
			err = verbs.ErrState
		case !r.state.CompareAndSwap(requestOpen, requestAnswered):
			err = verbs.ErrTimeout
		default:
			r.conn.passive = b
			b.link(a, &r.conn, r.attr.RNRRetry)
		}
	})
	if err != nil {
		return err
	}
	r.manage(&Management{
		Kind: ConnectReply, QPN: b.num, PSN: b.rxPSN, GUID: b.dev.attr.NodeGUID, RNRRetry: attr.RNRRetry,
		ReadsAnswered: attr.ReadsAnswered, ReadsIssued: attr.ReadsIssued, Private: attr.Private,
	}, false)
	// a exists: its Connect is pending, and now only this ends it.
	a.proc.Run(func(f *dispatch.Frame) { err = r.establish(f, attr) })
	if err != nil {
		b.proc.Run(b.enterError)
		return err
	}
	b.up.AcceptDone(nil)
	return nil
}

// establish is the arrival of the reply at the active side.
func (r *request) establish(f *dispatch.Frame, attr *verbs.AcceptAttr) error {
	a, b := r.active, r.conn.passive
	a.request = nil
	a.timer.Cancel(f)
	if !a.linkable() {
		// It is being closed, or its consumer took it to Error. b's engine would run here.
		b.letGo(f)
		r.manage(&Management{Kind: Rejected, Refused: ConnectReply, Reason: verbs.RejectConsumer}, true)
		a.up.ConnectFailed(verbs.ErrClosed)
		return verbs.ErrTimeout
	}
	a.link(b, &r.conn, attr.RNRRetry)
	r.manage(&Management{Kind: ReadyToUse}, true)
	if b.attached.Load() {
		b.away.Queue(f) // what it was given to send meanwhile
	}
	if b.left.Load() {
		a.hangup.Queue(f) // what it queued itself came too early
	}
	var reply verbs.ConnectReply
	reply.SetPrivate(attr.Private)
	reply.ReadsAnswered, reply.ReadsIssued = attr.ReadsAnswered, attr.ReadsIssued
	a.up.Connected(reply)
	return nil
}

// link makes q the end of a connection with p. On q's processor.
func (q *qp) link(p *qp, c *connection, rnrRetry uint8) {
	q.peer, q.conn, q.linked = p, c, true
	q.left.Store(false)
	q.psn = p.rxPSN
	q.rnrRetry, q.rnrLeft = rnrRetry, rnrRetry
	q.away.Init(p.proc, q.runAway)
	q.rnr.Init(p.proc, q.runAway)
	if p.proc != q.proc {
		q.part()
	}
	q.attached.Store(true)
	q.state.Store(uint32(verbs.RTS))
}

// Cancel ends what is pending and flushes what is posted. Nothing begins later.
func (q *qp) Cancel(ctx context.Context) {
	q.proc.Run(func(f *dispatch.Frame) {
		q.closing = true
		q.leave(f)
	})
	q.up.DisconnectDone()
}

// Disconnect ends the connection at both ends. The peer is told without being
// waited for.
func (q *qp) Disconnect(ctx context.Context) {
	q.proc.Run(q.leave)
	q.up.DisconnectDone()
}

// leave ends what this end has begun, and the connection.
func (q *qp) leave(f *dispatch.Frame) {
	q.giveUp(f, verbs.ErrClosed)
	first := !q.left.Swap(true)
	q.enterError(f)
	if p := q.peer; first && p != nil && !q.gone {
		q.conn.disconnect(q, DisconnectRequest)
		p.hangup.Queue(f)
	}
}

// runHangup is the arrival of the peer's DREQ.
func (q *qp) runHangup(f *dispatch.Frame) {
	if !q.linked || q.gone || !q.peer.left.Load() {
		return
	}
	q.gone = true
	q.conn.disconnect(q, DisconnectReply)
	q.enterError(f)
	if !q.left.Load() {
		q.up.Notify(verbs.Disconnected)
	}
}
