package disk

import (
	"minisrp/miniport"
	"minisrp/scsi"
)

// class is what a command's end means for it.
type class uint8

const (
	classGood      class = iota // carried out
	classFatal                  // not to be tried again
	classRefused                // the unit does not know the command as it is; another form may do
	classAttention              // from here on: not carried out, or not known to be; to be tried again
	classNotReady
	classBusy
	classAborted
	classLink
	classReset
	classTimeout
	classUnclear
	classMedium
	classDeferred
	classes
)

var classText = [classes]string{
	"good", "fatal", "refused", "attention", "not ready", "busy", "aborted", "link", "reset", "timeout", "unclear",
	"medium", "deferred",
}

func (c class) String() string { return classText[c] }

// notes are what the unit has told beside the end of the command.
type notes uint32

const (
	noteLook      notes = 1 << iota // look again at capacity, mode and identity
	noteLUNs                        // other units may be there
	noteThreshold                   // a thin unit is running out of space
	noteLost                        // acknowledged writes are lost
)

// verdict is what is made of a command's end.
type verdict struct {
	class   class
	meaning error // a sentinel; nil for classGood
	notes   notes
}

// judge says what a command's end means. Whether the data are complete is not looked at. It computes.
//
// Trying again is safe whatever the command has done before. All commands of a disk may be executed twice with
// the same result (a WRITE has the same data), as long as no earlier copy can be executed after a later command.
// The port sees to that: it completes an SRB only when the unit has answered it, or has been made to forget it
// (StatusTimeout, StatusBusReset).
func judge(status miniport.Status, answer scsi.Status, s *scsi.Sense, hasSense bool) verdict {
	switch status {
	case miniport.StatusSuccess:
		return verdict{class: classGood}
	case miniport.StatusError:
		return judgeStatus(answer, s, hasSense)
	case miniport.StatusBusy:
		return verdict{classBusy, ErrBusy, 0}
	case miniport.StatusTimeout:
		return verdict{classTimeout, ErrTimeout, 0}
	case miniport.StatusBusReset:
		return verdict{classReset, ErrTimeout, 0}
	case miniport.StatusNoDevice, miniport.StatusFlushed:
		return verdict{classFatal, ErrGone, 0}
	case miniport.StatusInvalidRequest:
		return verdict{classFatal, ErrInvalid, 0}
	}
	return verdict{classFatal, ErrIO, 0}
}

// judgeStatus is for commands that the unit has answered with something else than success (SAM-5 5.3.1).
func judgeStatus(answer scsi.Status, s *scsi.Sense, hasSense bool) verdict {
	switch answer {
	case scsi.StatusBusy, scsi.StatusTaskSetFull, scsi.StatusACAActive:
		return verdict{classBusy, ErrBusy, 0}
	case scsi.StatusReservationConflict:
		return verdict{classFatal, ErrReserved, 0}
	case scsi.StatusTaskAborted:
		return verdict{classAborted, ErrIO, 0}
	case scsi.StatusCheckCondition:
		if hasSense {
			return judgeSense(s)
		}
	}
	return verdict{classUnclear, ErrIO, 0}
}

// judgeSense is by sense key and code (SPC-5 4.4).
func judgeSense(s *scsi.Sense) verdict {
	if s.Deferred {
		return judgeDeferred(s)
	}
	switch s.Key {
	case scsi.KeyRecoveredError, scsi.KeyCompleted:
		return verdict{class: classGood, notes: thresholdNote(s.ASC)}
	case scsi.KeyUnitAttention:
		return verdict{classAttention, ErrIO, attentionNotes(s.ASC)}
	case scsi.KeyNotReady:
		return judgeNotReady(s.ASC)
	case scsi.KeyIllegalRequest:
		return judgeIllegal(s.ASC)
	case scsi.KeyDataProtect:
		switch {
		case s.ASC == scsi.ASCSpaceAllocation:
			return verdict{classFatal, ErrNoSpace, 0}
		case s.ASC.Code() == scsi.ASCWriteProtected.Code():
			return verdict{classFatal, ErrReadOnly, noteLook}
		}
		return verdict{classFatal, ErrIO, 0} // protected from whoever asks, reads too
	case scsi.KeyMediumError:
		switch s.ASC.Code() {
		case 0x11, 0x13, 0x14: // unrecovered read error, address mark or record not found: the unit has tried
			return verdict{classFatal, ErrMedium, 0}
		}
		return verdict{classMedium, ErrMedium, 0}
	case scsi.KeyAbortedCommand:
		switch s.ASC.Code() {
		case scsi.ASCLogicalUnitCommunication.Code():
			return verdict{classLink, ErrIO, 0}
		case scsi.ASCGuardCheck.Code(): // protection information does not fit: it will not the next time either
			return verdict{classFatal, ErrIO, 0}
		}
		return verdict{classAborted, ErrIO, 0}
	case scsi.KeyHardwareError:
		if s.ASC.Code() == scsi.ASCLogicalUnitCommunication.Code() {
			return verdict{classLink, ErrIO, 0}
		}
		return verdict{classFatal, ErrIO, 0}
	case scsi.KeyNoSense:
		return verdict{classUnclear, ErrIO, 0}
	}
	return verdict{classFatal, ErrIO, 0}
}

