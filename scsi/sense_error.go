package scsi

import "errors"

// What a command that did not end with GOOD means for its sender. SenseError unwraps to one of these, and
// is also those of the second group that its additional sense code says.
var (
	// ErrBusy: BUSY. Send the command again a little later.
	ErrBusy = errors.New("logical unit busy")
	// ErrTaskSetFull: TASK SET FULL. Send it again when another command of the unit has ended, and keep
	// fewer outstanding.
	ErrTaskSetFull = errors.New("task set full")
	// ErrReservationConflict: another initiator holds a reservation. Do not retry; report it.
	ErrReservationConflict = errors.New("reservation conflict")
	// ErrTaskAborted: another initiator, or a reset, ended the command. Send it again where that is safe.
	ErrTaskAborted = errors.New("task aborted")
	// ErrStatus: any other status, or CHECK CONDITION without usable sense data. Retry a few times.
	ErrStatus = errors.New("unexpected status")
	// ErrRecovered: the command was carried out, after error recovery. Take it as done; count it.
	ErrRecovered = errors.New("recovered error")
	// ErrNotReady: the unit cannot do it now. Retry while it is becoming ready, otherwise report it.
	ErrNotReady = errors.New("not ready")
	// ErrMedium: the data cannot be read or written. Report it; a retry seldom helps.
	ErrMedium = errors.New("medium error")
	// ErrHardware: the unit has failed. Report it.
	ErrHardware = errors.New("hardware error")
	// ErrIllegalRequest: the unit refuses the command as it is. Do not retry.
	ErrIllegalRequest = errors.New("illegal request")
	// ErrUnitAttention: something has happened to the unit; the command was not carried out. Take notice
	// of the code, then send the command again.
	ErrUnitAttention = errors.New("unit attention")
	// ErrDataProtect: the blocks are protected. Do not retry.
	ErrDataProtect = errors.New("data protect")
	// ErrAborted: the unit gave the command up. Send it again a few times.
	ErrAborted = errors.New("aborted command")
	// ErrMiscompare: COMPARE AND WRITE or VERIFY found other data. It is the answer, not a failure.
	ErrMiscompare = errors.New("miscompare")
)

// Narrower meanings, told by the additional sense code.
var (
	// ErrInvalidOpcode: the unit does not know the command. Use another, or do without.
	ErrInvalidOpcode = errors.New("command not supported")
	// ErrLBAOutOfRange: beyond the end. The unit is smaller than the caller thinks: read its capacity.
	ErrLBAOutOfRange = errors.New("logical block address out of range")
	// ErrUnitNotSupported: there is no such logical unit, or no longer. Report it gone.
	ErrUnitNotSupported = errors.New("logical unit not supported")
	// ErrNoSpace: a thin provisioned unit has no space left. Report ENOSPC; retry after room was made.
	ErrNoSpace = errors.New("no space left on the logical unit")
	// ErrWriteProtected: the unit is read only. Report EROFS.
	ErrWriteProtected = errors.New("write protected")
	// ErrMediumNotPresent: there is nothing in the drive.
	ErrMediumNotPresent = errors.New("medium not present")
)

// SenseError is a command that did not end with GOOD.
type SenseError struct {
	Status   Status
	HasSense bool // Sense is what the device server sent with it
	Sense    Sense
}

// Error returns the sense data in words, or the status where there is none.
func (e *SenseError) Error() string {
	if e.HasSense && e.Status == StatusCheckCondition {
		return e.Sense.String()
	}
	if e.HasSense {
		return e.Status.String() + ", " + e.Sense.String()
	}
	return e.Status.String()
}

// Unwrap returns the sentinel of the first group: the class by status and sense key.
func (e *SenseError) Unwrap() error {
	switch e.Status {
	case StatusBusy:
		return ErrBusy
	case StatusTaskSetFull:
		return ErrTaskSetFull
	case StatusReservationConflict:
		return ErrReservationConflict
	case StatusTaskAborted:
		return ErrTaskAborted
	}
	if !e.HasSense {
		return ErrStatus
	}
	switch e.Sense.Key {
	case KeyRecoveredError:
		return ErrRecovered
	case KeyNotReady:
		return ErrNotReady
	case KeyMediumError:
		return ErrMedium
	case KeyHardwareError:
		return ErrHardware
	case KeyIllegalRequest:
		return ErrIllegalRequest
	case KeyUnitAttention:
		return ErrUnitAttention
	case KeyDataProtect:
		return ErrDataProtect
	case KeyAbortedCommand:
		return ErrAborted
	case KeyMiscompare:
		return ErrMiscompare
	}
	return ErrStatus
}

// Is says whether target is the narrower meaning of the additional sense code.
func (e *SenseError) Is(target error) bool {
	if !e.HasSense {
		return false
	}
	switch e.Sense.ASC {
	case ASCInvalidOpcode:
		return target == ErrInvalidOpcode
	case ASCLBAOutOfRange:
		return target == ErrLBAOutOfRange
	case ASCUnitNotSupported:
		return target == ErrUnitNotSupported
	case ASCSpaceAllocation:
		return target == ErrNoSpace
	}
	switch e.Sense.ASC.Code() {
	case ASCWriteProtected.Code():
		return target == ErrWriteProtected
	case ASCMediumNotPresent.Code():
		return target == ErrMediumNotPresent
	}
	return false
}
