package verbs

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"minisrp/verbs/dispatch"
)

// Limits of private data, in bytes (IBA 12.6, annex A11 for RDMA CM).
const (
	MaxConnectPrivateIB   = 92
	MaxConnectPrivateRDMA = 56 // the RDMA CM's own header takes 36
	MaxReplyPrivate       = 196
	MaxRejectPrivate      = 148
)

// Address says where to connect, or what to listen on, in one of the two forms.
type Address struct {
	// RDMA CM: an address and port. Src may be the zero value.
	Dst netip.AddrPort
	Src netip.AddrPort
	// IB CM, when Dst is the zero value: a service at a port.
	DGID      GID
	PKey      uint16
	ServiceID uint64
	GIDIndex  int
}

// IsRDMA reports whether the address is of the RDMA CM form.
func (a *Address) IsRDMA() bool { return a.Dst.IsValid() }

// MarshalText makes it text in JSON, for logs.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

func (a Address) String() string {
	if a.IsRDMA() {
		return a.Dst.String()
	}
	return fmt.Sprintf("dgid=%s,pkey=%04x,service_id=%016x", a.DGID, a.PKey, a.ServiceID)
}

// ConnectAttr describes a connection to make. It is the caller's and must stay
// unchanged until the operation has ended.
type ConnectAttr struct {
	Address Address
	Private []byte // at most MaxConnectPrivateIB or MaxConnectPrivateRDMA
	// ReadsAnswered and ReadsIssued are the RDMA READs at a time that this side
	// answers (responder resources) and issues (initiator depth).
	ReadsAnswered, ReadsIssued uint8
	RetryCount                 uint8 // transport retries, 0 to 7
	// RNRRetry is how often the peer shall try again with a message that finds no
	// receive here: 0 to 7, 7 is for ever (rdma_conn_param's rnr_retry_count).
	RNRRetry uint8
	Timeout  time.Duration // for the peer to answer; 0 means 5 s
}

// ConnectReply is what the peer answered.
type ConnectReply struct {
	private                    [MaxReplyPrivate]byte
	n                          int
	ReadsAnswered, ReadsIssued uint8
}

// Private returns the reply's private data.
func (r *ConnectReply) Private() []byte { return r.private[:r.n] }

// SetPrivate stores private data, at most MaxReplyPrivate bytes; for providers.
func (r *ConnectReply) SetPrivate(b []byte) { r.n = copy(r.private[:], b) }

// Connect connects a QP in the Init or Reset state to a listener: when it ends
// well the QP is in RTS. Receives for what the peer sends at once are to be posted
// before. Level: both.
// Errors: *RejectError, ErrTimeout, ErrNoRoute, ErrInvalid, ErrState, ErrClosed.
// After a RejectError, ErrTimeout or ErrNoRoute the QP may be used for another attempt.
func (qp *QP) Connect(op *Op[ConnectReply], attr *ConnectAttr) {
	most := MaxConnectPrivateIB
	if attr.Address.IsRDMA() {
		most = MaxConnectPrivateRDMA
	}
	err := error(nil)
	switch {
	case len(attr.Private) > most:
		err = invalid("%d bytes of private data; at most %d fit", int64(len(attr.Private)), int64(most))
	case attr.RetryCount > 7 || attr.RNRRetry > 7:
		err = invalid("retry counts %d and %d; want 0 to 7", int64(attr.RetryCount), int64(attr.RNRRetry))
	case attr.Timeout < 0:
		err = invalid("a negative time for the peer to answer")
	}
	op.start(qp.dev, qp.proc, qp, attr, holds{&qp.node}, "connect", err)
}

func (attr *ConnectAttr) perform(ctx context.Context, on any, op *Op[ConnectReply]) (r ConnectReply, err error, now bool) {
	qp := on.(*QP)
	op.name = attr.Address.String()
	if !qp.connecting.CompareAndSwap(nil, op) {
		return r, opError("connect", op.name, ErrState), true
	}
	if err := qp.drv.Connect(ctx, attr); err != nil {
		qp.ConnectFailed(err)
	}
	return r, nil, false
}

// Connected ends the pending Connect. Called by the provider, at both levels; a
// second call does nothing.
func (qp *QP) Connected(r ConnectReply) {
	if op := qp.connecting.Swap(nil); op != nil {
		op.complete(r, nil)
	}
}

// ConnectFailed ends the pending Connect with an error, as Connected.
func (qp *QP) ConnectFailed(err error) {
	if op := qp.connecting.Swap(nil); op != nil {
		op.complete(ConnectReply{}, opError("connect", op.name, err))
	}
}

// Disconnect ends the connection: both QPs go to the Error state and flush. It
// completes when the peer has answered or cannot. Level: both. Errors: ErrClosed.
func (qp *QP) Disconnect(op *Op[None]) {
	op.start(qp.dev, qp.proc, qp, disconnectTask{}, holds{&qp.node}, "disconnect", nil)
}

type disconnectTask struct{}

func (disconnectTask) perform(ctx context.Context, on any, op *Op[None]) (n None, err error, now bool) {
	qp := on.(*QP)
	if !qp.disconnecting.CompareAndSwap(nil, op) {
		return n, opError("disconnect", qp.dev.attr.Name, ErrState), true
	}
	qp.drv.Disconnect(ctx)
	return n, nil, false
}

// DisconnectDone ends the pending Disconnect. Called by the provider, at both levels.
func (qp *QP) DisconnectDone() {
	if op := qp.disconnecting.Swap(nil); op != nil {
		op.complete(None{}, nil)
	}
}

