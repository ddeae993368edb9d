package dispatch

import "sync/atomic"

// Func runs at Dispatch on a processor that the frame owns.
//
//level:dispatch
type Func func(f *Frame)

// RunDPC calls fn.
func (fn Func) RunDPC(f *Frame) { fn(f) }

// Runner is an object that is its own deferred call, so that binding it to a DPC
// allocates nothing.
type Runner interface {
	// RunDPC runs on a processor that f owns.
	//
	//level:dispatch
	RunDPC(f *Frame)
}

// DPC is a deferred call: a function that its processor runs once for each time
// it is queued, and at most once for all the times it is queued before it runs.
//
// Ownership: part of the object that it serves. It may be queued by anyone and
// is run by the owner of its processor; it must not be freed or initialised again
// while queued. Within its function it may be queued again.
type DPC struct {
	next   *DPC
	queued atomic.Bool
	p      *Processor
	r      Runner
}

// Init binds d to its processor and function. It is called once, before the
// first Queue.
func (d *DPC) Init(p *Processor, fn Func) { d.p, d.r = p, fn }

// InitRunner is Init with an object in place of a function.
func (d *DPC) InitRunner(p *Processor, r Runner) { d.p, d.r = p, r }

// Processor returns the processor that Init named.
func (d *DPC) Processor() *Processor { return d.p }

// Queue leaves d for its processor: it runs when the frame is lowered, or when
// whoever owns the processor comes to it; never inside the call. Level: Dispatch.
//
//level:dispatch noalloc
func (d *DPC) Queue(f *Frame) {
	f.Assert()
	p := d.p
	if f.owns && f.p == p {
		if d.claim() {
			p.pending.push(d)
		}
		return
	}
	// Once it is pushed, d may run and belong to somebody else.
	if d.push() && f.p != p {
		p.kick()
	}
}

// Post is Queue for callers that have no frame: workers, timers of the runtime,
// Passive code. It does not wait and may be called at both levels.
//
//level:dispatch noalloc
func (d *DPC) Post() {
	if p := d.p; d.push() {
		p.kick()
	}
}

// push appends d to what the owner will take, unless it is queued already.
func (d *DPC) push() bool {
	if !d.claim() {
		return false
	}
	d.p.queue.Push(d)
	return true
}

// claim reports whether it is the caller who queues d.
func (d *DPC) claim() bool {
	d.p.at(pointPush)
	return !d.queued.Load() && d.queued.CompareAndSwap(false, true)
}

// Link is where the queue keeps its link.
func (d *DPC) Link() **DPC { return &d.next }

// list is an intrusive FIFO of DPCs.
type list struct{ head, tail *DPC }

func (l *list) empty() bool { return l.head == nil }

func (l *list) push(d *DPC) { l.append(d, d) }

// append adds what is linked from head to tail.
func (l *list) append(head, tail *DPC) {
	if l.head == nil {
		l.head = head
	} else {
		l.tail.next = head
	}
	l.tail = tail
}

func (l *list) pop() *DPC {
	d := l.head
	if l.head = d.next; l.head == nil {
		l.tail = nil
	}
	d.next = nil
	return d
}
