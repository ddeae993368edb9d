package lun

import "minisrp/scsi"

// exception returns the informational exception that there is (SBC-4 6.5.8), or 0: a failure that is predicted, be it
// only to test, unless it is not to be told.
func (u *Unit) exception() scsi.ASC {
	e := &u.modes.means.exceptions
	switch {
	case e.Off:
		return 0
	case e.Test:
		return ascFailureFalse
	case u.lost.Load():
		return ascFailure
	}
	return 0
}

// tellException tells everybody of an exception that has come up, if that is the way to do so.
func (u *Unit) tellException() {
	if u.modes.means.exceptions.Method == scsi.ExceptionsAttention && u.exception() != 0 {
		u.happened(eventException)
	}
}

// ascFailure is HARDWARE IMPENDING FAILURE GENERAL HARD DRIVE FAILURE, and ascFailureFalse FAILURE PREDICTION THRESHOLD
// EXCEEDED (FALSE).
const (
	ascFailure      scsi.ASC = 0x5d10
	ascFailureFalse scsi.ASC = 0x5dff
)
