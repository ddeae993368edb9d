package soft

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

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

func (l *listener) Destroy(ctx context.Context) {
	l.closed.Store(true)
	l.dev.fabric.mu.Lock()
	delete(l.dev.fabric.listeners, l.service)
	l.dev.fabric.mu.Unlock()
}

// request is a connection that is being made: from the active side's Connect until
// the passive side has answered or the active side has given up.
type request struct {
	fabric   *Fabric
	active   *qp
	listener *listener
	attr     verbs.ConnectAttr
	private  []byte
	deliver  dispatch.DPC
	state    atomic.Uint32 // requestOpen until one side has taken it
	commID   uint32
	passID   uint32
	srcPort  uint16
	up       *verbs.ConnectRequest
	reject   dispatch.DPC // on the active side's processor
	reason   verbs.RejectReason
	answer   [verbs.MaxRejectPrivate]byte
	answered int
}

const (
	requestOpen uint32 = iota
	requestAnswered
	requestGivenUp
)

// Connect finds the listener and gives it a request.
func (q *qp) Connect(ctx context.Context, attr *verbs.ConnectAttr) error {
	fb := q.dev.fabric
	s := service{attr.Address.DGID, attr.Address.ServiceID}
	if attr.Address.IsRDMA() {
		s = service{GIDOf(attr.Address.Dst.Addr()), rdmaService(attr.Address.Dst.Port())}
	}
	fb.mu.Lock()
	l, h := fb.listeners[s], fb.hcas[s.gid]
	fb.mu.Unlock()
	if h == nil {
		return verbs.ErrNoRoute
	}
	r := &request{fabric: fb, active: q, listener: l, attr: *attr, commID: rand.Uint32(), passID: rand.Uint32()}
	r.srcPort = attr.Address.Src.Port()
	if r.srcPort == 0 {
		r.srcPort = uint16(0xc000 | rand.Uint32()&0x3fff)
	}
	r.private = append(r.private, attr.Private...)
	r.manage(ConnectRequest, true, r.private, 0)
	if l == nil {
		r.manage(Rejected, false, nil, verbs.RejectInvalidServe)
		return &verbs.RejectError{Reason: verbs.RejectInvalidServe}
	}
	r.deliver.Init(l.proc, r.runDeliver)
	r.reject.Init(q.proc, r.runReject)
	var err error
	call(q.proc, func(f *dispatch.Frame) {
		if s := q.State(); s != verbs.Reset && s != verbs.Init || q.request != nil {
			err = verbs.ErrState
			return
		}
		q.state.Store(uint32(verbs.Init))
		q.request = r
		d := attr.Timeout
		if d == 0 {
			d = defaultConnectTimeout
		}
		q.timer.Arm(f, d)
	})
	if err != nil {
		return err
	}
	r.deliver.Post()
	return nil
}

// runDeliver gives the request to the consumer of the listener.
func (r *request) runDeliver(f *dispatch.Frame) {
	if r.listener.closed.Load() {
		r.Reject(verbs.RejectInvalidServe, nil)
		return
	}
	peer := verbs.Address{DGID: r.active.dev.gid}
	if r.attr.Address.IsRDMA() {
		peer = verbs.Address{
			Src: netip.AddrPortFrom(r.active.dev.addr, r.srcPort),
			Dst: r.attr.Address.Dst,
		}
	}
	r.up = verbs.NewConnectRequest(r, peer, r.private)
	r.up.ReadsAnswered, r.up.ReadsIssued = r.attr.ReadsAnswered, r.attr.ReadsIssued
	r.listener.up.Deliver(f, r.up)
}

// connectTimeout gives up.
func (q *qp) connectTimeout(f *dispatch.Frame) {
	if r := q.request; r != nil && r.state.CompareAndSwap(requestOpen, requestGivenUp) {
		q.request = nil
		q.up.ConnectFailed(verbs.ErrTimeout)
	}
}

// Reject refuses the request.
func (r *request) Reject(reason verbs.RejectReason, private []byte) {
	if r.state.CompareAndSwap(requestOpen, requestAnswered) {
		r.reason = reason
		r.answered = copy(r.answer[:], private)
		r.reject.Post()
	}
}

// runReject tells the active side.
func (r *request) runReject(f *dispatch.Frame) {
	q := r.active
	if q.request == r {
		q.request = nil
		q.timer.Cancel(f)
		q.up.ConnectFailed(&verbs.RejectError{Reason: r.reason, Private: r.answer[:r.answered]})
	}
}

