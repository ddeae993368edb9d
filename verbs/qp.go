package verbs

import (
	"context"
	"sync/atomic"
	"time"

	"minisrp/verbs/dispatch"
)

// QPEvent is something that happened to a QP.
type QPEvent uint8

const (
	// Disconnected: the peer has closed the connection (DREQ), or it is gone.
	Disconnected QPEvent = iota
	// QPFatal: the QP went to the error state by itself.
	QPFatal
	// CQOverrun: its CQ had no room; completions are lost and the QP is in error.
	CQOverrun
	qpEventCount
)

var qpEventText = [...]string{"disconnected", "QP error", "CQ overrun"}

func (e QPEvent) String() string { return text(qpEventText[:], e, "QP event") }

// QPEventFunc is told of a QP's events, each kind at least once.
//
//level:dispatch
type QPEventFunc func(f *dispatch.Frame, qp *QP, e QPEvent)

// QPAttr describes a reliable-connected queue pair. It is the caller's and must
// stay unchanged until the operation has ended.
type QPAttr struct {
	SendCQ, RecvCQ   *CQ    // of one processor, which becomes the QP's
	MaxSend, MaxRecv uint32 // work requests, 1 to DeviceAttr.MaxWR
	MaxSGE           uint32 // 1 to DeviceAttr.MaxSGE
	// Access is what the peer may do at all: RemoteRead, RemoteWrite.
	Access Access
	// RNRTimer is how long the peer waits when a message finds no receive. 0 means
	// 10 µs; up to 655 ms (IBA 9.7.5.2.8).
	RNRTimer time.Duration
	Event    QPEventFunc // may be nil
}

// QP is a reliable-connected queue pair.
//
// Ownership: Post, PostRecv and Ring only by frames that own the QP's processor.
type QP struct {
	node
	drv QPDriver
	num uint32

	event    QPEventFunc
	events   atomic.Uint32 // bits of QPEvent
	eventDPC dispatch.DPC
	closed   atomic.Bool

	connecting    atomic.Pointer[Op[ConnectReply]]
	accepting     atomic.Pointer[Op[None]]
	disconnecting atomic.Pointer[Op[None]]
}

// CreateQP makes a QP in the Reset state. Level: both.
// Errors: ErrInvalid, ErrClosed, ErrNoResources.
func (pd *PD) CreateQP(op *Op[*QP], attr *QPAttr) {
	proc := pd.proc
	if attr.SendCQ != nil {
		proc = attr.SendCQ.proc
	}
	err, needs := attr.check(pd), holds{}
	if err == nil {
		needs = holds{&pd.node, &attr.SendCQ.node, &attr.RecvCQ.node}
	}
	op.start(pd.dev, proc, pd, attr, needs, "create QP", err)
}

// maxRNRTimer is the longest that 5 bits can say (IBA 9.7.5.2.8).
const maxRNRTimer = 655360 * time.Microsecond

func (attr *QPAttr) check(pd *PD) error {
	d := &pd.dev.attr
	switch {
	case attr.SendCQ == nil || attr.RecvCQ == nil:
		return invalid("a QP without completion queues")
	case attr.SendCQ.dev != pd.dev || attr.RecvCQ.dev != pd.dev:
		return invalid("completion queues of another device")
	case attr.SendCQ.proc != attr.RecvCQ.proc:
		return invalid("completion queues of two processors")
	case attr.MaxSend < 1 || attr.MaxSend > d.MaxWR || attr.MaxRecv < 1 || attr.MaxRecv > d.MaxWR:
		return invalid("queues of %d and %d requests; the device takes 1 to %d",
			int64(attr.MaxSend), int64(attr.MaxRecv), int64(d.MaxWR))
	case attr.MaxSGE < 1 || attr.MaxSGE > min(d.MaxSGE, MaxSGE):
		return invalid("%d pieces a request; 1 to %d are possible", int64(attr.MaxSGE), int64(min(d.MaxSGE, MaxSGE)))
	case attr.Access&^(RemoteRead|RemoteWrite) != 0:
		return invalid("rights %#x of a QP; it knows only remote read and write", int64(attr.Access))
	case attr.RNRTimer < 0 || attr.RNRTimer > maxRNRTimer:
		return invalid("an RNR timer of %d ns; 0 to %d are possible", int64(attr.RNRTimer), int64(maxRNRTimer))
	}
	return nil
}

