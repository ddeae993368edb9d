package miniport

import (
	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// executor is what the port has for each processor: the deadlines of its SRBs and the
// storage of aborts.
//
// Ownership: by the frame that owns proc.
type executor struct {
	// Fixed after construction.
	port  *Port
	proc  *dispatch.Processor
	index int

	wheel  wheel
	aborts []abort
	free   *abort
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

// extension is the SRP miniport's part of an SRB.
type extension struct {
	request  srp.Request
	segments [maxSegments]srp.Segment
}

// maxSegments is how many pieces of memory one SRB can have.
const maxSegments = 16
