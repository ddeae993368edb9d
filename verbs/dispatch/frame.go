package dispatch

import "time"

// Frame is the evidence that its holder runs at Dispatch. Functions at Dispatch
// take it first and hand it on; none keeps it.
//
// Ownership: storage of the goroutine that raised it, valid from Raise to Lower.
// The zero value is ready for Raise.
type Frame struct {
	twin  twinFrame
	p     *Processor
	owns  bool // p's drain flag is held by this frame
	fresh bool // now is valid for this batch
	now   time.Duration
}

// Processor returns the processor that the frame was raised on.
func (f *Frame) Processor() *Processor { return f.p }

// On reports whether the frame owns p: only then may state that p serialises be
// touched at once. If not, queue a DPC. Level: Dispatch.
//
//level:dispatch noalloc
func (f *Frame) On(p *Processor) bool {
	f.Assert()
	return f.owns && f.p == p
}

// Now returns the processor's monotonic clock, read at most once a batch.
// Level: Dispatch.
//
//level:dispatch noalloc
func (f *Frame) Now() time.Duration {
	f.Assert()
	if !f.fresh {
		f.now, f.fresh = f.p.clock(), true
	}
	return f.now
}

// Lower leaves Dispatch and drains on the way out, so that what was started
// since Raise completes here if it can. When another goroutine owns the
// processor, that one runs it.
//
//level:passive
func (f *Frame) Lower() {
	p := f.p
	if !f.owns {
		if p.queue.Empty() || !p.take() {
			f.twinLeave()
			f.p = nil
			return
		}
		f.owns = true
	}
	p.drain(f)
	f.twinLeave()
	f.p, f.owns = nil, false
}
