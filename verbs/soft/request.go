package soft

import (
	"math/rand/v2"
	"net/netip"
	"sync/atomic"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// defaultPKey is the only entry of every port's P_Key table.
const defaultPKey = 0xffff

// connection is what the connection manager's messages name: two ends and their IDs.
// It is fixed once the passive side has linked.
type connection struct {
	active, passive     *qp
	activeID, passiveID uint32
	transaction         uint64
}

// request is a connection that is being made: from the active side's Connect until
// the passive side has answered or the active side has given up. It is the
// provider's part of a verbs.ConnectRequest.
//
// Ownership: fixed after construction, but for the answer, which is of who has
// answered.
type request struct {
	conn     connection
	active   *qp
	listener *listener // nil: nothing listens
	attr     verbs.ConnectAttr
	private  []byte
	src      netip.AddrPort

	deliver  dispatch.DPC
	delivery atomic.Uint32
	state    atomic.Uint32

	reject   dispatch.DPC // on the active side's processor
	reason   verbs.RejectReason
	answer   [verbs.MaxRejectPrivate]byte
	answered int
}

// The values of request.state: the first to take it from open decides.
const (
	requestOpen uint32 = iota
	requestAnswered
	requestGivenUp
)

// The values of request.delivery.
const (
	undelivered uint32 = iota
	delivered
	refused
)

func newRequest(q *qp, l *listener, attr *verbs.ConnectAttr) *request {
	r := &request{active: q, listener: l, attr: *attr}
	r.conn = connection{active: q, activeID: rand.Uint32(), passiveID: rand.Uint32(), transaction: rand.Uint64()}
	r.private = append(r.private, attr.Private...)
	port := attr.Address.Src.Port()
	if port == 0 {
		port = uint16(0xc000 | rand.Uint32()&0x3fff)
	}
	r.src = netip.AddrPortFrom(q.dev.addr, port)
	r.reject.Init(q.proc, r.runReject)
	if l != nil {
		r.deliver.Init(l.proc, r.runDeliver)
	}
	return r
}

// service returns the service ID that the request is for.
func (r *request) service() uint64 {
	if a := &r.attr.Address; a.IsRDMA() {
		return rdmaService(a.Dst.Port())
	}
	return r.attr.Address.ServiceID
}

// runDeliver gives the request to the consumer of the listener.
func (r *request) runDeliver(f *dispatch.Frame) {
	if r.state.Load() != requestOpen || !r.delivery.CompareAndSwap(undelivered, delivered) {
		return
	}
	if r.listener.closed.Load() {
		r.Reject(verbs.RejectInvalidServe, nil)
		return
	}
	peer := verbs.Address{DGID: r.active.dev.gid}
	if r.attr.Address.IsRDMA() {
		peer = verbs.Address{Src: r.src, Dst: r.attr.Address.Dst}
	}
	up := verbs.NewConnectRequest(r, peer, r.private)
	up.ReadsAnswered, up.ReadsIssued = r.attr.ReadsAnswered, r.attr.ReadsIssued
	r.listener.up.Deliver(f, up)
}

// Reject refuses the request.
func (r *request) Reject(reason verbs.RejectReason, private []byte) {
	if !r.state.CompareAndSwap(requestOpen, requestAnswered) {
		return
	}
	r.reason = reason
	r.answered = copy(r.answer[:], private)
	r.manage(&Management{
		Kind: Rejected, Refused: ConnectRequest, Reason: reason, Private: r.answer[:r.answered],
	}, false)
	r.reject.Post()
}

// runReject tells the active side, whose Connect is pending until then.
func (r *request) runReject(f *dispatch.Frame) {
	q := r.active
	q.request = nil
	q.timer.Cancel(f)
	q.up.ConnectFailed(&verbs.RejectError{Reason: r.reason, Private: r.answer[:r.answered]})
}

// manage shows the tap a message about the request.
func (r *request) manage(m *Management, fromActive bool) {
	fb := r.active.dev.fabric
	if fb.tap == nil {
		return
	}
	c := &r.conn
	m.Transaction = c.transaction
	here, there := r.active.dev.addr, r.attr.Address.Dst.Addr().Unmap()
	if !r.attr.Address.IsRDMA() {
		there = netip.AddrFrom16(r.attr.Address.DGID).Unmap()
	}
	switch {
	case m.Kind == ConnectRequest:
		m.From, m.To, m.LocalID = here, there, c.activeID
	case fromActive && c.passive == nil:
		m.From, m.To, m.LocalID = here, there, c.activeID
	case fromActive:
		m.From, m.To, m.LocalID, m.RemoteID = here, there, c.activeID, c.passiveID
	case c.passive == nil:
		m.From, m.To, m.RemoteID = there, here, c.activeID
	default:
		m.From, m.To, m.LocalID, m.RemoteID = there, here, c.passiveID, c.activeID
	}
	fb.tap.Manage(m)
}

// disconnect shows the tap a DREQ or DREP that q sends.
func (c *connection) disconnect(q *qp, k ManageKind) {
	t := q.dev.fabric.tap
	if t == nil {
		return
	}
	p := q.peer
	m := Management{
		Kind: k, From: q.dev.addr, To: p.dev.addr,
		LocalID: c.activeID, RemoteID: c.passiveID, Transaction: c.transaction + 1,
	}
	// A transaction is its beginner's.
	if (q == c.passive) == (k == DisconnectRequest) {
		m.Transaction++
	}
	if q == c.passive {
		m.LocalID, m.RemoteID = c.passiveID, c.activeID
	}
	if k == DisconnectRequest {
		m.QPN = p.num
	}
	t.Manage(&m)
}
