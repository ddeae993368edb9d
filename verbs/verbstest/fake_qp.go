package verbstest

import (
	"context"
	"sync/atomic"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// FakeQP is a queue pair of a Fake: what was posted waits until the test completes it.
//
// Ownership: by frames that own the QP's processor.
type FakeQP struct {
	object
	up         *verbs.QP
	num        uint32
	proc       *dispatch.Processor
	attr       verbs.QPAttr
	scq, rcq   *fakeCQ
	state      atomic.Uint32
	connecting atomic.Pointer[verbs.ConnectAttr]

	sq             []verbs.WR
	rq             []verbs.RecvWR
	sqUsed, rqUsed int // places, until their completions are polled
	silent         int // requests done without completion since the last with one
	refuse         error
	onPost         PostFunc
}

// PostFunc sees each request that a FakeQP has accepted, and may complete it and
// those before.
//
//level:dispatch
type PostFunc func(f *dispatch.Frame, q *FakeQP, wr *verbs.WR)

func (pd fakePD) CreateQP(ctx context.Context, attr *verbs.QPAttr, up *verbs.QP) (verbs.QPDriver, uint32, error) {
	d := pd.dev
	scq, send := verbs.Find[*fakeCQ](attr.SendCQ.Driver())
	rcq, recv := verbs.Find[*fakeCQ](attr.RecvCQ.Driver())
	if !send || !recv {
		return nil, 0, verbs.ErrInvalid
	}
	if err := d.failure("create QP", 1); err != nil {
		return nil, 0, err
	}
	q := &FakeQP{object: pd.object, up: up, attr: *attr, proc: attr.SendCQ.Processor(), scq: scq, rcq: rcq}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lastQP++
	q.num = d.lastQP + 1
	d.qps[up] = q
	return q, q.num, nil
}

// OnPost sets a function to be told of posts; nil for none. Level: Dispatch.
func (q *FakeQP) OnPost(f *dispatch.Frame, fn PostFunc) { q.onPost = fn }

// Refuse makes posts return err and accept nothing, until it is called with nil.
// Level: Dispatch.
func (q *FakeQP) Refuse(f *dispatch.Frame, err error) { q.refuse = err }

// Sends returns the requests that wait to be completed, oldest first; valid until the
// next completion or post. Level: Dispatch.
func (q *FakeQP) Sends(f *dispatch.Frame) []verbs.WR { return q.sq }

// Receives returns the receives that wait for a message, as Sends. Level: Dispatch.
func (q *FakeQP) Receives(f *dispatch.Frame) []verbs.RecvWR { return q.rq }

// Gather returns a copy of the bytes that a request names, and false when it names
// memory that is not registered. Level: Dispatch.
func (q *FakeQP) Gather(f *dispatch.Frame, wr *verbs.WR) ([]byte, bool) {
	var all []byte
	for _, g := range wr.SGE[:wr.NumSGE] {
		b, ok := q.memory(&g)
		if !ok {
			return nil, false
		}
		all = append(all, b...)
	}
	return all, true
}

// memory returns what a piece names.
func (q *FakeQP) memory(g *verbs.SGE) ([]byte, bool) {
	r := (*q.dev.regions.Load())[g.LKey]
	off, size := g.Addr-r.addr, uint64(len(r.b))
	if g.Length == 0 {
		return nil, true
	}
	if off > size || uint64(g.Length) > size-off {
		return nil, false
	}
	return r.b[off : off+uint64(g.Length)], true
}

// Complete completes the oldest request; without success the QP goes to Error and the
// others are flushed. It reports false when nothing waits. Level: Dispatch.
func (q *FakeQP) Complete(f *dispatch.Frame, s verbs.Status) bool {
	if len(q.sq) == 0 {
		return false
	}
	q.completeOne(f, s)
	if s != verbs.Success && s != verbs.WRFlushErr {
		q.Fail(f, verbs.QPFatal)
	}
	return true
}

func (q *FakeQP) completeOne(f *dispatch.Frame, s verbs.Status) {
	wr := q.sq[0]
	q.sq = q.sq[:copy(q.sq, q.sq[1:])]
	q.silent++
	if s != verbs.Success || wr.Flags&verbs.Signaled != 0 {
		wc := verbs.WC{ID: wr.ID, QPN: q.num, Status: s, Op: wr.Op}
		for _, g := range wr.SGE[:wr.NumSGE] {
			wc.ByteLen += g.Length
		}
		q.scq.push(f, fakeWC{wc, &q.sqUsed, q.silent})
		q.silent = 0
	}
}

// CompleteAll completes what waits, with success. Level: Dispatch.
func (q *FakeQP) CompleteAll(f *dispatch.Frame) {
	for q.Complete(f, verbs.Success) {
	}
}

// Deliver puts a message into the oldest receive, and completes that. It reports false
// when there is none, or it has no room: nothing has happened then.
// Level: Dispatch.
func (q *FakeQP) Deliver(f *dispatch.Frame, msg []byte) bool {
	return q.deliver(f, msg, verbs.WC{})
}

// DeliverInv is Deliver of a SEND with invalidate of key. Level: Dispatch.
func (q *FakeQP) DeliverInv(f *dispatch.Frame, msg []byte, key uint32) bool {
	return q.deliver(f, msg, verbs.WC{Invalidated: true, InvKey: key})
}

func (q *FakeQP) deliver(f *dispatch.Frame, msg []byte, wc verbs.WC) bool {
	if len(q.rq) == 0 {
		return false
	}
	r := &q.rq[0]
	room := 0
	for i := range r.SGE[:r.NumSGE] {
		b, ok := q.memory(&r.SGE[i])
		if !ok {
			return false
		}
		room += len(b)
	}
	if room < len(msg) {
		return false
	}
	wc.ByteLen = uint32(len(msg))
	for i := range r.SGE[:r.NumSGE] {
		b, _ := q.memory(&r.SGE[i])
		msg = msg[copy(b, msg):]
	}
	q.receive(f, wc)
	return true
}

func (q *FakeQP) receive(f *dispatch.Frame, wc verbs.WC) {
	wc.ID, wc.QPN, wc.Op = q.rq[0].ID, q.num, verbs.Recv
	q.rq = q.rq[:copy(q.rq, q.rq[1:])]
	q.rcq.push(f, fakeWC{wc, &q.rqUsed, 1})
}

// Inject puts a completion into the QP's CQ as it is, whatever waits.
// Level: Dispatch.
func (q *FakeQP) Inject(f *dispatch.Frame, wc verbs.WC) {
	cq := q.scq
	if wc.Op == verbs.Recv {
		cq = q.rcq
	}
	cq.push(f, fakeWC{wc: wc})
}

// Fail takes the QP to Error, flushes what waits, and tells the consumer of an event.
// Level: Dispatch.
func (q *FakeQP) Fail(f *dispatch.Frame, e verbs.QPEvent) {
	q.flush(f)
	q.up.Notify(e)
}

func (q *FakeQP) flush(f *dispatch.Frame) {
	q.state.Store(uint32(verbs.Error))
	for len(q.sq) > 0 {
		q.completeOne(f, verbs.WRFlushErr)
	}
	for len(q.rq) > 0 {
		q.receive(f, verbs.WC{Status: verbs.WRFlushErr})
	}
}

// State, Post, PostRecv and Ring implement verbs.QPDriver.

func (q *FakeQP) State() verbs.QPState { return verbs.QPState(q.state.Load()) }

func (q *FakeQP) Post(f *dispatch.Frame, wrs []verbs.WR) (int, error) {
	s := q.State()
	switch {
	case q.refuse != nil:
		return 0, q.refuse
	case s != verbs.RTS && s != verbs.Error:
		return 0, verbs.ErrState
	}
	for i := range wrs {
		if q.sqUsed >= int(q.attr.MaxSend) {
			return i, verbs.ErrFull
		}
		if wr := &wrs[i]; wr.Op >= verbs.Recv || uint32(wr.NumSGE) > q.attr.MaxSGE {
			return i, verbs.ErrInvalid
		}
		q.sq = append(q.sq, wrs[i])
		q.sqUsed++
		if s == verbs.Error {
			q.Complete(f, verbs.WRFlushErr)
		} else if q.onPost != nil {
			q.onPost(f, q, &wrs[i])
		}
	}
	return len(wrs), nil
}

func (q *FakeQP) PostRecv(f *dispatch.Frame, wrs []verbs.RecvWR) (int, error) {
	s := q.State()
	switch {
	case q.refuse != nil:
		return 0, q.refuse
	case s == verbs.Reset:
		return 0, verbs.ErrState
	}
	for i := range wrs {
		if q.rqUsed >= int(q.attr.MaxRecv) {
			return i, verbs.ErrFull
		}
		if uint32(wrs[i].NumSGE) > q.attr.MaxSGE {
			return i, verbs.ErrInvalid
		}
		q.rq = append(q.rq, wrs[i])
		q.rqUsed++
		if s == verbs.Error {
			q.receive(f, verbs.WC{Status: verbs.WRFlushErr})
		}
	}
	return len(wrs), nil
}

func (q *FakeQP) Ring(f *dispatch.Frame) {}

// Modify implements verbs.QPDriver. It allows what IBA 10.3.1 allows.
func (q *FakeQP) Modify(ctx context.Context, to verbs.QPState) (err error) {
	if err := q.dev.failure("modify QP", 0); err != nil {
		return err
	}
	call(q.proc, func(f *dispatch.Frame) {
		switch from := q.State(); {
		case !from.CanGo(to):
			err = verbs.ErrState
		case to == verbs.Error:
			q.flush(f)
		case to == verbs.Reset:
			q.sq, q.rq, q.sqUsed, q.rqUsed, q.silent = nil, nil, 0, 0, 0
			fallthrough
		default:
			q.state.Store(uint32(to))
		}
	})
	return err
}

// Cancel implements verbs.QPDriver.
func (q *FakeQP) Cancel(ctx context.Context) {
	q.answer(verbs.ConnectReply{}, verbs.ErrClosed)
	call(q.proc, q.flush)
}

// Destroy implements verbs.QPDriver.
func (q *FakeQP) Destroy(ctx context.Context) {
	q.dev.mu.Lock()
	delete(q.dev.qps, q.up)
	q.dev.mu.Unlock()
	q.object.Destroy(ctx)
}

// call runs fn on p and waits for it.
//
//level:passive
func call(p *dispatch.Processor, fn dispatch.Func) {
	done := make(chan struct{})
	var d dispatch.DPC
	d.Init(p, func(f *dispatch.Frame) {
		fn(f)
		close(done)
	})
	d.Post()
	<-done
}