// Accept connects b, of the passive side, with the QP that asked.
func (r *request) Accept(ctx context.Context, drv verbs.QPDriver, attr *verbs.AcceptAttr) error {
	b, ok := drv.(*qp)
	if !ok || b.dev != r.listener.dev {
		return verbs.ErrInvalid
	}
	if !r.state.CompareAndSwap(requestOpen, requestAnswered) {
		return verbs.ErrTimeout
	}
	a := r.active
	r.manage(ConnectReply, false, attr.Private, 0)
	var err error
	// The passive side must be able to receive before the active side may send.
	call(b.proc, func(f *dispatch.Frame) { err = b.link(a, attr.RNRRetry) })
	if err == nil {
		call(a.proc, func(f *dispatch.Frame) {
			if a.request != r {
				err = verbs.ErrTimeout
				return
			}
			a.request = nil
			a.timer.Cancel(f)
			if err = a.link(b, r.attr.RNRRetry); err != nil {
				a.up.ConnectFailed(verbs.ErrClosed)
			} else {
				var reply verbs.ConnectReply
				reply.SetPrivate(attr.Private)
				reply.ReadsAnswered, reply.ReadsIssued = attr.ReadsAnswered, attr.ReadsIssued
				r.manage(ReadyToUse, true, nil, 0)
				a.up.Connected(reply)
			}
		})
	}
	if err != nil {
		call(b.proc, b.enterError)
		return err
	}
	b.up.AcceptDone(nil)
	return nil
}

// link makes q the end of a connection with p. On q's processor.
func (q *qp) link(p *qp, rnrRetry uint8) error {
	if s := q.State(); s != verbs.Reset && s != verbs.Init {
		return verbs.ErrState
	}
	q.peer, q.linked = p, true
	q.rnrRetry, q.rnrLeft = rnrRetry, rnrRetry
	q.away.Init(p.proc, q.runAway)
	q.rnr.Init(p.proc, q.runAway)
	q.attached.Store(true)
	q.state.Store(uint32(verbs.RTS))
	return nil
}

// Cancel ends what is pending and flushes what is posted.
func (q *qp) Cancel(ctx context.Context) { call(q.proc, q.cancel) }

func (q *qp) cancel(f *dispatch.Frame) {
	if r := q.request; r != nil && r.state.CompareAndSwap(requestOpen, requestGivenUp) {
		q.request = nil
		q.timer.Cancel(f)
		q.up.ConnectFailed(verbs.ErrClosed)
	}
	q.enterError(f)
	if p := q.peer; p != nil {
		p.hangup.Queue(f)
	}
}

// Disconnect ends the connection at both ends.
func (q *qp) Disconnect(ctx context.Context) {
	q.Cancel(ctx)
	if p := q.peer; p != nil && q.dev.fabric.tap != nil {
		q.dev.fabric.tap.Manage(&Management{Kind: DisconnectRequest, From: q.dev.addr, To: p.dev.addr, QPN: q.num, RemoteQPN: p.num})
		q.dev.fabric.tap.Manage(&Management{Kind: DisconnectReply, From: p.dev.addr, To: q.dev.addr, QPN: p.num})
	}
	q.up.DisconnectDone()
}

// runHangup is the arrival of the peer's DREQ.
func (q *qp) runHangup(f *dispatch.Frame) {
	if q.linked && q.State() != verbs.Error {
		q.enterError(f)
		q.up.Notify(verbs.Disconnected)
	}
}

// manage shows the tap a message of the connection manager.
func (r *request) manage(k ManageKind, fromActive bool, private []byte, reason verbs.RejectReason) {
	t := r.fabric.tap
	if t == nil {
		return
	}
	a := r.active
	m := Management{
		Kind: k, FromActive: fromActive, CommID: r.commID, PassiveID: r.passID, Private: private, Reason: reason,
		RDMA: r.attr.Address.IsRDMA(), SrcPort: r.srcPort, ServiceID: r.attr.Address.ServiceID,
		From: a.dev.addr, To: r.attr.Address.Dst.Addr(), QPN: a.num, PSN: a.psn,
	}
	if m.RDMA {
		m.ServiceID = rdmaService(r.attr.Address.Dst.Port())
	} else {
		m.To = netip.AddrFrom16(r.attr.Address.DGID).Unmap()
	}
	if !fromActive {
		m.From, m.To = m.To, m.From
	}
	t.Manage(&m)
}
