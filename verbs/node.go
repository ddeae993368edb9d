package verbs

import (
	"context"
	"sync/atomic"

	"minisrp/verbs/dispatch"
)

// node is an object's place in the order of closing: device, PD and CQs, then what
// is made of them.
//
// Ownership: part of its object. It counts one reference for the object until
// Close is called and has cancelled what is pending, one for each operation on the
// object until it is delivered, and one for each child until the callback of the
// child's Close has returned. The last reference to go starts the destruction.
type node struct {
	// Fixed after construction.
	dev     *Device
	proc    *dispatch.Processor
	parents holds
	cancel  func(ctx context.Context) // nil: nothing can be pending
	destroy func(ctx context.Context) // nil: nothing to do

	refs    atomic.Int64 // with closingBit once Close was called
	closeOp *Op[None]
	work    dispatch.Work // runs cancel
}

const closingBit = int64(1) << 40

// holds are nodes that an operation or a child keeps.
type holds [3]*node

func (h holds) release() {
	for _, n := range h {
		if n != nil {
			n.drop()
		}
	}
}

// take takes a reference of each, or of none.
func (h holds) take() error {
	for i, n := range h {
		if n == nil {
			continue
		}
		if err := n.adopt(); err != nil {
			for _, m := range h[:i] {
				if m != nil {
					m.drop()
				}
			}
			return err
		}
	}
	return nil
}

func (n *node) init(dev *Device, p *dispatch.Processor, parents holds) {
	n.dev, n.proc, n.parents = dev, p, parents
	n.refs.Store(1)
}

// adopt takes a reference, unless the object is being closed.
func (n *node) adopt() error {
	for {
		r := n.refs.Load()
		n.dev.trace.stop()
		if r&closingBit != 0 {
			return ErrClosed
		}
		if n.refs.CompareAndSwap(r, r+1) {
			return nil
		}
	}
}

// linger takes a reference also of an object that is being closed, unless its
// destruction has begun.
func (n *node) linger() bool {
	for {
		r := n.refs.Load()
		n.dev.trace.stop()
		if r == closingBit || r == 0 {
			return false
		}
		if n.refs.CompareAndSwap(r, r+1) {
			return true
		}
	}
}

// drop gives a reference back.
func (n *node) drop() {
	n.dev.trace.stop()
	if n.refs.Add(-1) == closingBit {
		n.dev.trace.stop()
		n.dev.worker.Queue(&n.closeOp.work)
	}
}

// Close destroys the object: it never fails, it cancels or flushes what is pending,
// and its completion is the object's last. A parent may be closed before its
// children: that stays pending until the last child's callback has returned.
// Closing twice completes the second time with ErrClosed. Level: both.
func (n *node) Close(op *Op[None]) {
	op.prepare(n.dev, n.proc, n, closeTask{})
	for {
		r := n.refs.Load()
		n.dev.trace.stop()
		if r&closingBit != 0 {
			op.fail(n.dev, "close", ErrClosed)
			return
		}
		if n.refs.CompareAndSwap(r, r|closingBit) {
			break
		}
	}
	// The object's own reference keeps the destruction off until it is dropped below.
	n.closeOp = op
	op.holds = n.parents
	if n.cancel == nil {
		n.drop()
		return
	}
	n.work.InitRunner((*canceller)(n))
	n.dev.worker.Queue(&n.work)
}

type canceller node

// RunWork cancels what is pending on the node.
func (c *canceller) RunWork(ctx context.Context) {
	n := (*node)(c)
	n.cancel(ctx)
	n.drop()
}

type closeTask struct{}

func (closeTask) perform(ctx context.Context, on any, _ *Op[None]) (None, error, bool) {
	if n := on.(*node); n.destroy != nil {
		n.destroy(ctx)
	}
	return None{}, nil, true
}

// abandon closes an object that nobody waits for.
func (n *node) abandon() {
	op := new(Op[None])
	n.Close(op)
	op.Forget()
}

// barrier returns when every DPC that was queued to p before has run.
//
//level:passive
func (d *Device) barrier(p *dispatch.Processor) {
	done := make(chan struct{})
	var last dispatch.DPC
	last.Init(p, func(*dispatch.Frame) { close(done) })
	last.Post()
	d.trace.wait(func() bool { return closed(done) })
	<-done
}
