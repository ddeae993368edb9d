package miniport

import (
	"sync/atomic"
	"time"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// Direction says which way an SRB's data goes.
type Direction uint8

const (
	NoData  Direction = iota
	DataIn            // from the unit
	DataOut           // to the unit
)

// Status is what became of an SRB. The names are StorPort's SRB_STATUS_.
type Status uint8

const (
	// StatusPending: not complete.
	StatusPending Status = iota
	// StatusSuccess: the unit answered GOOD, or CONDITION MET, which is how PRE-FETCH
	// and others end when all went well.
	StatusSuccess
	// StatusError: the unit answered something else, in SCSIStatus; its sense data,
	// if any, in Sense. Retry by sense.
	StatusError
	// StatusBusy: the unit was busy for as long as the port retries. Nothing was
	// executed. Retry later.
	StatusBusy
	// StatusDataOverrun: the unit had more data than the SRB asked for, or answered
	// less than its status explains. Do not retry.
	StatusDataOverrun
	// StatusTimeout: the deadline passed and the command was aborted. Whether it had
	// an effect is not known.
	StatusTimeout
	// StatusBusReset: it was at the unit when the unit, its target or the session was
	// reset. Whether it had an effect is not known.
	StatusBusReset
	// StatusNoDevice: the unit or every path to it is gone. Nothing was executed.
	StatusNoDevice
	// StatusFlushed: the port is stopping. Nothing was executed.
	StatusFlushed
	// StatusInvalidRequest: the SRB is not one that the adapter can send. Nothing was
	// executed.
	StatusInvalidRequest
	statusCount
)

var statusText = [...]string{
	"pending", "success", "error", "busy", "data overrun", "timeout", "bus reset",
	"no device", "flushed", "invalid request",
}

func (s Status) String() string {
	if int(s) < len(statusText) {
		return statusText[s]
	}
	return "unknown status"
}

// NotExecuted reports whether the command has had no effect for certain.
func (s Status) NotExecuted() bool {
	switch s {
	case StatusBusy, StatusNoDevice, StatusFlushed, StatusInvalidRequest:
		return true
	}
	return false
}

// SenseSize is the room for sense data in an SRB, in bytes: the most that SPC
// allows.
const SenseSize = 252

// DoneFunc is told that an SRB is complete. The SRB and its memory are the owner's
// again; it may submit it again at once.
//
//level:dispatch noalloc
type DoneFunc func(f *dispatch.Frame, s *SRB)

// SRB is a SCSI request block: one command for one unit.
//
// Ownership: the submitter's, preallocated and used again; the port's from Submit
// until Done is called, exactly once and never inside Submit, and only when remote
// access to its data has become impossible.
type SRB struct {
	// Set by the submitter.
	Done      DoneFunc
	CDB       scsi.CDB
	CDBLength uint8 // 6, 10, 12 or 16; 32 where srp.SessionConfig.MaxCDB says so
	Attribute srp.TaskAttribute
	Direction Direction
	Data      []Segment     // Length bytes in all
	Length    uint32        // bytes to move
	Timeout   time.Duration // 0 means DefaultTimeout
	Owner     any           // the submitter's; a pointer, so that it costs no allocation

	// The result.
	Status      Status
	SCSIStatus  scsi.Status
	Transferred uint32 // bytes moved: Length less the residual
	SenseLength uint8
	sense       [SenseSize]byte

	// The port's.
	unit      *Unit
	path      *Path
	lane      *lane
	next      *SRB // in a queue
	incoming  *SRB // on its way to the lane
	prev      *SRB // at the adapter, with nextOut
	nextOut   *SRB
	stage     stage
	retries   uint8
	timedOut  bool
	released  bool        // its task is not at the unit any more
	escalated bool        // it has asked for a reset of its unit
	dropped   atomic.Bool // Exec does not wait for it any more
	wheel     wheelLink

	// The miniport's extension.
	ext extension
}

// Sense returns the sense data.
func (s *SRB) Sense() []byte { return s.sense[:s.SenseLength] }

// stage is where an SRB is.
type stage uint8

const (
	stageIdle     stage = iota // the owner's
	stageQueued                // in a lane's queue
	stageEnded                 // could not be started; its owner is about to be told
	stageStarted               // at the adapter
	stageAborting              // at the adapter, ABORT TASK sent
	stageReset                 // at the adapter, waiting for a reset to end it
)
