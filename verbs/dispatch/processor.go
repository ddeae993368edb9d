package dispatch

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Processor runs DPCs and timers, one at a time.
//
// Ownership: made by New or NewManual, ended by Close of whoever made it, after
// everything that queues to it has been closed. The fields under "owner" are
// touched only by the goroutine that holds the drain flag.
type Processor struct {
	// Fixed after construction.
	name   string
	clock  clockFunc
	manual *manualClock
	served bool // there is a goroutine to pass the flag to
	items  int
	time   time.Duration

	// trace stops at a point in model tests; nil otherwise.
	//
	//level:dispatch noalloc
	trace func(point)

	flag   atomic.Uint32 // flagIdle or flagHeld; a stale read only costs a wake
	handed atomic.Bool   // the held flag has been passed to the goroutine
	queue  Stack[DPC, *DPC]
	wake   chan struct{} // capacity 1: a full channel is a wake under way
	quit   chan struct{}
	done   chan struct{}
	next   atomic.Int64 // deadline of the earliest timer, or noDeadline

	twin twinProcessor

	// Owner.
	pending  list // what is next; the owner queues here at once, others in queue
	timers   timerList
	round    uint32 // counts the times that timers were fired
	timerDPC DPC
	stats    Stats
	frame    Frame // the goroutine's own
}

const (
	flagIdle uint32 = iota
	flagHeld
)

const noDeadline = int64(1<<63 - 1)

// Stats counts what a processor did. Read by Processor.Stats.
type Stats struct {
	Items    uint64 // DPCs run
	Drains   uint64 // times the flag was taken and the queue drained
	Handoffs uint64 // times a budget ended with work left
	Timers   uint64 // timers that fired
}

// clockFunc reads a monotonic clock.
//
//level:dispatch noalloc
type clockFunc func() time.Duration

// Option sets a property of a Processor.
type Option func(*Processor)

// WithBudget bounds one drain: n DPCs (1 to 1<<20) or d (more than 0), whichever
// ends first. The defaults are DefaultItems and DefaultTime.
func WithBudget(n int, d time.Duration) Option {
	return func(p *Processor) { p.items, p.time = max(1, n), max(1, d) }
}

// New makes a processor and starts its goroutine.
func New(name string, opts ...Option) *Processor {
	base := time.Now()
	p := newProcessor(name, func() time.Duration {
		//level:allow std: the clock itself, which frames read once a batch
		return time.Since(base)
	}, opts)
	p.served = true
	p.wake = make(chan struct{}, 1)
	p.quit = make(chan struct{})
	p.done = make(chan struct{})
	go p.loop()
	return p
}

func newProcessor(name string, clock clockFunc, opts []Option) *Processor {
	p := &Processor{name: name, clock: clock, items: DefaultItems, time: DefaultTime}
	for _, o := range opts {
		o(p)
	}
	p.next.Store(noDeadline)
	p.timerDPC.Init(p, p.runTimers)
	return p
}

// Name returns the name given to New.
func (p *Processor) Name() string { return p.name }

// Close ends the processor's goroutine and waits for it. What is still queued is
// not run: its owners were to be closed first.
//
//level:passive
func (p *Processor) Close() {
	AssertPassive()
	if p.quit == nil {
		return
	}
	close(p.quit)
	<-p.done
}

// Stats returns the counters. They are exact when the frame owns the processor.
// Level: Dispatch.
func (p *Processor) Stats(f *Frame) Stats { return p.stats }

// Raise enters Dispatch on p. f is the caller's storage, so that a frame that
// travels through interfaces does not reach the heap; it may be used again after
// Lower. Whether the frame owns the processor is told by f.On(p).
//
// Raising a frame that is raised already is a broken invariant and panics.
//
//level:passive
func (p *Processor) Raise(f *Frame) {
	if f.p != nil {
		panic("dispatch: frame raised twice, on " + f.p.name + " and " + p.name)
	}
	f.p = p
	f.twinEnter()
	f.fresh = false
	f.owns = p.take()
}

// take tries to take the drain flag.
func (p *Processor) take() bool {
	p.at(pointTake)
	return p.flag.Load() == flagIdle && p.flag.CompareAndSwap(flagIdle, flagHeld)
}

// kick makes sure that somebody will look at the queue, without waiting.
func (p *Processor) kick() {
	p.at(pointKick)
	if p.flag.Load() == flagIdle {
		p.wakeUp()
	}
}

func (p *Processor) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// drain runs what is queued and gives the flag up. f owns p.
func (p *Processor) drain(f *Frame) {
	p.stats.Drains++
	var left = p.items
	var started time.Duration
	//level:allow loop: left counts the DPCs; a turn without one has found the queue filled again
	for {
		p.at(pointPop)
		if p.pending.empty() {
			f.fresh = false
		}
		if !p.queue.Empty() {
			p.pending.append(p.queue.Take())
		}
		if p.pending.empty() {
			p.at(pointRelease)
			p.flag.Store(flagIdle)
			p.at(pointRecheck)
			if p.queue.Empty() || !p.take() {
				return
			}
			continue
		}
		d := p.pending.pop()
		d.queued.Store(false)
		p.stats.Items++
		r, span := d.r, p.twinBegin()
		r.RunDPC(f)
		p.twinEnd(span, r)
		if left--; left%timeCheckEvery == 0 {
			f.fresh = false
			if started == 0 {
				started = f.Now()
			}
			if left <= 0 || f.Now()-started >= p.time {
				if p.handOff() {
					return
				}
				left, started = p.items, 0
			}
		}
	}
}

// handOff passes the held flag to the processor's goroutine. It reports false
// when there is nobody to pass it to or nothing left to pass.
func (p *Processor) handOff() bool {
	if !p.served || p.pending.empty() && p.queue.Empty() {
		return false
	}
	p.stats.Handoffs++
	p.at(pointHandOff)
	p.handed.Store(true)
	p.wakeUp()
	return true
}

// loop is the processor's goroutine: it takes over what a drain left, what was
// posted while nobody drained, and the timers.
func (p *Processor) loop() {
	defer close(p.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if d := p.next.Load(); d == noDeadline {
			timer.Stop()
		} else {
			timer.Reset(max(0, time.Duration(d)-p.clock()))
		}
		select {
		case <-p.quit:
			return
		case <-timer.C:
			p.timerDPC.push()
		case <-p.wake:
		}
		p.serve()
		// A drain that handed its work over did so because others should run.
		runtime.Gosched()
	}
}

// serve drains as the processor's goroutine: with the flag that was handed over,
// or with one that it takes.
//
//level:passive
func (p *Processor) serve() {
	f := &p.frame
	p.at(pointServe)
	owns := p.handed.Load() && p.handed.CompareAndSwap(true, false)
	if !owns && (p.queue.Empty() || !p.take()) {
		return
	}
	*f = Frame{p: p, owns: true}
	f.twinEnter()
	p.drain(f)
	f.twinLeave()
	f.p = nil
}
