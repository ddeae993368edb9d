package dispatch

import "time"

// Timer calls a function once, at or after a deadline, on its processor.
//
// Ownership: part of the object that it serves; Arm and Cancel only by a frame
// that owns the processor, so that a cancelled timer cannot fire.
type Timer struct {
	prev, next *Timer
	armed      bool
	round      uint32 // the p.round in which it was armed
	deadline   time.Duration
	p          *Processor
	fn         Func
}

// Init binds t to its processor and function. It is called once.
func (t *Timer) Init(p *Processor, fn Func) { t.p, t.fn = p, fn }

// Armed reports whether the timer will fire.
func (t *Timer) Armed() bool { return t.armed }

// Arm makes t fire d from now (f.Now), also when it was armed for another time.
// Level: Dispatch, on the timer's processor.
//
//level:dispatch noalloc
func (t *Timer) Arm(f *Frame, d time.Duration) { t.ArmAt(f, f.Now()+d) }

// ArmAt makes t fire at the deadline on the clock of f.Now.
// Level: Dispatch, on the timer's processor.
//
//level:dispatch noalloc
func (t *Timer) ArmAt(f *Frame, deadline time.Duration) {
	p := t.p
	p.mustOwn(f)
	if t.armed {
		p.timers.remove(t)
	}
	t.armed, t.deadline, t.round = true, deadline, p.round
	p.timers.insert(t)
	p.publishDeadline()
}

// Cancel disarms t and reports whether it was armed.
// Level: Dispatch, on the timer's processor.
//
//level:dispatch noalloc
func (t *Timer) Cancel(f *Frame) bool {
	t.p.mustOwn(f)
	if !t.armed {
		return false
	}
	t.armed = false
	t.p.timers.remove(t)
	return true
}

func (p *Processor) mustOwn(f *Frame) {
	if !f.On(p) {
		panic("dispatch: timer of " + p.name + " touched by a frame that does not own it")
	}
}

// publishDeadline tells the goroutine when to wake. A deadline that moves later
// is left as it is: one early wake-up costs less than a wake for each change.
func (p *Processor) publishDeadline() {
	if t := p.timers.head; t != nil && int64(t.deadline) < p.next.Load() {
		p.next.Store(int64(t.deadline))
		p.wakeUp()
	}
}

// runTimers is the DPC that fires what is due. What is armed meanwhile, and due at once, waits for the next one, so that
// a timer that arms itself does not keep the processor.
func (p *Processor) runTimers(f *Frame) {
	f.fresh = false
	now := f.Now()
	p.round++
	for t := p.timers.head; t != nil && t.deadline <= now && t.round != p.round; t = p.timers.head {
		p.timers.remove(t)
		t.armed = false
		p.stats.Timers++
		fn, span := t.fn, p.twinBegin()
		fn(f)
		p.twinEndTimer(span, fn)
	}
	p.next.Store(noDeadline)
	p.publishDeadline()
}

// timerList is ordered by deadline. A processor has a handful of timers for each
// channel, mostly armed later than those there, so insertion looks from the end.
type timerList struct{ head, tail *Timer }

func (l *timerList) insert(t *Timer) {
	at := l.tail
	for at != nil && at.deadline > t.deadline {
		at = at.prev
	}
	t.prev = at
	if at == nil {
		t.next, l.head = l.head, t
	} else {
		t.next, at.next = at.next, t
	}
	if t.next == nil {
		l.tail = t
	} else {
		t.next.prev = t
	}
}

func (l *timerList) remove(t *Timer) {
	if t.prev == nil {
		l.head = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.tail = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
}
