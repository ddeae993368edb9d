package verbs

import (
	"context"
	"sync/atomic"

	"minisrp/verbs/dispatch"
)

// CQ is a completion queue. It and the QPs that complete to it belong to one
// processor.
//
// Ownership: Poll and Arm only by frames that own the processor.
type CQ struct {
	node
	drv    CQDriver
	notify NotifyFunc
	dpc    dispatch.DPC
	closed atomic.Bool
}

// CreateCQ makes a completion queue that is not armed. Level: both.
// Errors: ErrInvalid, ErrClosed, ErrNoResources.
func (d *Device) CreateCQ(op *Op[*CQ], attr *CQAttr) {
	err := error(nil)
	proc := attr.Processor
	switch {
	case proc == nil:
		proc, err = d.proc, invalid("a CQ without a processor")
	case attr.Entries < 1 || attr.Entries > d.attr.MaxCQE:
		err = invalid("a CQ of %d entries; the device takes 1 to %d", int64(attr.Entries), int64(d.attr.MaxCQE))
	case attr.Vector < 0 || attr.Vector >= d.attr.CompletionVectors:
		err = invalid("completion vector %d; the device has %d", int64(attr.Vector), int64(d.attr.CompletionVectors))
	}
	op.start(d, proc, d, attr, holds{&d.node}, "create CQ", err)
}

func (attr *CQAttr) perform(ctx context.Context, on any, op *Op[*CQ]) (*CQ, error, bool) {
	d := on.(*Device)
	cq := &CQ{notify: attr.Notify}
	cq.dpc.Init(attr.Processor, cq.run)
	drv, err := d.drv.CreateCQ(ctx, attr, cq)
	if err != nil {
		return nil, opError("create CQ", d.attr.Name, err), true
	}
	cq.drv = drv
	cq.node.init(d, attr.Processor, op.keep())
	cq.node.destroy = cq.destroyCQ
	return cq, nil, true
}

// Processor returns the processor that the CQ's callbacks run on.
func (cq *CQ) Processor() *dispatch.Processor { return cq.proc }

// Driver returns the provider's object; for providers.
func (cq *CQ) Driver() CQDriver { return cq.drv }

// Poll takes up to len(wcs) completions and returns how many it took.
// Level: Dispatch, on the CQ's processor.
//
//level:dispatch noalloc
func (cq *CQ) Poll(f *dispatch.Frame, wcs []WC) int {
	f.Assert()
	return cq.drv.Poll(f, wcs)
}

// Arm asks for one notification. Completions that have not been polled yet count:
// they fire it at once. Level: Dispatch, on the CQ's processor.
//
//level:dispatch noalloc
func (cq *CQ) Arm(f *dispatch.Frame) {
	f.Assert()
	if cq.drv.Arm(f) {
		cq.dpc.Queue(f)
	}
}

// Fire notifies the consumer. Called by the provider once for each arm, at
// Dispatch; providers without a frame use FireFromThread.
//
//level:dispatch noalloc
func (cq *CQ) Fire(f *dispatch.Frame) { cq.dpc.Queue(f) }

// FireFromThread is Fire for a provider's own threads.
func (cq *CQ) FireFromThread() { cq.dpc.Post() }

//level:dispatch noalloc
func (cq *CQ) run(f *dispatch.Frame) {
	if !cq.closed.Load() && cq.notify != nil {
		cq.notify(f, cq)
	}
}

// destroyCQ returns when no notification can run any more.
func (cq *CQ) destroyCQ(ctx context.Context) {
	cq.closed.Store(true)
	cq.drv.Destroy(ctx)
	cq.dev.barrier(cq.proc)
}
