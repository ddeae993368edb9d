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
	slots  [wheelSlots]wheelList
	now    uint64 // in ticks since the wheel was last empty
	armed  int
	timer  dispatch.Timer
	expire expireFunc
}

// expireFunc is given an SRB whose deadline has passed.
//
//level:dispatch
type expireFunc func(f *dispatch.Frame, s *SRB)

// wheelLink is an SRB's place in the wheel.
type wheelLink struct {
	prev, next *SRB
	due        uint64 // tick; 0: not armed
}

type wheelList struct{ head *SRB }

func (w *wheel) init(p *dispatch.Processor, expire expireFunc) {
	w.expire = expire
	w.timer.Init(p, w.turn)
}

// arm sets the SRB's deadline to d from now, rounded up by up to one tick.
func (w *wheel) arm(f *dispatch.Frame, s *SRB, d time.Duration) {
	w.cancel(s)
	due := w.now + 1 + uint64((d+tick-1)/tick)
	s.wheel.due = due
	l := &w.slots[due%wheelSlots]
	s.wheel.prev, s.wheel.next = nil, l.head
	if l.head != nil {
		l.head.wheel.prev = s
	}
	l.head = s
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
	if k.prev != nil {
		k.prev.wheel.next = k.next
	} else {
		w.slots[k.due%wheelSlots].head = k.next
	}
	if k.next != nil {
		k.next.wheel.prev = k.prev
	}
	*k = wheelLink{}
	w.armed--
}

// turn expires what is due. The timer rests while nothing is armed.
func (w *wheel) turn(f *dispatch.Frame) {
	w.now++
	for s := w.slots[w.now%wheelSlots].head; s != nil; {
		next := s.wheel.next
		if s.wheel.due <= w.now {
			w.cancel(s)
			w.expire(f, s)
			// What expire did may have changed the list: look from the start.
			next = w.slots[w.now%wheelSlots].head
			for next != nil && next.wheel.due > w.now {
				next = next.wheel.next
			}
		}
		s = next
	}
	if w.armed > 0 {
		w.timer.Arm(f, tick)
	}
}
