package lun

import (
	"context"
	"sync/atomic"

	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// Owner is told what becomes of a task that could not go on at once.
type Owner interface {
	// TaskReady says that a task which Prepare had left Blocked may go on with v, Proceed or Finished, as if
	// Prepare had returned it now.
	//
	//level:dispatch noalloc
	TaskReady(f *dispatch.Frame, t *Task, v Verdict)

	// TaskDone says that a task which Execute had left Pending has its result.
	//
	//level:dispatch noalloc
	TaskDone(f *dispatch.Frame, t *Task)
}

// Verdict is what Prepare says about a task.
type Verdict uint8

const (
	// Proceed: fetch t.Out bytes, or have room for t.In bytes, then Execute.
	Proceed Verdict = iota
	// Blocked: an older task comes first. Touch no data; TaskReady follows.
	Blocked
	// Finished: the task has its result, most often CHECK CONDITION. Do not Execute it.
	Finished
)

// Progress is what Execute says about a task.
type Progress uint8

const (
	Done    Progress = iota // the task has its result
	Pending                 // TaskDone follows
)

// Task is one command of an initiator, from its arrival to the last byte that it moves.
//
// Ownership: the target's, preallocated and used again; part of a task set from Prepare to Release. All of it is
// touched only at Dispatch on the server's processor, but by the unit's worker while Execute is Pending.
type Task struct {
	// Request: the target sets it before Prepare and leaves it alone until Release.

	Nexus     *Nexus
	LUN       scsi.LUN
	Tag       uint64 // names the task for ABORT TASK, within its nexus
	Attribute scsi.TaskAttribute
	CDB       scsi.CDB // zeros behind its end; longer CDBs are cut: no command that is known has one
	CDBLength uint8    // bytes that the initiator has sent; 0 means scsi.CDBSize
	InLength  uint32   // bytes that the initiator has room for
	OutLength uint32   // bytes that the initiator offers

	// Plan: valid when Prepare has said Proceed. At most one of In and Out is not 0.

	In     uint32 // bytes to send at most; exactly, once the result is there
	Out    uint32 // bytes to fetch before Execute
	Slot   int    // the LUN's index in the server, for tables that a target keeps beside it; -1: no unit
	Mapped bool   // the data's place is unit memory: In or Out bytes from Window on
	Window uint64 // offset in the unit's Memory

	// Data is the task's memory in pieces, of In or Out bytes in all, or more: Execute cuts it. The first piece has
	// MinBuffer bytes, or all. The target sets it before Execute; Prepare clears it. A Mapped task goes without if
	// the target moves the data between the fabric and the window itself; with Data, Execute copies.
	Data [][]byte

	// Result: valid when Prepare has said Finished, Execute has said Done, or TaskDone was called.

	Status      scsi.Status
	Quiet       bool  // aborted: no response may be sent
	InResidual  int64 // room left over; negative: bytes that found no room
	OutResidual int64 // bytes not wanted; negative: bytes wanted beyond those offered

	sense    [scsi.LongestSense]byte
	senseLen uint8

	// Fixed after Init.

	server *Server
	owner  Owner
	dpc    dispatch.DPC
	work   dispatch.Work

	// Processor.

	state      taskState
	enabled    bool // dormant no more, but its deferred call has not run yet
	parked     bool // dormant because of the blocks that it touches, which are known
	counted    bool // in set.exclusive
	aborted    bool // by anyone
	fenced     bool // moves no more bytes, so no task management function waits for it
	set        *taskSet
	unit       *Unit // nil: none at the LUN
	place      place
	prev, next *Task
	seq        uint64 // order of arrival in the set

	// The command, fixed by Prepare.

	kind      kind
	exclusive bool   // no other task touches its blocks meanwhile
	whole     bool   // it touches all blocks, or cannot say which
	reply     []byte // what a kindReply task answers
	small     [smallReply]byte
	wanted    int64 // bytes that the command moves were the initiator's memory large enough
	off       uint64
	length    uint64
	fua       bool
	hole      bool // WRITE SAME with UNMAP
	noData    bool // WRITE SAME with NDOB
	soon      bool // PRE-FETCH with IMMED
	met       bool // ends with CONDITION MET if it goes well
	and       bool // ORWRITE that clears bits
	policy    uint8
	gen       uint32 // ORWRITE that clears bits: the unit's next generation

	starts  bool   // START STOP UNIT with START
	pointer uint16 // LOG SENSE: the first parameter wanted
	away    bool   // INQUIRY through a port in unavailable state

	values modeValues // MODE SELECT: what it began with, and after the worker what it makes
	keep   bool       // MODE SELECT with SP

	conflict bool  // PERSISTENT RESERVE OUT: it ends with RESERVATION CONFLICT
	after    *Task // the one that is carried out next

	// Worker.

	kept    bool          // the store has saved values
	changed bool          // an access state
	claim   atomic.Uint32 // who has the task while it is queued: see claim states
	result  scsi.Sense    // KeyNoSense: it went well
}

// smallReply holds the longest answer that is made for one task at Dispatch, that of MODE SENSE.
const smallReply = 8 + 16 + len(modeValues{})

// taskState is where a task is in its life.
//
//	state     event                 state'
//	idle      Prepare               ready | dormant | finished
//	dormant   other tasks leave     ready | finished, TaskReady; or dormant
//	dormant   abort                 finished, TaskReady
//	ready     Execute               finished | working
//	working   worker ends           finished, TaskDone
//	ready, finished  Release        idle
type taskState uint8

const (
	taskIdle taskState = iota
	taskDormant
	taskReady
	taskWorking
	taskFinished
)

// Claim states: the worker takes a task from queued to running; an abort takes it from queued to cancelled.
const (
	claimNone uint32 = iota
	claimQueued
	claimRunning
	claimCancelled
)

// Init binds the task to its server and owner. It is called once, before the first Prepare.
func (t *Task) Init(s *Server, o Owner) {
	t.server, t.owner = s, o
	t.dpc.Init(s.proc, t.deliver)
	t.work.Init(t.run)
}

// Sense returns the sense data that goes with Status, none if it is not CHECK CONDITION. It is valid until Release.
func (t *Task) Sense() []byte { return t.sense[:t.senseLen] }

// Memory returns the unit's memory, which Window is an offset of. Only for a Mapped task.
func (t *Task) Memory() []byte { return t.unit.memory.Memory.Bytes() }

// Aborted reports whether the task has been aborted: the target may spare itself moving its data, and calls
// Execute or Release as always.
func (t *Task) Aborted() bool { return t.aborted }

// deliver is the task's deferred call: it brings a dormant task on, or a worker's result home.
//
//level:dispatch noalloc
func (t *Task) deliver(f *dispatch.Frame) {
	switch t.state {
	case taskDormant:
		if v := t.server.start(t); v != Blocked {
			t.owner.TaskReady(f, t, v)
		}
	case taskWorking:
		if t.kind == kindReserveOut && !t.unit.reservation.finish(f, t) {
			return
		}
		t.settle()
		t.owner.TaskDone(f, t)
	default:
		panic("lun: deferred call of a task that waits for nothing")
	}
}

// run is the task's work item.
func (t *Task) run(ctx context.Context) {
	if t.claim.CompareAndSwap(claimQueued, claimRunning) {
		t.result = t.unit.work(ctx, t)
	}
	t.dpc.Post()
}

// end makes a status the result.
func (t *Task) end(st scsi.Status) Verdict {
	t.Status = st
	t.state = taskFinished
	if st != scsi.StatusGood {
		t.In, t.Out, t.wanted = 0, 0, 0
	}
	t.residuals()
	return Finished
}

// check makes CHECK CONDITION with s the result.
func (t *Task) check(s scsi.Sense) Verdict {
	s.Descriptor = t.unit != nil && t.unit.modes.means.descriptors
	t.senseLen = uint8(s.Put(t.sense[:]))
	if t.unit != nil {
		t.unit.stats.Checks++
	}
	return t.end(scsi.StatusCheckCondition)
}

// fail is check with a key and a code only.
func (t *Task) fail(key scsi.SenseKey, code scsi.ASC) Verdict {
	return t.check(scsi.MakeSense(key, code))
}

// badField refuses the CDB for the field whose most significant bit is given; bit -1 means all of the byte.
func (t *Task) badField(at int, bit int8) Verdict {
	s := scsi.MakeSense(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	s.SetField(scsi.FieldPointer{Byte: uint16(at), Bit: bit})
	return t.check(s)
}

// residuals compares what the command moves with the memory that the initiator gave.
func (t *Task) residuals() {
	t.InResidual, t.OutResidual = int64(t.InLength), int64(t.OutLength)
	if t.kind.sends() {
		t.InResidual -= t.wanted
	} else {
		t.OutResidual -= t.wanted
	}
}
