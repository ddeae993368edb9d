package miniport

import (
	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// executor is what the port has for each processor: the deadlines of its SRBs, the
// lanes that wait for the adapter, and the storage of aborts.
//
// Ownership: by the frame that owns proc.
type executor struct {
	// Fixed after construction.
	port  *Port
	proc  *dispatch.Processor
	index int

	wheel   wheel
	starved laneList // refused with Busy
	aborts  []abort
	free    *abort
}

// abortsAtOnce is how many ABORT TASKs an executor has under way at a time. More
// deadlines than that in one moment escalate to a unit reset by themselves.
const abortsAtOnce = 32

// abort is an ABORT TASK under way. It outlives its victim, whose response may come
// first.
type abort struct {
	Token
	ex     *executor
	victim *SRB
	next   *abort
}

func newExecutor(p *Port, proc *dispatch.Processor, i int) *executor {
	e := &executor{port: p, proc: proc, index: i, aborts: make([]abort, abortsAtOnce)}
	e.wheel.init(proc, e.expire)
	for i := range e.aborts {
		a := &e.aborts[i]
		a.ex = e
		a.Token.init(proc, func(f *dispatch.Frame, ok bool) { e.abortEnded(f, a, ok) })
		a.next, e.free = e.free, a
	}
	return e
}

// Ready tells the port that StartIO, which said Busy on the frame's processor, may
// say otherwise now. Level: Dispatch, owning the processor.
func (a *Adapter) Ready(f *dispatch.Frame) {
	for _, e := range a.port.execs {
		if f.On(e.proc) {
			e.restartStarved(f)
			return
		}
	}
}

// restartStarved gives each waiting lane a turn, in the order they began to wait.
func (e *executor) restartStarved(f *dispatch.Frame) {
	for l, last := e.starved.head, e.starved.tail; l != nil; l = e.starved.head {
		e.starved.pop()
		l.restart(f)
		if l == last || l.waiting {
			return // everybody had a turn, or the adapter is busy again
		}
	}
}

// laneList is a FIFO of lanes.
type laneList struct{ head, tail *lane }

func (q *laneList) push(l *lane) {
	if l.waiting {
		return
	}
	l.waiting, l.nextWaiting = true, nil
	if q.tail == nil {
		q.head = l
	} else {
		q.tail.nextWaiting = l
	}
	q.tail = l
}

func (q *laneList) pop() {
	l := q.head
	if q.head = l.nextWaiting; q.head == nil {
		q.tail = nil
	}
	l.waiting, l.nextWaiting = false, nil
}

// extension is the SRP miniport's part of an SRB.
type extension struct {
	request  srp.Request
	segments [maxSegments]srp.Segment
}

// maxSegments is how many pieces of memory one SRB can have.
const maxSegments = 16
