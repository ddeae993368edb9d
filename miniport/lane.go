package miniport

import (
	"sync/atomic"

	"minisrp/verbs/dispatch"
)

// lane is a unit's queue on one processor.
//
//	Submit → [incoming, from other processors] → accept → queue → issue → BuildIO →
//	StartIO → out, until Complete
//
// What is queued waits for one of these, and each says when it is over:
//
//	a gate                        Unit.kick
//	the depth                     Unit.leave: granted, or woken
//	BUSY                          the pause timer
//	TASK SET FULL                 the lane's own completions
//	the channel has no room       waiters.serve
//	no path leads to the unit     Adapter.TargetChanged
//
// Ownership: by the frame that owns ex.proc, except incoming, which anyone pushes
// to, granted, and the unit's atomics.
type lane struct {
	// Fixed after construction.
	unit *Unit
	ex   *executor

	incoming dispatch.Stack[SRB, *SRB]
	dpc      dispatch.DPC
	granted  atomic.Int32 // places that others have left to this lane

	queue srbList // not started
	ended srbList // to be told by the DPC
	out   *SRB    // started, linked both ways
	outN  int32

	pause     dispatch.Timer // BUSY
	waitBelow int32          // TASK SET FULL: start nothing until outN is at most this; -1: no

	onIdle chan struct{} // closed when outN is 0

	waiting     *waiters // that the lane is in; nil: none
	nextWaiting *lane
	turn        bool // it is the lane's turn among those that waited

	reset laneReset
}

func newLane(u *Unit, e *executor) *lane {
	l := &lane{unit: u, ex: e, waitBelow: -1}
	l.dpc.Init(e.proc, l.run)
	l.pause.Init(e.proc, l.restart)
	l.initReset()
	return l
}

// Link is where the incoming queue keeps its link.
func (s *SRB) Link() **SRB { return &s.incoming }

// run takes what came from other processors, completes what could not be started, and
// starts what can be.
//
//level:dispatch noalloc
func (l *lane) run(f *dispatch.Frame) {
	if !l.incoming.Empty() {
		s, _ := l.incoming.Take()
		for s != nil {
			next := s.incoming
			s.incoming = nil
			l.queue.push(s)
			s = next
		}
	}
	if l.ended.head != nil {
		l.tell(f, l.ended.take())
	}
	if l.unit.dropping.Load() > 0 {
		l.drop(f)
	}
	if l.reset.asked.Load() != 0 {
		l.beginReset(f, l.reset.asked.Swap(0))
	}
	l.restart(f)
}

// accept starts an SRB, or queues it behind those that wait already.
func (l *lane) accept(f *dispatch.Frame, s *SRB) {
	if l.queue.head == nil && l.take(f) {
		l.issue(f, s)
		return
	}
	s.stage = stageQueued
	l.queue.push(s)
	if l.unit.doomed() {
		l.dpc.Queue(f)
	}
}

// restart starts what is queued, as far as the gates let it, and gives back the
// places that it has no use for.
//
//level:dispatch noalloc
func (l *lane) restart(f *dispatch.Frame) {
	if l.unit.doomed() {
		l.flush(f)
	} else {
		for l.queue.head != nil && l.take(f) && l.issue(f, l.queue.pop()) {
		}
	}
	for l.granted.Load() > 0 {
		l.granted.Add(-1)
		l.unit.leave(f)
	}
}

// flush completes what is queued at a unit that is stopping or gone.
func (l *lane) flush(f *dispatch.Frame) {
	status := StatusNoDevice
	if l.unit.gate.Load()&gateStopping != 0 {
		status = StatusFlushed
	}
	for s := l.queue.head; s != nil; s = s.next {
		s.Status = status
	}
	l.tell(f, l.queue.take())
}

// tell gives SRBs back to their owners. What those submit meanwhile, and ends at once
// too, is not in the list: a chain of such SRBs does not keep the processor.
func (l *lane) tell(f *dispatch.Frame, q srbList) {
	for s := q.pop(); s != nil; s = q.pop() {
		l.done(f, s)
	}
}

// take asks the gates for one start: the lane's, then the unit's depth.
func (l *lane) take(f *dispatch.Frame) bool {
	u := l.unit
	if l.pause.Armed() || l.waiting != nil || u.gate.Load() != 0 || l.waitBelow >= 0 && l.outN > l.waitBelow {
		return false
	}
	l.waitBelow = -1
	granted := l.granted.Load() > 0
	if granted {
		l.granted.Add(-1)
	}
	ok, w := u.enter(l.ex.index, granted)
	u.wake(f, w)
	return ok
}

// issue hands an SRB that has been let through to the adapter. It reports false when
// nothing more can be started for now.
func (l *lane) issue(f *dispatch.Frame, s *SRB) bool {
	p := l.unit.pick(l)
	if p == nil {
		l.putBack(f, s)
		l.forward(f)
		return false
	}
	w := &p.target.waiters[l.ex.index]
	if w.head != nil && !l.turn { // not before those that wait
		l.putBack(f, s)
		w.push(l)
		return false
	}
	s.path, s.lane = p, l
	if status := p.adapter.mp.BuildIO(f, s); status != StatusPending {
		l.fail(f, s, status)
		return true
	}
	switch p.adapter.mp.StartIO(f, s) {
	case Pending:
	case Busy:
		l.putBack(f, s)
		w.push(l)
		return false
	case Gone:
		l.putBack(f, s)
		return false
	default:
		l.fail(f, s, StatusInvalidRequest)
		return true
	}
	s.stage, s.released = stageStarted, false
	s.prev, s.nextOut = nil, l.out
	if l.out != nil {
		l.out.prev = s
	}
	l.out = s
	l.outN++
	timeout := s.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	l.ex.wheel.arm(f, s, timeout)
	return true
}

// fail completes an SRB that could not be started, later.
func (l *lane) fail(f *dispatch.Frame, s *SRB, status Status) {
	l.unit.leave(f)
	s.Status, s.stage = status, stageEnded
	l.ended.push(s)
	l.dpc.Queue(f)
}

// forward moves what is queued to a lane from which a path leads to the unit: a
// session may have fewer channels than the port has processors. The lanes without are
// spread over those with one.
func (l *lane) forward(f *dispatch.Frame) {
	u := l.unit
	n := 0
	for _, to := range u.lanes {
		if u.pick(to) != nil {
			n++
		}
	}
	if n == 0 {
		return
	}
	at := l.ex.index % n
	for _, to := range u.lanes {
		if to == l || u.pick(to) == nil {
			continue
		}
		if at--; at >= 0 {
			continue
		}
		for s := l.queue.pop(); s != nil; s = l.queue.pop() {
			to.incoming.Push(s)
		}
		to.dpc.Queue(f)
		return
	}
}

func (l *lane) putBack(f *dispatch.Frame, s *SRB) {
	s.stage = stageQueued
	s.path = nil
	l.queue.pushFront(s)
	l.unit.leave(f)
}

// done gives an SRB back to its owner.
func (l *lane) done(f *dispatch.Frame, s *SRB) {
	s.stage = stageIdle
	s.path, s.lane = nil, nil
	s.retries = 0
	f.Completing(dispatch.LayerPort)
	s.Done(f, s)
	f.Completed(dispatch.LayerPort)
}