// judgeDeferred is for sense data about an earlier command that has completed already, and so about a write that
// the cache had taken. The command that it came with was not carried out (SPC-5 4.4.7).
func judgeDeferred(s *scsi.Sense) verdict {
	v := verdict{classDeferred, ErrIO, noteLost}
	switch s.Key {
	case scsi.KeyNoSense, scsi.KeyRecoveredError, scsi.KeyCompleted:
		v.notes = 0
	}
	return v
}

// judgeNotReady tells a unit that will be ready from one that will not without somebody's doing.
func judgeNotReady(code scsi.ASC) verdict {
	switch code {
	case scsi.ASCNotReadyUnknown, scsi.ASCBecomingReady, scsi.ASCNotReadyALUATransition,
		0x0405,                           // rebuild
		0x0406,                           // recalculation
		0x0407,                           // operation
		0x0408,                           // long write
		0x0409,                           // self-test
		0x0411,                           // ENABLE SPINUP required, which the other end of the link sends
		0x0414,                           // space allocation
		0x041a,                           // START STOP UNIT
		0x041d,                           // configuration
		scsi.ASCLogicalUnitNotConfigured: // not self-configured yet
		return verdict{classNotReady, ErrNotReady, 0}
	}
	switch code.Code() {
	case scsi.ASCLogicalUnitCommunication.Code():
		return verdict{classLink, ErrNotReady, 0}
	case scsi.ASCMediumNotPresent.Code():
		return verdict{classFatal, ErrNoMedium, 0}
	}
	return verdict{classFatal, ErrNotReady, 0}
}

// judgeIllegal tells what may be said otherwise from what is wrong.
func judgeIllegal(code scsi.ASC) verdict {
	switch code {
	case scsi.ASCLBAOutOfRange:
		return verdict{classFatal, ErrRange, noteLook}
	case scsi.ASCUnitNotSupported:
		return verdict{classFatal, ErrGone, noteLUNs}
	case scsi.ASCInvalidOpcode, scsi.ASCInvalidFieldInCDB, scsi.ASCInvalidFieldInParameters,
		scsi.ASCParameterListLength, scsi.ASCParameterValue:
		return verdict{classRefused, ErrIO, 0}
	}
	switch code.Code() {
	case scsi.ASCWriteProtected.Code():
		return verdict{classFatal, ErrReadOnly, noteLook}
	case scsi.ASCMediumNotPresent.Code():
		return verdict{classFatal, ErrNoMedium, 0}
	}
	return verdict{classFatal, ErrIO, 0}
}

// attentionNotes are for unit attention conditions (SAM-5 5.14). After a reset of any kind anything may have
// changed: the unit does not report what came before it.
func attentionNotes(code scsi.ASC) notes {
	if code == scsi.ASCReportedLUNsChanged {
		return noteLUNs
	}
	switch code.Code() {
	case scsi.ASCPowerOnReset.Code(), // 29
		scsi.ASCModeParametersChanged.Code(), // 2a, with capacity data changed
		scsi.ASCMediumMayHaveChanged.Code(),  // 28
		scsi.ASCOperatingConditions.Code():   // 3f, with INQUIRY data changed
		return noteLook
	}
	return thresholdNote(code)
}

func thresholdNote(code scsi.ASC) notes {
	if code == scsi.ASCThinThreshold {
		return noteThreshold
	}
	return 0
}
