package lun

import (
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// Function is a task management function (SAM-5 7).
type Function uint8

const (
	AbortTask        Function = iota // the task with a tag, of the nexus
	AbortTaskSet                     // all tasks of the nexus at the unit
	ClearTaskSet                     // all tasks at the unit
	LogicalUnitReset                 // all tasks at the unit, which forgets its state
)

// Response is the service response of a task management function (SAM-5 7.1).
type Response uint8

const (
	// FunctionComplete: none of the tasks meant will move another byte, be it that they are gone, or never were.
	FunctionComplete Response = iota
	// IncorrectLUN: there is no unit at the LUN.
	IncorrectLUN
	// FunctionRejected: the function is not one of the above.
	FunctionRejected
)

// TMFOwner is told that a task management function is done.
type TMFOwner interface {
	// FunctionDone says that m.Response holds, and that m is the owner's again.
	//
	//level:dispatch noalloc
	FunctionDone(f *dispatch.Frame, m *TMF)
}

// TMF is one task management function.
//
// Ownership: the target's, preallocated and used again; the server's from Manage to FunctionDone, which comes once
// and never inside Manage.
type TMF struct {
	// Request.
	Function Function
	Nexus    *Nexus
	LUN      scsi.LUN
	Tag      uint64 // AbortTask: of the task

	// Result.
	Response Response

	// Fixed after Init.
	owner TMFOwner
	dpc   dispatch.DPC

	// Processor.
	next *TMF
	seq  uint64 // tasks that came later are not meant
	left int    // tasks that it still waits for
}

// Init binds the function to its server and owner. It is called once, before the first Manage.
func (m *TMF) Init(s *Server, o TMFOwner) {
	m.owner = o
	m.dpc.Init(s.proc, func(f *dispatch.Frame) { m.owner.FunctionDone(f, m) })
}

// covers says whether the function means t, a task of its set.
func (m *TMF) covers(t *Task) bool {
	if t.seq > m.seq {
		return false
	}
	switch m.Function {
	case preemptTasks:
		return t.unit != nil && t.unit.reservation.preempts(t)
	case AbortTask:
		return t.Nexus == m.Nexus && t.Tag == m.Tag
	case AbortTaskSet:
		return t.Nexus == m.Nexus
	}
	return true
}

// Manage carries out a task management function. The tasks that it means are aborted at once: what has not begun
// to work does not, and those that move data at that moment are waited for. The answer comes when every one of them
// has left the task set or cannot move a byte any more. Tasks of the function's own nexus end Quiet; those of others with
// TASK ABORTED or, if TAS is 0 in the Control mode page, Quiet too, and their nexus is told by a unit attention. Level:
// Dispatch.
//
//level:dispatch noalloc
func (s *Server) Manage(f *dispatch.Frame, m *TMF) {
	s.mustOwn(f)
	_, u, place := s.view.Load().lookup(m.LUN)
	set := &s.strays
	switch {
	case m.Function > LogicalUnitReset:
		s.answer(f, m, FunctionRejected)
		return
	case place == placeUnit:
		set = &u.set
	case place == placeAbsent:
		// Tasks there are answered at once, but may still be on their way out.
		if !set.any(m) {
			s.answer(f, m, IncorrectLUN)
			return
		}
	}
	m.seq, m.left = set.seq, 0
	told := true
	if u != nil {
		told = u.modes.means.abortedTold
	}
	if m.Function == LogicalUnitReset && u != nil {
		u.reset()
	}
	for t := set.head; t != nil; t = t.next {
		if !m.covers(t) {
			continue
		}
		own := t.Nexus == m.Nexus
		if !own && !told && m.Function != LogicalUnitReset {
			s.cleared(t)
		}
		s.abort(f, t, own || !told)
		if !t.fenced {
			m.left++
		}
	}
	if m.left == 0 {
		s.answer(f, m, FunctionComplete)
		return
	}
	m.next, set.functions = set.functions, m
}

// reset makes the unit forget what initiators have set.
func (u *Unit) reset() {
	u.happened(eventReset)
	u.stats.Resets++
	u.modes.reset()
	u.reservation.legacyHeld = false
	u.stopped = false
}

// cleared notes that the nexus of a task is to be told that another has aborted it.
func (s *Server) cleared(t *Task) {
	if v := t.server.view.Load(); t.Slot >= 0 && v.slots[t.Slot].unit == t.unit {
		t.Nexus.owe(v, t.Slot, conditionCleared)
	}
}

func (s *Server) answer(f *dispatch.Frame, m *TMF, r Response) {
	m.Response = r
	m.dpc.Queue(f)
}

// any says whether the set has a task that m would mean.
func (q *taskSet) any(m *TMF) bool {
	m.seq = q.seq
	for t := q.head; t != nil; t = t.next {
		if m.covers(t) {
			return true
		}
	}
	return false
}

// countOff tells the functions that wait that t has left.
func (q *taskSet) countOff(f *dispatch.Frame, t *Task) {
	for at := &q.functions; *at != nil; {
		m := *at
		if m.covers(t) {
			if m.left--; m.left == 0 {
				*at, m.next = m.next, nil
				m.Response = FunctionComplete
				m.dpc.Queue(f)
				continue
			}
		}
		at = &m.next
	}
}

// Abort aborts a task as its own nexus would, for a target whose connection to the initiator is gone: the task ends
// Quiet. The target still gets TaskReady or TaskDone where it waits for one, and calls Release. Level: Dispatch.
//
//level:dispatch noalloc
func (s *Server) Abort(f *dispatch.Frame, t *Task) {
	s.mustOwn(f)
	if t.set != nil {
		s.abort(f, t, true)
	}
}

func (s *Server) abort(f *dispatch.Frame, t *Task, quiet bool) {
	t.Quiet = t.Quiet || quiet
	if t.aborted {
		return
	}
	t.aborted = true
	if t.unit != nil {
		t.unit.stats.Aborted++
	}
	switch t.state {
	case taskDormant:
		t.fenced = true
		t.set.enable(f, t)
	case taskWorking:
		t.fenced = t.claim.CompareAndSwap(claimQueued, claimCancelled)
	}
}
