package disk

import (
	"errors"
	"fmt"

	"minisrp/miniport"
	"minisrp/scsi"
)

// What requests complete with, beside *Error, which unwraps to one of these too.
var (
	// ErrRange: the range goes beyond the end of the disk. The caller is wrong, or the disk has shrunk: look at
	// Info.
	ErrRange = errors.New("beyond the end of the disk")
	// ErrAlignment: Offset or Length is no multiple of the logical block. The caller is wrong.
	ErrAlignment = errors.New("not aligned to the logical block")
	// ErrInvalid: the operation is unknown, the segments are not Length bytes in all, not in their regions, too
	// many for one block, or not such as the adapter can reach. The caller is wrong.
	ErrInvalid = errors.New("invalid request")
	// ErrClosed: the disk is closed.
	ErrClosed = errors.New("disk is closed")
	// ErrGone: the unit, or every way to it, is gone or being stopped. Nothing was executed of what is reported
	// so. Scan again and open the disk anew.
	ErrGone = errors.New("disk is gone")
	// ErrChanged: another unit, or another block size, is where the disk was. Open it anew.
	ErrChanged = errors.New("another disk is in its place")
	// ErrNoSpace: a thin unit has no room for the blocks. They are as before; write again when room was made.
	ErrNoSpace = errors.New("no space left on the disk")
	// ErrReadOnly: the disk is write protected. Nothing was written.
	ErrReadOnly = errors.New("disk is read only")
	// ErrMedium: the blocks cannot be read or written. Error.LBA is the first of them, if the unit has told it.
	// Another write may mend it.
	ErrMedium = errors.New("medium error")
	// ErrNotReady: the unit was not ready for as long as it is waited for. Try later.
	ErrNotReady = errors.New("disk is not ready")
	// ErrBusy: the unit was busy for as long as it is waited for. Nothing was executed; try later.
	ErrBusy = errors.New("disk is busy")
	// ErrNoMedium: there is nothing in the drive.
	ErrNoMedium = errors.New("no medium in the drive")
	// ErrReserved: another initiator holds a reservation of the disk. Do not retry; ask who has the disk.
	ErrReserved = errors.New("disk is reserved by another initiator")
	// ErrTimeout: the unit did not answer in time, or was reset, again and again. Of a write any part may have
	// been executed, and nothing will be any more.
	ErrTimeout = errors.New("disk does not answer")
	// ErrIO: any other failure of the unit. Of a write any part may have been executed.
	ErrIO = errors.New("input/output error")
	// ErrSlow: zeroing would be no faster than writing zeros, and Request.Fast was set. Write them.
	ErrSlow = errors.New("zeroing is no faster than writing")
	// ErrUnsupported: the unit has a write cache and no command to flush it. Nothing is known to be durable.
	ErrUnsupported = errors.New("not supported by the disk")
	// ErrLostWrites: the unit has lost writes that it had acknowledged. Each Flush ends so until AcceptLoss, so
	// that everybody who relies on flushes learns it. Stop using the data, check them, write them again.
	ErrLostWrites = errors.New("disk has lost acknowledged writes")
)

// Errors of Open.
var (
	// ErrNoUnit: the target has no logical unit at this address. Scan again.
	ErrNoUnit = errors.New("no such logical unit")
	// ErrNotDisk: the unit is no direct access block device.
	ErrNotDisk = errors.New("not a disk")
	// ErrNoCapacity: the disk has no blocks. It may get some: open it again after a capacity change.
	ErrNoCapacity = errors.New("disk has a capacity of 0")
	// ErrBlockSize: the logical block is not such as requests can be made of.
	ErrBlockSize = errors.New("unusable logical block size")
)

// Error is a command that the unit, or the port in its place, did not end well after all retries.
//
// It unwraps to the sentinel of this package that says what to do, and is (errors.Is) also those of package scsi
// that its sense data mean. The Error in Request.Err is a part of the request, and valid until it is submitted
// again: failing allocates nothing.
type Error struct {
	Op         Op
	LBA        uint64 // first block concerned, as the unit tells, else the command's first
	Blocks     uint32 // of the command; 0: not of a range
	CDB        scsi.CDB
	Status     miniport.Status
	SCSIStatus scsi.Status // with StatusError
	HasSense   bool        // Sense is what the unit sent
	Sense      scsi.Sense
	Retries    uint8 // tries after the first

	meaning error
}

// Error returns the command, what it was about, and what the unit said.
func (e *Error) Error() string {
	text := scsi.CommandName(e.CDB[:])
	if e.Blocks != 0 {
		text += fmt.Sprintf(" at LBA %d, %d blocks", e.LBA, e.Blocks)
	}
	text += ": " + e.meaning.Error()
	switch {
	case e.Status == miniport.StatusError:
		text += " (" + e.answer().Error() + ")"
	case e.Status != miniport.StatusSuccess:
		text += " (" + e.Status.String() + ")"
	}
	if e.Retries != 0 {
		text += fmt.Sprintf(", tried %d times", int(e.Retries)+1)
	}
	return text
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.meaning }

// Is reports whether target is what the unit's answer means to package scsi.
func (e *Error) Is(target error) bool {
	return e.Status == miniport.StatusError && errors.Is(e.answer(), target)
}

func (e *Error) answer() *scsi.SenseError {
	return &scsi.SenseError{Status: e.SCSIStatus, HasSense: e.HasSense, Sense: e.Sense}
}
