package target

import (
	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// command is room for one request of an initiator, SRP_CMD or SRP_TSK_MGMT, with its task and buffers.
//
//	begin -> Prepare -> plan -> buffered -> table -> fetch -> execute -> respond -> finish
//	           |          memory: Buffers    RDMA READ         worker     RDMA WRITE, SEND
//	           Blocked -> TaskReady
//
// Ownership: the channel's.
type command struct {
	// Fixed after build.
	c     *channel
	index uint32

	next  *command // of the list that it is in
	state commandState
	tag   uint64

	recv    uint32 // the receive that it came in, which its descriptors and immediate data are in
	hasRecv bool   // it is not posted again yet
	inSet   bool   // task is with the server

	iu   srp.Command
	task lun.Task

	function bool // it is an SRP_TSK_MGMT
	tm       srp.TaskManagement
	fn       lun.TMF

	// The response, if it is not the task's.
	refused  bool
	status   scsi.Status
	sense    [scsi.FixedSenseSize]byte
	senseLen int

	// What goes wrong with it on purpose: see hold.go.
	faulty  bool // the rest counts
	x       fault.Effect
	timer   dispatch.Timer
	then    heldFor
	verdict lun.Verdict // with heldPrepared
	encoded int         // bytes of the response that is made already; 0: it is not

	// Memory.
	cells           *cells // that it has, or waits for
	need, numPieces int
	pieces          [maxPieces + 1]uint16
	single          [1][]byte // data in one run
	vector          *vector   // and in several
	tableLen        uint32    // of a descriptor table in the initiator's memory, which goes to the first piece; 0: none

	move  move
	mark  uint64 // channel.posted at the last signalled work request
	descs srp.DescList
	one   [srp.DescLen]byte
}

// commandState is what a command waits for.
type commandState uint8

const (
	cmdFree      commandState = iota
	cmdBlocked                // TaskReady
	cmdBuffering              // cells of Buffers
	cmdReading                // the descriptor table
	cmdFetching               // data from the initiator
	cmdWorking                // TaskDone
	cmdSending                // data and response to be taken
	cmdManaging               // FunctionDone
	cmdHeld                   // its timer
)

// begin takes an SRP_CMD, in b, from the receive i.
func (k *command) begin(f *dispatch.Frame, i uint32, b []byte) {
	c := k.c
	k.take(i)
	c.stats.commands++
	err := k.iu.Decode(b, c.immediate)
	k.tag = k.iu.Tag
	if err == nil && c.port.faults != nil && k.spoil(f) {
		return
	}
	if err != nil {
		// Not BUSY, as some targets answer: the initiator would try again for ever.
		k.refuse(f)
		return
	}
	t := &k.task
	t.Nexus, t.LUN, t.Tag = &c.nexus.scsi, scsi.LUNFromBytes(k.iu.LUN), k.tag
	t.Attribute = scsi.TaskAttribute(k.iu.Attribute)
	t.CDB = scsi.CDB{}
	t.CDBLength = uint8(copy(t.CDB[:], k.iu.CDB))
	t.InLength, t.OutLength = k.iu.DataIn.Length, k.iu.DataOut.Length
	v := c.group.server.Prepare(f, t)
	k.inSet = true
	if t.Slot >= 0 {
		c.group.slots[t.Slot].tasks.Add(1)
	}
	k.prepared(f, v)
}

// take makes the command busy with the receive i.
func (k *command) take(i uint32) {
	k.c.busy++
	k.recv, k.hasRecv, k.inSet, k.refused, k.function = i, true, false, false, false
	k.tableLen, k.descs = 0, nil
	k.faulty = false
}

func (k *command) prepared(f *dispatch.Frame, v lun.Verdict) {
	switch {
	case v == lun.Blocked:
		k.state = cmdBlocked
	case k.faulty && k.x.Late > 0:
		k.verdict = v
		k.hold(f, &k.x.Late, heldPrepared)
	case v == lun.Proceed && k.c.state <= chanLeaving:
		k.plan(f)
	default:
		k.respond(f)
	}
}

// plan finds out what memory the data takes and where it is to go.
func (k *command) plan(f *dispatch.Frame) {
	c, t := k.c, &k.task
	buf, n := &k.iu.DataIn, t.In
	if t.Out > 0 {
		buf, n = &k.iu.DataOut, t.Out
	}
	switch {
	case n == 0:
		k.execute(f)
		return
	case buf.Format == srp.DataImmediate && t.Out > 0:
		c.stats.immediate += uint64(n)
		k.single[0] = k.iu.ImmediateData[:n]
		t.Data = k.single[:]
		k.execute(f)
		return
	case buf.Format == srp.DataDirect:
		buf.Desc.Put(k.one[:])
		k.descs = k.one[:]
	case buf.Complete():
		k.descs = buf.List
	case buf.Desc.Len > pieceSize:
		k.refuse(f)
		return
	default:
		k.tableLen = buf.Desc.Len
	}
	need := 0 // a small cell
	if !t.Mapped && (n > smallSize || k.tableLen > 0) {
		need = int((n + pieceSize - 1) / pieceSize)
	}
	if k.tableLen > 0 {
		need++
	}
	if (need > 0 || !t.Mapped) && !c.port.buffers.take(f, k, need) {
		k.state = cmdBuffering
		c.stats.waited++
		return
	}
	k.buffered(f)
}

// buffered goes on when the command has its memory.
func (k *command) buffered(f *dispatch.Frame) {
	t := &k.task
	first := 0
	if k.tableLen > 0 {
		first = 1
	}
	switch n := k.numPieces - first; {
	case t.Mapped:
	case n < 1: // it was aborted while it waited
		t.Data = nil
	case n == 1:
		k.single[0] = k.bytes(first)
		t.Data = k.single[:]
	default:
		for i := range n {
			k.vector.data[i] = k.bytes(first + i)
		}
		t.Data = k.vector.data[:n]
	}
	if k.tableLen > 0 && !t.Aborted() {
		k.state = cmdReading
		buf := &k.iu.DataIn
		if t.Out > 0 {
			buf = &k.iu.DataOut
		}
		buf.Desc.Put(k.one[:])
		k.descs = k.one[:]
		k.move = move{op: verbs.Read, total: k.tableLen}
		k.begun(f)
		return
	}
	k.fetch(f)
}

// tabled goes on when the descriptor table has come.
func (k *command) tabled(f *dispatch.Frame) {
	t := &k.task
	want := k.iu.DataIn.Length
	if t.Out > 0 {
		want = k.iu.DataOut.Length
	}
	k.descs = srp.DescList(k.bytes(0)[:k.tableLen])
	if k.descs.Total() != uint64(want) {
		k.refuse(f)
		return
	}
	k.fetch(f)
}

// fetch reads the data of the initiator, if there is any.
func (k *command) fetch(f *dispatch.Frame) {
	if k.task.Out == 0 || k.task.Aborted() {
		k.execute(f)
		return
	}
	k.state = cmdFetching
	k.move = move{op: verbs.Read, total: k.task.Out}
	k.begun(f)
}

func (k *command) execute(f *dispatch.Frame) {
	if k.c.group.server.Execute(f, &k.task) == lun.Pending {
		k.state = cmdWorking
		return
	}
	k.respond(f)
}

// TaskReady is called by the server.
//
//level:dispatch noalloc
func (k *command) TaskReady(f *dispatch.Frame, t *lun.Task, v lun.Verdict) {
	k.prepared(f, v)
	k.c.settle(f)
}

// TaskDone is called by the server.
//
//level:dispatch noalloc
func (k *command) TaskDone(f *dispatch.Frame, t *lun.Task) {
	k.respond(f)
	k.c.settle(f)
}

// refuse makes CHECK CONDITION, invalid field in CDB, the answer: the descriptors are of no use.
func (k *command) refuse(f *dispatch.Frame) {
	k.c.stats.malformed++
	k.end(f, scsi.StatusCheckCondition, scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
}

// end makes a status the answer, with sense data to CHECK CONDITION.
func (k *command) end(f *dispatch.Frame, st scsi.Status, key scsi.SenseKey, code scsi.ASC) {
	k.refused, k.status, k.senseLen = true, st, 0
	if st == scsi.StatusCheckCondition {
		s := scsi.MakeSense(key, code)
		k.senseLen = s.Put(k.sense[:])
	}
	k.respond(f)
}

// finish makes the command free, with all that it has. Nothing of it moves any more.
func (k *command) finish(f *dispatch.Frame) {
	c := k.c
	if k.inSet {
		k.leaveSet(f)
	}
	if k.hasRecv {
		k.hasRecv = false
		c.repost(k.recv)
	}
	if k.numPieces > 0 {
		c.port.buffers.put(f, k)
	}
	k.state = cmdFree
	c.busy--
	c.free.push(k)
}

// leaveSet lets the server forget the task.
func (k *command) leaveSet(f *dispatch.Frame) {
	k.inSet = false
	k.c.group.server.Release(f, &k.task)
	if k.task.Slot >= 0 {
		k.c.group.slots[k.task.Slot].exit()
	}
}
