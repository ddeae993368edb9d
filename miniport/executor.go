package miniport

import "minisrp/verbs/dispatch"

// executor is what the port has for each processor: the deadlines of its SRBs, the
// storage of aborts, and what is to be logged of them.
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

	reports reports
}

func newExecutor(p *Port, proc *dispatch.Processor, i int) *executor {
	e := &executor{port: p, proc: proc, index: i}
	e.wheel.init(proc, e.expire)
	e.initAborts()
	return e
}
