package miniport

import (
	"minisrp/verbs/dispatch"
)

// lane is a unit's queue on one processor.
//
//	Submit → [incoming, from other processors] → accept → queue → issue → BuildIO →
//	StartIO → out, until Complete
//
// Ownership: by the frame that owns ex.proc, except incoming, which anyone pushes
// to, and the unit's atomics.
type lane struct {
	// Fixed after construction.
	unit *Unit
	ex   *executor
	bit  uint64 // in Unit.starved

	incoming dispatch.Stack[SRB, *SRB]
	dpc      dispatch.DPC

	queue  srbList // not started
	failed srbList // to be completed by the DPC
	out    *SRB    // started, linked both ways
	outN   int32

	pause     dispatch.Timer // BUSY
	waitBelow int32          // QUEUE FULL: start nothing until outN is at most this; -1: no

	onIdle chan struct{} // closed when outN is 0

	waiting     bool // in ex.starved
	nextWaiting *lane
}

func newLane(u *Unit, e *executor) *lane {
	l := &lane{unit: u, ex: e, bit: 1 << e.index, waitBelow: -1}
	l.dpc.Init(e.proc, l.run)
	l.pause.Init(e.proc, l.restart)
	return l
}

// Link is where the incoming queue keeps its link.
func (s *SRB) Link() **SRB { return &s.incoming }

// run takes what came from other processors, completes what could not be started, and
// starts what can be.
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
	for s := l.failed.pop(); s != nil; s = l.failed.pop() {
		l.done(f, s)
	}
	if l.unit.sweep.Load()&l.bit != 0 {
		l.unit.sweep.And(^l.bit)
		l.release(f)
	}
	l.restart(f)
}

// accept starts an SRB, or queues it behind those that wait already.
func (l *lane) accept(f *dispatch.Frame, s *SRB) {
	if l.queue.head != nil || !l.take() {
		s.stage = stageQueued
		l.queue.push(s)
		if l.unit.doomed() {
			l.dpc.Queue(f)
		}
		return
	}
	l.issue(f, s)
}

// restart starts what is queued, as far as the gates let it.
func (l *lane) restart(f *dispatch.Frame) {
	if l.unit.doomed() {
		l.flush(f)
		return
	}
	for l.queue.head != nil && l.take() {
		if !l.issue(f, l.queue.pop()) {
			return
		}
	}
}

// flush completes what is queued at a unit that is stopping or gone.
func (l *lane) flush(f *dispatch.Frame) {
	status := StatusNoDevice
	if l.unit.gate.Load()&gateStopping != 0 {
		status = StatusFlushed
	}
	for s := l.queue.pop(); s != nil; s = l.queue.pop() {
		s.Status = status
		l.done(f, s)
	}
}

// take asks the gates for one start: the lane's, then the unit's depth.
func (l *lane) take() bool {
	u := l.unit
	if l.pause.Armed() || u.gate.Load() != 0 || l.waiting || l.waitBelow >= 0 && l.outN > l.waitBelow {
		return false
	}
	l.waitBelow = -1
	for {
		if u.inflight.Add(1) <= u.depth.Load() {
			// A gate that closed meanwhile waits for inflight: look again after counting.
			if u.gate.Load() == 0 {
				return true
			}
			u.leave()
			return false
		}
		u.starved.Or(l.bit)
		if u.inflight.Add(-1) >= u.depth.Load() {
			return false // whoever completes one sees the bit
		}
	}
}

// issue hands an SRB that has been let through to the adapter. It reports false when
// the adapter takes no more for now.
func (l *lane) issue(f *dispatch.Frame, s *SRB) bool {
	u := l.unit
	p := u.pick(l)
	if p == nil {
		l.putBack(s)
		l.forward(f)
		return false // restarted when a path comes up, or is lost
	}
	s.path, s.lane = p, l
	if status := p.adapter.mp.BuildIO(f, s); status != StatusPending {
		l.fail(f, s, status)
		return true
	}
	switch p.adapter.mp.StartIO(f, s) {
	case Busy:
		l.putBack(s)
		l.ex.starved.push(l)
		return false
	case Gone:
		l.putBack(s)
		return false
	case Refused:
		l.fail(f, s, StatusInvalidRequest)
		return true
	}
	s.stage = stageStarted
	s.prev, s.nextOut = nil, l.out
	if l.out != nil {
		l.out.prev = s
	}
	l.out = s
	l.outN++
	timeout := s.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	l.ex.wheel.arm(f, s, timeout)
	return true
}

// fail completes an SRB that could not be started, later.
func (l *lane) fail(f *dispatch.Frame, s *SRB, status Status) {
	l.unit.leave()
	s.Status = status
	l.failed.push(s)
	l.dpc.Queue(f)
}

// forward moves what is queued to a lane from which a path leads to the unit: a
// session may have fewer channels than the port has processors.
func (l *lane) forward(f *dispatch.Frame) {
	for _, to := range l.unit.lanes {
		if to == l || l.unit.pick(to) == nil {
			continue
		}
		for s := l.queue.pop(); s != nil; s = l.queue.pop() {
			to.incoming.Push(s)
		}
		to.dpc.Queue(f)
		return
	}
}

func (l *lane) putBack(s *SRB) {
	l.unit.leave()
	s.stage = stageQueued
	s.path = nil
	l.queue.pushFront(s)
}

// done gives an SRB back to its owner.
func (l *lane) done(f *dispatch.Frame, s *SRB) {
	s.stage = stageIdle
	s.path, s.lane = nil, nil
	s.retries = 0
	s.Done(f, s)
}

// srbList is a FIFO of SRBs.
type srbList struct{ head, tail *SRB }

func (q *srbList) push(s *SRB) {
	s.next = nil
	if q.tail == nil {
		q.head = s
	} else {
		q.tail.next = s
	}
	q.tail = s
}

func (q *srbList) pushFront(s *SRB) {
	if s.next = q.head; q.head == nil {
		q.tail = s
	}
	q.head = s
}

func (q *srbList) pop() *SRB {
	s := q.head
	if s == nil {
		return nil
	}
	if q.head = s.next; q.head == nil {
		q.tail = nil
	}
	s.next = nil
	return s
}