func (attr *QPAttr) perform(ctx context.Context, on any, op *Op[*QP]) (*QP, error, bool) {
	pd := on.(*PD)
	qp := &QP{event: attr.Event}
	proc := attr.SendCQ.proc
	qp.eventDPC.Init(proc, qp.runEvents)
	drv, num, err := pd.drv.CreateQP(ctx, attr, qp)
	if err != nil {
		return nil, opError("create QP", pd.dev.attr.Name, err), true
	}
	qp.drv, qp.num = drv, num
	qp.node.init(pd.dev, proc, op.keep())
	qp.node.cancel, qp.node.destroy = qp.cancelPending, qp.destroyQP
	return qp, nil, true
}

// Num returns the queue pair number.
func (qp *QP) Num() uint32 { return qp.num }

// Processor returns the processor that the QP belongs to.
func (qp *QP) Processor() *dispatch.Processor { return qp.proc }

// State returns the state, which may have changed when the caller looks at it.
func (qp *QP) State() QPState { return qp.drv.State() }

// Post queues work requests on the send queue and returns how many it accepted; err
// is why the next was not: ErrState, ErrFull or ErrInvalid. One that is not
// accepted has no completion. The doorbell rings at Lower at the latest, or on Ring. In the Error
// state requests are accepted and complete as flushed. The queue has MaxSend places;
// one is free again when the completion of its request, or of a later one, has been
// polled.
// Level: Dispatch, on the QP's processor.
//
//level:dispatch noalloc
func (qp *QP) Post(f *dispatch.Frame, wrs []WR) (accepted int, err error) {
	f.Assert()
	return qp.drv.Post(f, wrs)
}

// PostRecv queues receives, by the rules of Post. They may be posted from the Init
// state on. Level: Dispatch, on the QP's processor.
//
//level:dispatch noalloc
func (qp *QP) PostRecv(f *dispatch.Frame, wrs []RecvWR) (accepted int, err error) {
	f.Assert()
	return qp.drv.PostRecv(f, wrs)
}

// Ring rings the doorbell now. Level: Dispatch, on the QP's processor.
//
//level:dispatch noalloc
func (qp *QP) Ring(f *dispatch.Frame) {
	f.Assert()
	qp.drv.Ring(f)
}

// Modify takes the QP to a state by IBA 10.3.1. Going to Error flushes what is
// posted; Connect and Accept do the transitions that a connection needs by
// themselves. Level: both. Errors: ErrState, ErrClosed.
func (qp *QP) Modify(op *Op[None], to QPState) {
	err := error(nil)
	if int(to) >= len(modifyTasks) {
		err, to = ErrInvalid, Error
	}
	op.start(qp.dev, qp.proc, qp, modifyTasks[to], holds{&qp.node}, "modify QP", err)
}

// modifyTasks are ready-made so that starting one allocates nothing.
var modifyTasks = [qpStateCount]task[None]{
	modifyTask(Reset), modifyTask(Init), modifyTask(RTR), modifyTask(RTS), modifyTask(SQE), modifyTask(Error),
}

type modifyTask QPState

func (to modifyTask) perform(ctx context.Context, on any, _ *Op[None]) (None, error, bool) {
	qp := on.(*QP)
	return None{}, opError("modify QP", qp.dev.attr.Name, qp.drv.Modify(ctx, QPState(to))), true
}

// Notify tells the consumer of an event. Called by the provider, at both levels.
func (qp *QP) Notify(e QPEvent) {
	qp.events.Or(1 << e)
	qp.eventDPC.Post()
}

func (qp *QP) runEvents(f *dispatch.Frame) {
	bits := qp.events.Swap(0)
	for e := range qpEventCount {
		if bits&(1<<e) != 0 && qp.event != nil && !qp.closed.Load() {
			qp.event(f, qp, e)
		}
	}
}

// cancelPending flushes what is posted and ends what is connecting.
func (qp *QP) cancelPending(ctx context.Context) { qp.drv.Cancel(ctx) }

// destroyQP returns when nothing of the QP can run any more.
func (qp *QP) destroyQP(ctx context.Context) {
	qp.closed.Store(true)
	qp.drv.Destroy(ctx)
	qp.dev.barrier(qp.proc)
}
