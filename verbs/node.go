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
// Close is called, and one for each child until the callback of the child's Close
// has returned. The last reference to go starts the destruction.
type node struct {
	// Fixed after construction.
	dev     *Device
	proc    *dispatch.Processor
	parents [3]*node
	destroy func(ctx context.Context)

	refs    atomic.Int64 // with closingBit once Close was called
	closeOp *Op[None]
	freed   atomic.Bool // the object is destroyed; for leak reports
}

const closingBit = int64(1) << 40

func (n *node) init(dev *Device, p *dispatch.Processor, destroy func(context.Context), parents ...*node) {
	n.dev, n.proc, n.destroy = dev, p, destroy
	copy(n.parents[:], parents)
	n.refs.Store(1)
}

// adopt takes a reference for a child, unless the object is being closed.
func (n *node) adopt() error {
	for {
		r := n.refs.Load()
		if r&closingBit != 0 {
			return ErrClosed
		}
		if n.refs.CompareAndSwap(r, r+1) {
			return nil
		}
	}
}

// adoptAll adopts from each or from none.
func adoptAll(ns ...*node) error {
	for i, n := range ns {
		if err := n.adopt(); err != nil {
			for _, m := range ns[:i] {
				m.drop()
			}
			return err
		}
	}
	return nil
}

// drop gives a reference back.
func (n *node) drop() {
	if n.refs.Add(-1) == closingBit {
		op := n.closeOp
		n.dev.worker.Queue(&op.work)
	}
}

// Close destroys the object: it never fails, flushes or cancels what is pending,
// and its completion is the object's last. A parent may be closed before its
// children: that stays pending until the last child's callback has returned.
// Closing twice completes the second time with ErrClosed. Level: both.
func (n *node) Close(op *Op[None]) {
	for {
		r := n.refs.Load()
		if r&closingBit != 0 {
			op.fail(n.proc, ErrClosed)
			return
		}
		if n.refs.CompareAndSwap(r, r|closingBit) {
			break
		}
	}
	op.prepare(n.proc, n, closeTask{})
	op.closing = n
	n.closeOp = op
	n.drop()
}

type closeTask struct{}

func (closeTask) perform(ctx context.Context, on any, _ *Op[None]) (None, error, bool) {
	n := on.(*node)
	if n.destroy != nil {
		n.destroy(ctx)
	}
	n.freed.Store(true)
	return None{}, nil, true
}

// released is called when the callback of the object's Close has returned.
func (n *node) released() {
	if n == nil {
		return
	}
	for _, p := range n.parents {
		if p != nil {
			p.drop()
		}
	}
}

// abandon closes an object that nobody waits for.
func (n *node) abandon() {
	op := new(Op[None])
	n.Close(op)
	op.Forget()
}

// barrier returns when every DPC that was queued to p before has run.
func barrier(p *dispatch.Processor) {
	done := make(chan struct{})
	var d dispatch.DPC
	d.Init(p, func(*dispatch.Frame) { close(done) })
	d.Post()
	<-done
}
