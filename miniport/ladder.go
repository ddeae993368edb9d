package miniport

import (
	"sync/atomic"
	"time"

	"minisrp/verbs/dispatch"
)

// The recovery of commands climbs a ladder, each step with its own deadline:
//
//	deadline of the SRB → ABORT TASK → unit reset → target reset → bus reset → failed
//
// An abort is the executor's and its victim's; many are under way at once. From the
// unit reset on, the unit as a whole recovers, with its gate closed: the ladder asks
// each lane to have reset what it has started, by each path that it has used, and waits
// until all of that has come back. A lane asks for itself, since only a task management
// function that follows the commands on their own channel reaches all of them.

// step is where a unit's recovery is.
type step uint8

const (
	stepIdle step = iota
	stepUnit
	stepTarget
	stepBus
	stepDrain // the resets have ended; what was started is on its way back
)

var stepTimeout = [...]time.Duration{
	stepUnit: unitResetTimeout, stepTarget: targetResetTimeout, stepBus: busResetTimeout, stepDrain: drainTimeout,
}

func (s step) String() string {
	return [...]string{"none", "the unit is reset", "the target is reset", "the adapter is reset", "waiting for what was reset"}[s]
}

// ladder is the recovery of one unit.
//
//	step    event                              step'
//	idle    an SRB asks for a reset            unit; the gate closes
//	unit    every lane has reset what it has   drain
//	unit    one has not, or deadline           target
//	target  the same                           drain, or bus
//	bus     the same                           drain, or idle: the unit has failed
//	drain   nothing is at the adapter          idle; the gate opens
//	drain   deadline                           the step after the one that has ended
//	any     a lane has not, and nothing is
//	        at the adapter                     idle; the gate opens
//
// Ownership: by the frame that owns the first lane's processor, except the atomics.
type ladder struct {
	unit  *Unit
	dpc   dispatch.DPC
	timer dispatch.Timer
	step  step
	ended step   // in stepDrain: the step that has ended
	round uint64 // of asking the lanes

	wanted atomic.Bool  // an SRB asks for a reset
	stuck  atomic.Int32 // SRBs at the adapter that have asked
	active atomic.Bool  // the last to leave the unit's gates is to wake the ladder
}

func (l *ladder) init(u *Unit) {
	l.unit = u
	p := u.lanes[0].ex.proc
	l.dpc.Init(p, l.run)
	l.timer.Init(p, l.late)
}

// run begins a recovery that is wanted, gathers what lanes have answered, and ends a
// recovery that has drained.
func (l *ladder) run(f *dispatch.Frame) {
	switch l.step {
	case stepIdle:
		if l.wanted.Swap(false) && l.stuck.Load() > 0 {
			l.unit.gate.Add(1)
			l.active.Store(true)
			l.climb(f, stepUnit)
		}
	case stepDrain:
		if l.unit.inflight.Load() == 0 {
			l.finish(f)
		}
	default:
		l.gather(f)
	}
}

// climb goes to a step.
func (l *ladder) climb(f *dispatch.Frame, to step) {
	if to > stepBus {
		// The adapter does not end what it has started. It keeps the memory; the unit is
		// given up until a target that leads to it is logged in to again.
		l.unit.gate.Or(gateFailed)
		l.report(&report{failed: true, unit: l.unit})
		l.finish(f)
		return
	}
	l.step = to
	l.round++
	l.unit.resets.Add(1)
	l.report(&report{step: to, unit: l.unit})
	l.timer.Arm(f, stepTimeout[to])
	for _, lane := range l.unit.lanes {
		lane.reset.ask(f, lane, l.round, to)
	}
}

// report tells what the ladder does.
func (l *ladder) report(of *report) { l.unit.lanes[0].ex.report(of) }

// gather looks at the lanes' answers.
func (l *ladder) gather(f *dispatch.Frame) {
	all, good := true, true
	for _, lane := range l.unit.lanes {
		answered, ok := lane.reset.answered(l.round)
		all, good = all && answered, good && (ok || !answered)
	}
	empty := l.unit.inflight.Load() == 0
	switch {
	case !good && !empty:
		l.climb(f, l.step+1)
	case !all: // they will come
	case empty:
		l.finish(f)
	default:
		l.ended, l.step = l.step, stepDrain
		l.timer.Arm(f, drainTimeout)
	}
}

// late is called when a step's deadline passes.
func (l *ladder) late(f *dispatch.Frame) {
	if l.step == stepDrain {
		l.climb(f, l.ended+1)
	} else {
		l.climb(f, l.step+1)
	}
}

// finish opens the gate.
func (l *ladder) finish(f *dispatch.Frame) {
	l.timer.Cancel(f)
	l.step = stepIdle
	l.active.Store(false)
	// Whoever has asked before this was at the adapter, and is not any more, or has been
	// given up. Who is started from here on may ask anew.
	l.wanted.Store(false)
	l.unit.Resume()
}
