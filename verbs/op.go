package verbs

import (
	"context"
	"fmt"
	"sync/atomic"

	"minisrp/verbs/dispatch"
)

// None is the result of an operation that has none.
type None = struct{}

// ThenFunc is told an operation's result.
//
//level:dispatch
type ThenFunc[T any] func(f *dispatch.Frame, v T, err error)

// Op is an operation that may need thread context. Starting it neither blocks nor
// allocates and may be done at both levels; the device's worker does the part
// that may block. One of Then, Wait or Forget must follow, once.
//
// Ownership: storage of the caller's. From the start until the result has been
// delivered it must not be copied or started again; within the function given to
// Then it may.
type Op[T any] struct {
	state atomic.Uint32
	then  ThenFunc[T]
	value T
	err   error
	task  task[T]
	on    any
	name  string // what an error calls the object
	holds holds  // released when the delivery is over
	work  dispatch.Work
	dpc   dispatch.DPC
	done  chan struct{}
	trace trace
}

// The bits of Op.state. Each is set once; who sets the second of a pair that makes
// a delivery possible delivers.
const (
	opStarted uint32 = 1 << iota
	opResult         // value and err are set
	opThen           // then is set
	opWait           // done is set
	opGone           // nobody wants the result
)

// task is the part of an operation that runs on the device's worker: performed on
// an object. It reports false when the result comes later, by complete.
type task[T any] interface {
	perform(ctx context.Context, on any, op *Op[T]) (v T, err error, now bool)
}

// start hands the operation on an object of d to the worker, with references of
// what it needs; when err is not nil, or one of those is being closed, it fails. p is
// where Then's function will run.
func (op *Op[T]) start(d *Device, p *dispatch.Processor, on any, t task[T], needs holds, verb string, err error) {
	op.prepare(d, p, on, t)
	if err == nil {
		err = needs.take()
	}
	if err != nil {
		op.fail(d, verb, err)
		return
	}
	op.holds = needs
	d.worker.Queue(&op.work)
}

// fail completes an operation that was not begun. Until its result has been
// delivered it keeps the device open all the same, so that Device.Close leaves no
// callback behind.
func (op *Op[T]) fail(d *Device, verb string, err error) {
	var zero T
	if d.node.linger() {
		op.holds = holds{&d.node}
	}
	//level:allow noalloc: the text of an operation that cannot begin, on an object that is being closed
	err = opError(verb, d.attr.Name, err)
	op.complete(zero, err)
}

// keep hands the operation's references over to what it has created.
func (op *Op[T]) keep() holds {
	h := op.holds
	op.holds = holds{}
	return h
}

func (op *Op[T]) prepare(d *Device, p *dispatch.Processor, on any, t task[T]) {
	if !op.state.CompareAndSwap(0, opStarted) {
		panic("verbs: an operation was started while it is pending")
	}
	op.on, op.task, op.trace = on, t, d.trace
	op.work.InitRunner((*opWork[T])(op))
	op.dpc.InitRunner(p, (*opDelivery[T])(op))
}

type opWork[T any] Op[T]

// RunWork is called by the device's worker.
func (w *opWork[T]) RunWork(ctx context.Context) {
	op := (*Op[T])(w)
	if v, err, now := op.task.perform(ctx, op.on, op); now {
		op.complete(v, err)
	}
}

// complete sets the result. It is called exactly once for a started operation.
func (op *Op[T]) complete(v T, err error) {
	trace := op.trace
	op.value, op.err = v, err
	trace.stop()
	old := op.state.Or(opResult)
	trace.stop() // from here on it may be somebody else's
	switch {
	case old&opStarted == 0 || old&opResult != 0:
		panic(fmt.Sprintf("verbs: operation completed in state %#x", old))
	case old&opGone != 0:
		op.abandon()
	case old&opThen != 0:
		op.dpc.Post()
	case old&opWait != 0:
		close(op.done)
	}
}

// Then asks for the result by a call of fn at Dispatch, on the object's processor:
// exactly once, and always later, also when the result is known already. The layer
// does not touch the operation or its object after it has begun the call. Level: both.
func (op *Op[T]) Then(fn ThenFunc[T]) {
	trace := op.trace
	op.then = fn
	trace.stop()
	if op.claim(opThen)&opResult != 0 {
		trace.stop()
		op.dpc.Post()
	}
}

// Forget says that nobody wants the result. What is created is closed. Level: both.
func (op *Op[T]) Forget() {
	trace := op.trace
	if op.claim(opGone)&opResult != 0 {
		trace.stop()
		op.abandon()
	}
}

// claim sets the one bit that says who wants the result.
func (op *Op[T]) claim(bit uint32) uint32 {
	old := op.state.Or(bit)
	if old&opStarted == 0 || old&(opThen|opWait|opGone) != 0 {
		panic(fmt.Sprintf("verbs: Then, Wait or Forget of an operation in state %#x: want started, and one of them once", old))
	}
	return old
}

type opDelivery[T any] Op[T]

// RunDPC calls what Then was given.
func (d *opDelivery[T]) RunDPC(f *dispatch.Frame) {
	op := (*Op[T])(d)
	fn := op.then
	v, err, held := op.take()
	fn(f, v, err)
	held.release()
}

// take returns the result and makes the operation ready to be started again.
func (op *Op[T]) take() (v T, err error, held holds) {
	var zero T
	v, err, held = op.value, op.err, op.holds
	op.value, op.err, op.holds, op.then, op.task, op.on, op.done = zero, nil, holds{}, nil, nil, nil, nil
	op.name = ""
	op.state.Store(0)
	return v, err, held
}

// Wait waits for the result. When ctx ends first, its error is returned and what
// is created afterwards is closed by the layer; the operation stays in use until
// then. It must not be called at Dispatch.
func (op *Op[T]) Wait(ctx context.Context) (T, error) {
	dispatch.AssertPassive()
	done, trace := make(chan struct{}), op.trace
	op.done = done
	trace.stop()
	if op.claim(opWait)&opResult == 0 {
		trace.wait(func() bool { return closed(done) || closed(ctx.Done()) })
		select {
		case <-done:
		case <-ctx.Done():
			// The result may have come meanwhile: who sets the second bit takes it.
			if op.state.Or(opGone)&opResult == 0 {
				var zero T
				return zero, ctx.Err()
			}
			// Who has set the result does not touch the operation after this.
			trace.wait(func() bool { return closed(done) })
			<-done
		}
	}
	v, err, held := op.take()
	held.release()
	return v, err
}

// abandoner is an object that can be closed without anybody waiting.
type abandoner interface {
	//level:dispatch noalloc
	abandon()
}

// abandon drops a result that nobody wants.
func (op *Op[T]) abandon() {
	v, err, held := op.take()
	//level:allow noalloc: objects are pointers, which any holds as they are; other results are not what the data path drops
	if a, ok := any(v).(abandoner); ok && err == nil {
		a.abandon()
	}
	held.release()
}