// ListenAttr describes a listener. It is the caller's and must stay unchanged until
// the operation has ended.
type ListenAttr struct {
	Address   Address // RDMA CM: Dst; IB CM: ServiceID
	Processor *dispatch.Processor
	Request   RequestFunc
}

// RequestFunc is given a connection request, which it, or somebody later, answers
// by Accept or Reject.
//
//level:dispatch
type RequestFunc func(f *dispatch.Frame, l *Listener, r *ConnectRequest)

// Listener takes connection requests for an address.
type Listener struct {
	node
	drv     ListenerDriver
	request RequestFunc
	address Address
}

// Listen makes a listener. Level: both. Errors: ErrInUse, ErrInvalid, ErrClosed.
func (d *Device) Listen(op *Op[*Listener], attr *ListenAttr) {
	err := error(nil)
	proc := attr.Processor
	switch {
	case proc == nil:
		proc, err = d.proc, invalid("a listener without a processor")
	case attr.Request == nil:
		err = invalid("a listener without a request function")
	}
	op.start(d, proc, d, attr, holds{&d.node}, "listen", err)
}

func (attr *ListenAttr) perform(ctx context.Context, on any, op *Op[*Listener]) (*Listener, error, bool) {
	d := on.(*Device)
	l := &Listener{request: attr.Request, address: attr.Address}
	drv, err := d.drv.Listen(ctx, attr, l)
	if err != nil {
		return nil, opError("listen on", attr.Address.String(), err), true
	}
	l.drv = drv
	l.node.init(d, attr.Processor, op.keep())
	l.node.destroy = l.destroyListener
	return l, nil, true
}

// Address returns what is listened on.
func (l *Listener) Address() Address { return l.address }

// Deliver gives a request to the consumer. Called by the provider, on the
// listener's processor.
func (l *Listener) Deliver(f *dispatch.Frame, r *ConnectRequest) { l.request(f, l, r) }

func (l *Listener) destroyListener(ctx context.Context) {
	l.drv.Destroy(ctx)
	l.dev.barrier(l.proc)
}

// ConnectRequest is a peer's wish to connect.
//
// Ownership: the consumer's, from RequestFunc until Accept or Reject.
type ConnectRequest struct {
	drv  RequestDriver
	peer Address // Src or the GID of the peer
	// What the peer asks for; valid until answered.
	private                    []byte
	ReadsAnswered, ReadsIssued uint8
}

// NewConnectRequest makes a request; for providers. private must stay valid until
// the request is answered.
func NewConnectRequest(drv RequestDriver, peer Address, private []byte) *ConnectRequest {
	return &ConnectRequest{drv: drv, peer: peer, private: private}
}

// from names the peer in errors.
func (r *ConnectRequest) from() string {
	if r.peer.IsRDMA() {
		return r.peer.Src.String()
	}
	return r.peer.DGID.String()
}

// Peer returns where the request came from: Src for the RDMA CM, DGID else.
func (r *ConnectRequest) Peer() Address { return r.peer }

// Private returns the request's private data.
func (r *ConnectRequest) Private() []byte { return r.private }

// AcceptAttr says how to answer. It is the caller's and must stay unchanged until
// the operation has ended.
type AcceptAttr struct {
	Request                    *ConnectRequest
	Private                    []byte // at most MaxReplyPrivate
	ReadsAnswered, ReadsIssued uint8
	RNRRetry                   uint8 // as ConnectAttr's
}

// Accept accepts a request with a QP in the Init or Reset state. When it ends well
// the QP is in RTS and the peer knows. Level: both.
// Errors: ErrInvalid, ErrState, ErrTimeout (the peer has gone), ErrClosed. After one
// the request may still be unanswered: Reject it, which does nothing if it is not.
func (qp *QP) Accept(op *Op[None], attr *AcceptAttr) {
	err := error(nil)
	switch {
	case attr.Request == nil:
		err = invalid("no request to accept")
	case len(attr.Private) > MaxReplyPrivate:
		err = invalid("%d bytes of private data; at most %d fit", int64(len(attr.Private)), MaxReplyPrivate)
	case attr.RNRRetry > 7:
		err = invalid("RNR retry count %d; want 0 to 7", int64(attr.RNRRetry))
	}
	op.start(qp.dev, qp.proc, qp, attr, holds{&qp.node}, "accept", err)
}

func (attr *AcceptAttr) perform(ctx context.Context, on any, op *Op[None]) (n None, err error, now bool) {
	qp := on.(*QP)
	op.name = attr.Request.from()
	if !qp.accepting.CompareAndSwap(nil, op) {
		return n, opError("accept", op.name, ErrState), true
	}
	if err := attr.Request.drv.Accept(ctx, qp.drv, attr); err != nil {
		qp.AcceptDone(err)
	}
	return n, nil, false
}

// AcceptDone ends the pending Accept. Called by the provider, at both levels.
func (qp *QP) AcceptDone(err error) {
	if op := qp.accepting.Swap(nil); op != nil {
		op.complete(None{}, opError("accept", op.name, err))
	}
}

// Reject refuses a request that is not answered yet; else it does nothing. private,
// at most MaxRejectPrivate bytes, is copied. Level: both.
func (r *ConnectRequest) Reject(reason RejectReason, private []byte) {
	r.drv.Reject(reason, private[:min(len(private), MaxRejectPrivate)])
}
