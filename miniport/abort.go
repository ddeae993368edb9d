package miniport

import "minisrp/verbs/dispatch"

// abortsAtOnce is how many ABORT TASKs an executor has under way at a time. More
// deadlines than that in one moment escalate to a unit reset by themselves.
const abortsAtOnce = 32

// abort is an ABORT TASK under way. It outlives its victim, whose response may come
// first.
type abort struct {
	Token
	victim *SRB
	next   *abort
}

// initAborts makes the storage of aborts.
func (e *executor) initAborts() {
	e.aborts = make([]abort, abortsAtOnce)
	for i := range e.aborts {
		a := &e.aborts[i]
		a.Token.init(e.proc, func(f *dispatch.Frame, ok bool) { e.abortEnded(f, a, ok) })
		a.next, e.free = e.free, a
	}
}

// expire is called when an SRB's deadline passes, or that of its abort.
//
//level:dispatch noalloc
func (e *executor) expire(f *dispatch.Frame, s *SRB) {
	if s.stage == stageAborting {
		e.escalate(f, s)
		return
	}
	s.unit.aborts.Add(1)
	s.timedOut = true
	e.reportDeadline(s)
	a := e.free
	if a == nil || !a.Token.arm() {
		e.escalate(f, s)
		return
	}
	e.free, a.next = a.next, nil
	a.victim = s
	s.stage = stageAborting
	e.wheel.arm(f, s, abortTimeout)
	s.path.adapter.mp.AbortTask(f, s, &a.Token)
}

// abortEnded is told the end of an ABORT TASK. If the victim is still there it is
// released. When the abort has not worked, its unit is reset; but targets answer so also
// when they have answered the victim before, so there is a moment for that to end.
//
//level:dispatch noalloc
func (e *executor) abortEnded(f *dispatch.Frame, a *abort, ok bool) {
	s := a.victim
	a.victim = nil
	a.next, e.free = e.free, a
	switch {
	case s == nil || s.stage != stageAborting:
	case ok:
		// The deadline of the abort stays: a release that does not end escalates too.
		s.lane.release(f, s)
	default:
		e.wheel.arm(f, s, abortGrace)
	}
}

// forgetAborts parts a completed SRB from the abort that is still under way for it.
func (e *executor) forgetAborts(s *SRB) {
	for i := range e.aborts {
		if e.aborts[i].victim == s {
			e.aborts[i].victim = nil
		}
	}
}

// escalate asks for a reset of the SRB's unit.
func (e *executor) escalate(f *dispatch.Frame, s *SRB) {
	e.wheel.cancel(s)
	s.stage = stageReset
	s.escalated = true
	l := &s.unit.ladder
	l.stuck.Add(1)
	l.wanted.Store(true)
	l.dpc.Queue(f)
}
