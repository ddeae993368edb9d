package lun

import (
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// preemptTasks is the function of the TMF by which PREEMPT AND ABORT waits for the tasks of those it preempts.
const preemptTasks Function = 0x80

// reserveOut prepares PERSISTENT RESERVE OUT (SPC-5 6.17).
func (s *Server) reserveOut(t *Task) Verdict {
	c, err := scsi.ParseReserveOut(t.CDB[:])
	switch n := c.ParameterListLength; {
	case err != nil:
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	case n < 24, n > MinBuffer:
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCParameterListLength)
	}
	switch c.Action {
	case scsi.SAReserve, scsi.SARelease, scsi.SAPreempt, scsi.SAPreemptAbort:
		if c.Scope != 0 {
			return t.badField(2, 7)
		}
	}
	t.kind = kindReserveOut
	return t.take(c.ParameterListLength)
}

// begin carries a command out, or lets it wait for the one that is.
func (r *reservation) begin(f *dispatch.Frame, t *Task) {
	t.after = nil
	switch {
	case r.busy == nil:
		r.carryOut(f, t)
	case r.first == nil:
		r.first, r.last = t, t
	default:
		r.last.after = t
		r.last = t
	}
}

func (r *reservation) carryOut(f *dispatch.Frame, t *Task) {
	r.busy, r.waitedFor, r.applied, r.numNotes = t, false, false, 0
	t.conflict, t.result = false, scsi.Sense{}
	if r.tables == &noTables {
		if !r.making {
			r.making = true
			r.unit.worker.Queue(&r.make)
		}
		return
	}
	r.next = r.now
	if !t.aborted {
		t.conflict, t.result = r.change(t)
	}
	if t.aborted || t.conflict || t.result.Key != scsi.KeyNoSense || !r.keeps() {
		t.dpc.Queue(f)
		return
	}
	t.unit.worker.Queue(&t.work)
}

// finish makes the change, and reports false if tasks that it aborts are still to be waited for. What the store has
// kept is done, also if the command was aborted meanwhile.
func (r *reservation) finish(f *dispatch.Frame, t *Task) bool {
	if !r.applied {
		r.applied = true
		kept := t.claim.Load() == claimRunning
		if !t.conflict && t.result.Key == scsi.KeyNoSense && (kept || !t.aborted) {
			t.claim.Store(claimRunning)
			r.now = r.next
			for i := range r.notes[:r.numNotes] {
				r.owe(&r.notes[i])
			}
			if uint16(t.CDB[1]&0x1f) == scsi.SAPreemptAbort && !r.abortVictims(f, t) {
				return false
			}
		}
	}
	r.busy = nil
	if t := r.first; t != nil {
		r.first = t.after
		r.carryOut(f, t)
	}
	return true
}

// abortVictims aborts the tasks of those who were preempted but t, and reports whether none is to be waited for.
func (r *reservation) abortVictims(f *dispatch.Frame, t *Task) bool {
	m, set := &r.victims, &r.unit.set
	m.Nexus, m.seq, m.left = t.Nexus, set.seq, 0
	told := r.unit.modes.means.abortedTold
	for o := set.head; o != nil; o = o.next {
		if o == t || !m.covers(o) {
			continue
		}
		own := o.Nexus == t.Nexus
		if !own && !told {
			o.server.cleared(o)
		}
		o.server.abort(f, o, own || !told)
		if !o.fenced {
			m.left++
		}
	}
	if m.left == 0 {
		return true
	}
	m.next, set.functions = set.functions, m
	return false
}

// preempts says whether the command that is being carried out aborts t.
func (r *reservation) preempts(t *Task) bool {
	if t == r.busy {
		return false
	}
	for i := range r.notes[:r.numNotes] {
		if r.notes[i].victim && r.notes[i].who.is(t.Nexus) {
			return true
		}
	}
	return false
}

// FunctionDone is called when the tasks that PREEMPT AND ABORT has aborted are gone.
//
//level:dispatch noalloc
func (r *reservation) FunctionDone(f *dispatch.Frame, m *TMF) { r.busy.dpc.Queue(f) }

func (r *reservation) victimsGone(f *dispatch.Frame) { r.FunctionDone(f, &r.victims) }
