package scsi

import "strconv"

// Status is the status code a device server ends a command with (SAM-5 5.3.1).
type Status uint8

const (
	StatusGood                Status = 0x00
	StatusCheckCondition      Status = 0x02
	StatusConditionMet        Status = 0x04
	StatusBusy                Status = 0x08
	StatusReservationConflict Status = 0x18
	StatusTaskSetFull         Status = 0x28
	StatusACAActive           Status = 0x30
	StatusTaskAborted         Status = 0x40
)

// String returns the standard's name, or "status 0xNN" for a reserved code.
func (s Status) String() string {
	switch s {
	case StatusGood:
		return "GOOD"
	case StatusCheckCondition:
		return "CHECK CONDITION"
	case StatusConditionMet:
		return "CONDITION MET"
	case StatusBusy:
		return "BUSY"
	case StatusReservationConflict:
		return "RESERVATION CONFLICT"
	case StatusTaskSetFull:
		return "TASK SET FULL"
	case StatusACAActive:
		return "ACA ACTIVE"
	case StatusTaskAborted:
		return "TASK ABORTED"
	}
	return "status 0x" + hex2(uint8(s))
}

// TaskAttribute says how a command is ordered among the others of its task set (SAM-5 8.6). The
// numbers are those of SRP's TASK ATTRIBUTE field.
type TaskAttribute uint8

const (
	TaskSimple      TaskAttribute = 0
	TaskHeadOfQueue TaskAttribute = 1
	TaskOrdered     TaskAttribute = 2
	TaskACA         TaskAttribute = 4
)

// String returns the standard's name, or "task attribute N" for a reserved code.
func (a TaskAttribute) String() string {
	switch a {
	case TaskSimple:
		return "SIMPLE"
	case TaskHeadOfQueue:
		return "HEAD OF QUEUE"
	case TaskOrdered:
		return "ORDERED"
	case TaskACA:
		return "ACA"
	}
	return "task attribute " + strconv.Itoa(int(a))
}

func hex2(v uint8) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[v>>4], digits[v&15]})
}
