package verbstest

import (
	"bytes"
	"context"
	"sync/atomic"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Connect implements verbs.QPDriver: it waits until the test answers.
func (q *FakeQP) Connect(ctx context.Context, attr *verbs.ConnectAttr) error {
	if err := q.dev.failure("connect", 0); err != nil {
		return err
	}
	if s := q.State(); s != verbs.Reset && s != verbs.Init {
		return verbs.ErrState
	}
	mine := *attr
	mine.Private = bytes.Clone(attr.Private)
	if !q.connecting.CompareAndSwap(nil, &mine) {
		return verbs.ErrState
	}
	q.state.Store(uint32(verbs.Init))
	return nil
}

// Connecting returns what the QP asks for while it waits to be connected, else nil.
func (q *FakeQP) Connecting() *verbs.ConnectAttr { return q.connecting.Load() }

// Establish ends the pending Connect: the QP is in RTS. It reports false when none is
// pending.
func (q *FakeQP) Establish(private []byte) bool {
	var r verbs.ConnectReply
	r.SetPrivate(private)
	return q.answer(r, nil)
}

// RefuseConnect ends the pending Connect with an error, such as a verbs.RejectError.
func (q *FakeQP) RefuseConnect(err error) bool { return q.answer(verbs.ConnectReply{}, err) }

func (q *FakeQP) answer(r verbs.ConnectReply, err error) bool {
	attr := q.connecting.Swap(nil)
	if attr == nil {
		return false
	}
	if err != nil {
		q.up.ConnectFailed(err)
		return true
	}
	q.state.Store(uint32(verbs.RTS))
	q.up.Connected(r)
	return true
}

// Disconnect implements verbs.QPDriver.
func (q *FakeQP) Disconnect(ctx context.Context) {
	q.answer(verbs.ConnectReply{}, verbs.ErrClosed)
	call(q.proc, q.flush)
	q.up.DisconnectDone()
}

// Listen makes a listener.
func (d *Fake) Listen(ctx context.Context, attr *verbs.ListenAttr, up *verbs.Listener) (verbs.ListenerDriver, error) {
	if err := d.failure("listen", 1); err != nil {
		return nil, err
	}
	return object{d}, nil
}

// FakeRequest is a connection request that a test has made.
//
// Ownership: who takes it first answers it; the test reads the answer after that.
type FakeRequest struct {
	dev     *Fake
	l       *verbs.Listener
	peer    verbs.Address
	private []byte
	dpc     dispatch.DPC

	taken    atomic.Bool
	answer   Answer
	answered chan struct{}
}

// Answer is what became of a FakeRequest.
type Answer struct {
	Accepted *FakeQP // nil: rejected
	Reason   verbs.RejectReason
	Private  []byte
}

// Request brings a connection request to a listener, on its processor p.
func (d *Fake) Request(l *verbs.Listener, p *dispatch.Processor, peer verbs.Address, private []byte) *FakeRequest {
	r := &FakeRequest{dev: d, l: l, peer: peer, private: bytes.Clone(private), answered: make(chan struct{})}
	r.dpc.Init(p, func(f *dispatch.Frame) { l.Deliver(f, verbs.NewConnectRequest(r, r.peer, r.private)) })
	r.dpc.Post()
	return r
}

// Answered is closed when the consumer has answered.
func (r *FakeRequest) Answered() <-chan struct{} { return r.answered }

// Answer returns the consumer's answer; valid when Answered is closed.
func (r *FakeRequest) Answer() Answer { return r.answer }

// give stores the first answer.
func (r *FakeRequest) give(a Answer) bool {
	if !r.taken.CompareAndSwap(false, true) {
		return false
	}
	r.answer = a
	close(r.answered)
	return true
}

// Accept implements verbs.RequestDriver.
func (r *FakeRequest) Accept(ctx context.Context, drv verbs.QPDriver, attr *verbs.AcceptAttr) error {
	if err := r.dev.failure("accept", 0); err != nil {
		return err
	}
	q, ok := verbs.Find[*FakeQP](drv)
	if !ok {
		return verbs.ErrInvalid
	}
	if s := q.State(); s != verbs.Reset && s != verbs.Init {
		return verbs.ErrState
	}
	if !r.give(Answer{Accepted: q, Private: bytes.Clone(attr.Private)}) {
		return verbs.ErrTimeout
	}
	q.state.Store(uint32(verbs.RTS))
	q.up.AcceptDone(nil)
	return nil
}

// Reject implements verbs.RequestDriver.
func (r *FakeRequest) Reject(reason verbs.RejectReason, private []byte) {
	r.give(Answer{Reason: reason, Private: append([]byte(nil), private...)})
}
