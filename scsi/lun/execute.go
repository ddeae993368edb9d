package lun

import (
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// Execute carries out a task that Prepare said to Proceed with, its data fetched. Done means that the result is there
// and, if it is good, that t.In bytes may be sent; Pending that TaskDone will say so. Level: Dispatch.
//
//level:dispatch noalloc
func (s *Server) Execute(f *dispatch.Frame, t *Task) Progress {
	s.mustOwn(f)
	if t.state != taskReady {
		panic("lun: Execute of a task that is not ready")
	}
	if t.aborted {
		t.end(scsi.StatusTaskAborted)
		return Done
	}
	n := t.In
	if !t.kind.sends() {
		n = t.Out
	}
	if n > 0 && !(t.Mapped && len(t.Data) == 0) && !t.trim(n) {
		t.fail(scsi.KeyHardwareError, scsi.ASCInternalTargetFailure)
		return Done
	}
	switch {
	case t.kind == kindReply:
		scatter(t.Data, t.reply)
		if t.away && len(t.Data[0]) > 0 {
			t.Data[0][0] = byte(scsi.QualifierNotConnected)<<5 | t.Data[0][0]&0x1f
		}
	case t.Mapped && t.kind == kindRead:
		scatter(t.Data, t.Memory()[t.Window:])
	case t.Mapped && t.kind == kindWrite:
		gather(t.Memory()[t.Window:], t.Data)
	case t.kind == kindReserveIn:
		t.unit.reservation.report(t)
	case t.kind == kindReserveOut:
		t.state = taskWorking
		t.claim.Store(claimQueued)
		t.unit.reservation.begin(f, t)
		return Pending
	default:
		t.state = taskWorking
		t.claim.Store(claimQueued)
		t.unit.worker.Queue(&t.work)
		return Pending
	}
	t.good()
	return Done
}

// settle makes what the worker has left the result.
func (t *Task) settle() {
	u := t.unit
	switch {
	case t.kind == kindModeSelect:
		t.server.selected(t)
	case t.kind == kindSetGroups && t.changed: // also if it was aborted meanwhile
		t.server.caused(t, eventAccess)
	}
	if u.lost.Load() && !u.lostTold {
		u.lostTold = true
		u.tellException()
	}
	switch {
	case t.aborted:
		t.end(scsi.StatusTaskAborted)
	case t.conflict:
		t.end(scsi.StatusReservationConflict)
	case t.result.Key != scsi.KeyNoSense:
		t.count()
		t.check(t.result)
	default:
		t.good()
	}
}

// count counts a failure of the medium.
func (t *Task) count() {
	if t.result.Key != scsi.KeyMediumError && t.result.Key != scsi.KeyHardwareError {
		return
	}
	switch st := &t.unit.stats; t.kind {
	case kindRead:
		st.ReadErrors++
	case kindVerify, kindVerifyData, kindVerifySame:
		st.VerifyErrors++
	default:
		st.WriteErrors++
	}
}

// good ends a task that did what it was to do.
func (t *Task) good() {
	if t.met {
		t.end(scsi.StatusConditionMet)
	} else {
		t.end(scsi.StatusGood)
	}
	if t.unit == nil {
		return
	}
	st := &t.unit.stats
	switch t.kind {
	case kindStartStop:
		t.unit.stopped = !t.starts
	case kindRead:
		st.Reads++
		st.ReadBytes += uint64(t.In)
	case kindWrite:
		st.Writes++
		st.WrittenBytes += uint64(t.Out)
	case kindWriteSame:
		st.Writes++
	case kindWriteVerify, kindCompareWrite, kindOr:
		if t.kind == kindOr && t.and {
			t.unit.or.next(t.gen, t.policy)
		}
		st.Writes++
		st.WrittenBytes += t.length
	case kindVerify, kindVerifyData, kindVerifySame:
		st.Verifies++
		st.VerifiedBytes += t.length
	case kindFlush:
		st.Flushes++
	case kindUnmap:
		st.Unmaps++
	}
}

// Release takes a task out of its task set. The target calls it once for each Prepare, when the task will move no
// more bytes: its response is on its way, and every transfer before it has ended. Level: Dispatch.
//
//level:dispatch noalloc
func (s *Server) Release(f *dispatch.Frame, t *Task) {
	s.mustOwn(f)
	if t.set == nil || t.state == taskDormant || t.state == taskWorking {
		panic("lun: Release of a task that is not the target's")
	}
	t.set.leave(f, t)
	if t.unit != nil {
		t.unit.exit()
	}
	t.state, t.unit = taskIdle, nil
}

// trim cuts Data to n bytes, and reports false if it is shorter, or in pieces where the worker wants one.
func (t *Task) trim(n uint32) bool {
	if t.kind.inOnePiece() && (len(t.Data) == 0 || len(t.Data[0]) < int(n)) {
		return false
	}
	left := int(n)
	for i, b := range t.Data {
		if len(b) >= left {
			t.Data[i] = b[:left]
			t.Data = t.Data[:i+1]
			return true
		}
		left -= len(b)
	}
	return false
}

func scatter(to [][]byte, from []byte) {
	for _, b := range to {
		from = from[copy(b, from):]
	}
}

func gather(to []byte, from [][]byte) {
	for _, b := range from {
		to = to[copy(to, b):]
	}
}
