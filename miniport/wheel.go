package miniport

import (
	"time"

	"minisrp/verbs/dispatch"
)

// wheel keeps the deadlines of the SRBs of one processor: arming and cancelling
// are a few stores, whatever their number, and read no clock.
//
// Ownership: by the frame that owns the processor.
type wheel struct {
	slots  [wheelSlots]*SRB
	now    uint64 // in ticks that there were something to do
	armed  int
	timer  dispatch.Timer
	cursor *SRB // in turn: the one to look at next
	expire expireFunc
}

// expireFunc is given an SRB whose deadline has passed.
//
//level:dispatch noalloc
type expireFunc func(f *dispatch.Frame, s *SRB)

// wheelLink is an SRB's place in the wheel.
type wheelLink struct {
	prev, next *SRB
	due        uint64 // tick; 0: not armed
}

func (w *wheel) init(p *dispatch.Processor, expire expireFunc) {
	w.expire = expire
	w.timer.Init(p, w.turn)
}

// arm sets the SRB's deadline to d from now, 0 or more. It ends up to two ticks late: d
// is rounded up, and the present tick has begun already.
//
//level:dispatch noalloc
func (w *wheel) arm(f *dispatch.Frame, s *SRB, d time.Duration) {
	w.cancel(s)
	ticks := uint64(d / tick)
	if d%tick != 0 {
		ticks++
	}
	due := w.now + 1 + ticks
	k := &s.wheel
	at := &w.slots[due%wheelSlots]
	k.due, k.prev, k.next = due, nil, *at
	if k.next != nil {
		k.next.wheel.prev = s
	}
	*at = s
	w.armed++
	if !w.timer.Armed() {
		w.timer.Arm(f, tick)
	}
}

// cancel clears the SRB's deadline.
func (w *wheel) cancel(s *SRB) {
	k := &s.wheel
	if k.due == 0 {
		return
	}
	if s == w.cursor {
		w.cursor = k.next
	}
	if k.prev != nil {
		k.prev.wheel.next = k.next
	} else {
		w.slots[k.due%wheelSlots] = k.next
	}
	if k.next != nil {
		k.next.wheel.prev = k.prev
	}
	*k = wheelLink{}
	w.armed--
}

// turn expires what is due; expire may arm and cancel what it likes. The timer rests
// while nothing is armed.
//
//level:dispatch noalloc
func (w *wheel) turn(f *dispatch.Frame) {
	w.now++
	w.cursor = w.slots[w.now%wheelSlots]
	for w.cursor != nil {
		s := w.cursor
		w.cursor = s.wheel.next
		if s.wheel.due <= w.now {
			w.cancel(s)
			w.expire(f, s)
		}
	}
	if w.armed > 0 {
		w.timer.Arm(f, tick)
	}
}
