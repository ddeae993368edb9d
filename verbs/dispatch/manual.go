package dispatch

import "time"

// manualClock stands still until it is moved.
type manualClock struct{ now time.Duration }

// NewManual makes a processor without a goroutine, on a clock that stands at 0.
// RunUntilIdle and Advance drive it, from one goroutine.
func NewManual(name string, opts ...Option) *Processor {
	c := &manualClock{}
	p := newProcessor(name, func() time.Duration { return c.now }, opts)
	p.manual = c
	p.wake = make(chan struct{}, 1)
	return p
}

// RunUntil runs what is queued, and what others queue, until done is closed. The
// clock stands still.
//
//level:passive
func (p *Processor) RunUntil(done <-chan struct{}) {
	for {
		p.RunUntilIdle()
		select {
		case <-done:
			p.RunUntilIdle()
			return
		case <-p.wake:
		}
	}
}

// RunUntilIdle runs what is queued, and what that queues, until nothing is left.
// Timers fire only by Advance.
//
//level:passive
func (p *Processor) RunUntilIdle() {
	for !p.queue.Empty() {
		var f Frame
		p.Raise(&f)
		f.Lower()
	}
}

// Idle reports whether nothing is queued.
func (p *Processor) Idle() bool { return p.queue.Empty() }

// Advance moves the clock on by d, stopping at each timer on the way and running
// until idle there. It also runs what was queued before.
//
//level:passive
func (p *Processor) Advance(d time.Duration) {
	p.RunUntilIdle()
	end := p.manual.now + d
	for t := p.timers.head; t != nil && t.deadline <= end; t = p.timers.head {
		p.manual.now = max(p.manual.now, t.deadline)
		p.timerDPC.Post()
		p.RunUntilIdle()
	}
	p.manual.now = end
}

// NextTimer returns how far the earliest timer of a manual processor is away, and
// false when none is armed.
func (p *Processor) NextTimer() (time.Duration, bool) {
	if t := p.timers.head; t != nil {
		return max(0, t.deadline-p.manual.now), true
	}
	return 0, false
}
