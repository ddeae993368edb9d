package miniport

import (
	"sync/atomic"
	"time"

	"minisrp/verbs/dispatch"
)

// The recovery of commands climbs a ladder, each step with its own deadline:
//
//	deadline of the SRB → ABORT TASK → unit reset → target reset → bus reset → lost
//
// An abort is the executor's and its victim's; many are under way at once. From the
// unit reset on, the unit as a whole recovers, with its gate closed.

// expire is called when an SRB's deadline passes.
func (e *executor) expire(f *dispatch.Frame, s *SRB) {
	u := s.unit
	if s.stage == stageAborting {
		e.escalate(f, s)
		return
	}
	u.aborts.Add(1)
	s.timedOut = true
	a := e.free
	if a == nil {
		e.escalate(f, s)
		return
	}
	e.free, a.next = a.next, nil
	a.victim = s
	s.stage = stageAborting
	e.wheel.arm(f, s, abortTimeout)
	a.Token.arm()
	s.path.adapter.mp.AbortTask(f, s, &a.Token)
}

// abortEnded is told the end of an ABORT TASK. If the victim is still there it is
// released, or, when the abort has not worked, its unit is reset.
func (e *executor) abortEnded(f *dispatch.Frame, a *abort, ok bool) {
	s := a.victim
	a.victim = nil
	a.next, e.free = e.free, a
	switch {
	case s == nil || s.stage != stageAborting:
	case ok:
		// The deadline of the abort stays: a release that does not end escalates too.
		s.path.adapter.mp.ReleaseIO(f, s)
	default:
		e.escalate(f, s)
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

func (e *executor) escalate(f *dispatch.Frame, s *SRB) {
	e.wheel.cancel(s)
	s.stage = stageReset
	s.unit.ladder.wanted.Store(true)
	s.unit.ladder.dpc.Queue(f)
}

// step is where a unit's recovery is.
type step uint8

const (
	stepIdle step = iota
	stepUnit
	stepTarget
	stepBus
	stepDrain // the reset has ended; what was started is on its way back
)

// ladder is the recovery of one unit.
//
// Ownership: by the frame that owns the first lane's processor, except the atomics.
type ladder struct {
	unit   *Unit
	dpc    dispatch.DPC
	timer  dispatch.Timer
	tokens [stepBus + 1]Token
	step   step
	path   *Path

	wanted atomic.Bool // an SRB asks for a reset
	active atomic.Bool // the unit's last completion is to wake the ladder
}

func (l *ladder) init(u *Unit) {
	l.unit = u
	p := u.lanes[0].ex.proc
	l.dpc.Init(p, l.run)
	l.timer.Init(p, l.late)
	for s := stepUnit; s <= stepBus; s++ {
		l.tokens[s].init(p, func(f *dispatch.Frame, ok bool) { l.ended(f, s, ok) })
	}
}

// run begins a recovery that is wanted, and ends one that has drained.
func (l *ladder) run(f *dispatch.Frame) {
	switch {
	case l.step == stepIdle && l.wanted.Swap(false):
		l.unit.gate.Add(1)
		l.active.Store(true)
		l.path = l.victimPath()
		l.climb(f, stepUnit)
	case l.step == stepDrain && l.unit.inflight.Load() == 0:
		l.finish(f)
	}
}

// victimPath returns the path to reset: the one in use.
func (l *ladder) victimPath() *Path {
	if p := l.unit.pick(l.unit.lanes[0]); p != nil {
		return p
	}
	return (*l.unit.paths.Load())[0]
}

var stepTimeout = [...]time.Duration{stepUnit: unitResetTimeout, stepTarget: targetResetTimeout, stepBus: busResetTimeout}

// climb goes to a step.
func (l *ladder) climb(f *dispatch.Frame, to step) {
	l.step = to
	l.unit.resets.Add(1)
	l.timer.Arm(f, stepTimeout[to])
	t := &l.tokens[to]
	t.arm()
	mp := l.path.adapter.mp
	switch to {
	case stepUnit:
		mp.ResetUnit(f, l.path, t)
	case stepTarget:
		mp.ResetTarget(f, l.path, t)
	case stepBus:
		mp.ResetBus(f, t)
	}
}

// ended is told the end of a step. One that has been given up already does not count.
func (l *ladder) ended(f *dispatch.Frame, s step, ok bool) {
	switch {
	case s != l.step:
	case !ok:
		l.late(f)
	default:
		l.step = stepDrain
		u := l.unit
		if s == stepUnit {
			// No task is at the unit any more: take back what was started there.
			for _, lane := range u.lanes {
				u.sweep.Or(lane.bit)
			}
			u.kick()
		}
		l.dpc.Queue(f)
	}
}

// late is called when a step's deadline passes, or it has failed.
func (l *ladder) late(f *dispatch.Frame) {
	switch l.step {
	case stepUnit:
		l.climb(f, stepTarget)
	case stepTarget, stepDrain:
		l.climb(f, stepBus)
	case stepBus:
		// The adapter does not end what it has started. It keeps the memory; the unit
		// is given up.
		l.unit.setLost(true)
		l.finish(f)
	}
}

// finish opens the gate.
func (l *ladder) finish(f *dispatch.Frame) {
	l.timer.Cancel(f)
	l.step = stepIdle
	l.active.Store(false)
	l.wanted.Store(false)
	l.unit.Resume()
}

// release takes back what the lane has started, after a unit reset.
func (l *lane) release(f *dispatch.Frame) {
	for s := l.out; s != nil; {
		next := s.nextOut
		l.ex.wheel.cancel(s)
		s.stage = stageReset
		s.path.adapter.mp.ReleaseIO(f, s)
		s = next
	}
}
