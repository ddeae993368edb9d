package lun

import (
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// kind is what Execute does for a task.
type kind uint8

const (
	kindNone  kind = iota
	kindReply      // hand out t.reply
	kindLBAStatus
	kindSpace
	kindSetGroups
	kindPreFetch
	kindReserveIn
	kindReserveOut
	kindFlush

	// Those from here on touch blocks.

	kindRead
	kindWrite
	kindUnmap
	kindWriteSame
	kindVerify     // that the blocks can be read
	kindVerifyData // and are the data
	kindVerifySame // and are all like one block
	kindWriteVerify
	kindCompareWrite
	kindOr
	kindModeSelect // all of them
	kindStartStop  // so too
)

// inOnePiece says whether the task's data is looked at as a whole: there is not more of it than MinBuffer.
func (k kind) inOnePiece() bool {
	return k == kindUnmap || k == kindWriteSame || k == kindVerifySame || k == kindModeSelect || k == kindReserveOut || k == kindSetGroups
}

// sends says whether data goes to the initiator; if not, it may come from there.
func (k kind) sends() bool {
	return k == kindReply || k == kindRead || k == kindLBAStatus || k == kindReserveIn || k == kindSpace
}

// Prepare takes a task into its task set, checks the command, and says what is to be done: see Verdict, and the
// task's Plan. The order of the checks is that of SAM-5 and SPC-5: the logical unit, unit attentions, the operation
// code, whether the unit may be used, the CDB's fields, the blocks. After Prepare comes Execute, if the verdict is
// Proceed, and always Release. Level: Dispatch.
//
//level:dispatch noalloc
func (s *Server) Prepare(f *dispatch.Frame, t *Task) Verdict {
	s.mustOwn(f)
	if t.set != nil {
		panic("lun: Prepare of a task that has not been released")
	}
	t.Slot, t.Data = -1, nil
	t.Status, t.Quiet, t.senseLen = scsi.StatusGood, false, 0
	t.enabled, t.aborted, t.fenced, t.parked, t.counted = false, false, false, false, false
	t.unplan()
	if t.claim.Load() != claimNone { // a store costs more
		t.claim.Store(claimNone)
	}

	set := &s.strays
	n, u, place := s.view.Load().lookup(t.LUN)
	if u != nil && !u.enter() {
		n, u, place = -1, nil, placeAbsent
	}
	if u != nil {
		set = &u.set
	}
	t.Slot, t.unit, t.place = n, u, place
	if !set.enter(t) {
		t.state = taskDormant
		return Blocked
	}
	return s.start(t)
}

// unplan takes back what a command's prepare function has laid down.
func (t *Task) unplan() {
	t.In, t.Out, t.Mapped, t.Window = 0, 0, false, 0
	t.kind, t.reply, t.wanted, t.conflict = kindNone, nil, 0, false
	t.exclusive, t.whole, t.fua, t.hole, t.noData, t.met = false, false, false, false, false, false
	t.away = false
}

// start begins a task that may run.
func (s *Server) start(t *Task) Verdict {
	t.state = taskReady
	if t.parked {
		t.parked = false
		t.unplan()
	}
	if t.aborted {
		return t.end(scsi.StatusTaskAborted)
	}
	c, known := s.commands.find(&t.CDB)
	switch t.place {
	case placeAbsent:
		if c == nil || c.flags&absentToo == 0 && !(c.flags&lunZeroToo != 0 && isZero(t.LUN)) {
			return t.fail(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported)
		}
	case placeWellKnown:
		if c == nil || c.flags&wellKnownToo == 0 {
			return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidOpcode)
		}
	case placeUnit:
		t.Nexus.relative = s.port.Relative
		if c == nil || c.flags&despiteAttention == 0 {
			if v := s.view.Load(); v.slots[t.Slot].unit == t.unit {
				if code := t.Nexus.attend(v, t.Slot); code != 0 {
					return t.fail(scsi.KeyUnitAttention, code)
				}
			}
		}
	}
	switch {
	case c == nil && known && t.CDB[0] == byte(scsi.OpVariableLength):
		return t.badField(8, -1) // the service action
	case c == nil && known:
		return t.badField(1, 4)
	case c == nil:
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidOpcode)
	case t.Attribute > scsi.TaskOrdered:
		return t.fail(scsi.KeyIllegalRequest, ascInvalidMessage) // no ACA here, nor any other attribute
	}
	if t.place == placeUnit {
		if code := s.inaccessible(t, c); code != 0 {
			return t.fail(scsi.KeyNotReady, code)
		}
		if t.unit.stopped && c.flags&usesMedium != 0 {
			return t.fail(scsi.KeyNotReady, scsi.ASCNotReadyInitializing)
		}
	}
	if t.place == placeUnit && t.unit.reservation.conflicts(t) {
		return t.end(scsi.StatusReservationConflict)
	}
	if p, found := c.refused(&t.CDB); found {
		return t.badField(int(p.Byte), p.Bit)
	}
	if t.CDB[0] == byte(scsi.OpVariableLength) && (int(t.CDB[7])+8 != c.Length || t.CDBLength != 0 && int(t.CDBLength) < c.Length) {
		return t.badField(7, -1) // ADDITIONAL CDB LENGTH
	}
	if c.flags&changesMedium != 0 {
		switch {
		case t.unit.cfg.ReadOnly:
			return t.fail(scsi.KeyDataProtect, scsi.ASCWriteProtected)
		case t.unit.modes.means.protected:
			return t.fail(scsi.KeyDataProtect, ascSoftwareProtected)
		}
	}
	v := c.prepare(s, t)
	if v == Proceed && t.kind > kindFlush && t.set.mustWait(t) {
		t.set.park(t)
		return Blocked
	}
	return v
}

// ascInvalidMessage is INVALID MESSAGE ERROR, the answer to a task attribute that cannot be had (SAM-5 8.6).
const ascInvalidMessage scsi.ASC = 0x4900

// ascSoftwareProtected is LOGICAL UNIT SOFTWARE WRITE PROTECTED.
const ascSoftwareProtected scsi.ASC = 0x2702

func isZero(l scsi.LUN) bool {
	n, ok := l.Unit()
	return ok && n == 0
}
