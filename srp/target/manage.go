package target

import (
	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// manage takes an SRP_TSK_MGMT, in b, from the receive i.
func (k *command) manage(f *dispatch.Frame, i uint32, b []byte) {
	c := k.c
	k.take(i)
	c.stats.functions++
	k.state, k.function = cmdManaging, true
	if err := k.tm.Decode(b); err != nil {
		k.finish(f)
		c.violated(f)
		return
	}
	k.tag = k.tm.Tag
	if c.port.faults != nil && k.spoil(f) {
		return
	}
	m := &k.fn
	m.Nexus, m.LUN, m.Tag, m.Function = &c.nexus.scsi, scsi.LUNFromBytes(k.tm.LUN), k.tm.TaskTag, functionOf(k.tm.Function)
	c.group.server.Manage(f, m)
	c.port.sweep(f)
}

// unknownFunction is none of package lun's, so that the server rejects it.
const unknownFunction lun.Function = 0xff

func functionOf(x srp.TaskFunction) lun.Function {
	switch x {
	case srp.AbortTask:
		return lun.AbortTask
	case srp.AbortTaskSet:
		return lun.AbortTaskSet
	case srp.ClearTaskSet:
		return lun.ClearTaskSet
	case srp.LogicalUnitReset:
		return lun.LogicalUnitReset
	}
	return unknownFunction
}

// codeOf is the response code for a function's end (SRP r16a table 24).
func codeOf(r lun.Response) srp.ResponseCode {
	switch r {
	case lun.FunctionComplete:
		return srp.ResponseComplete
	case lun.FunctionRejected:
		return srp.ResponseNotSupported
	}
	return srp.ResponseFieldsInvalid
}

// FunctionDone is called by the server.
//
//level:dispatch noalloc
func (k *command) FunctionDone(f *dispatch.Frame, m *lun.TMF) {
	k.answer(f)
	k.c.settle(f)
}

// answer sends the response to a function that is done.
func (k *command) answer(f *dispatch.Frame) {
	switch {
	case k.c.state > chanLeaving:
		k.finish(f)
	case k.faulty && k.spoilResponse(f):
	default:
		k.state, k.move = cmdSending, move{op: verbs.Write}
		k.begun(f)
	}
}

// sweep takes aborted commands out of the queue for memory, and out of delays, so that nobody waits for them as long as
// for memory or for those.
func (p *Port) sweep(f *dispatch.Frame) {
	p.freeHeld(f)
	p.buffers.sweep(f)
}
