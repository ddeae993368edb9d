package srp

import (
	"encoding/binary"
	"fmt"
)

// TaskFunction is the TASK MANAGEMENT FUNCTION of SRP_TSK_MGMT (SRP r16a clause 6.7).
type TaskFunction uint8

const (
	AbortTask        TaskFunction = 0x01 // ABORT TASK: the one that TaskTag names
	AbortTaskSet     TaskFunction = 0x02 // ABORT TASK SET: this nexus' tasks on the logical unit
	ClearTaskSet     TaskFunction = 0x04 // CLEAR TASK SET: all tasks on the logical unit, of whatever nexus
	LogicalUnitReset TaskFunction = 0x08 // LOGICAL UNIT RESET
	ClearACA         TaskFunction = 0x40 // CLEAR ACA
)

// String returns the SCSI architecture model's name.
func (f TaskFunction) String() string {
	switch f {
	case AbortTask:
		return "ABORT TASK"
	case AbortTaskSet:
		return "ABORT TASK SET"
	case ClearTaskSet:
		return "CLEAR TASK SET"
	case LogicalUnitReset:
		return "LOGICAL UNIT RESET"
	case ClearACA:
		return "CLEAR ACA"
	}
	return fmt.Sprintf("unknown task management function 0x%02x", uint8(f))
}

// TaskManagement is SRP_TSK_MGMT (SRP r16a clause 6.7). Its answer is a Response with a response code.
type TaskManagement struct {
	Notification SolicitedNotification
	Tag          uint64
	LUN          [8]byte
	Function     TaskFunction
	TaskTag      uint64 // TAG OF TASK TO BE MANAGED, for AbortTask; Linux fills in all ones for the others

	fault fault
}

// Encode writes the IU to b and returns its length, TaskManagementLen. It fails with a FormatError if b is shorter.
func (t *TaskManagement) Encode(b []byte) (n int, err error) {
	if err := t.fault.room(b, OpTaskManagement, TaskManagementLen); err != nil {
		return 0, err
	}
	b[1] = byte(t.Notification)
	binary.BigEndian.PutUint64(b[8:], t.Tag)
	copy(b[20:28], t.LUN[:])
	b[30] = byte(t.Function)
	binary.BigEndian.PutUint64(b[32:], t.TaskTag)
	return TaskManagementLen, nil
}

// Decode reads the IU from b. It fails with a FormatError if b is shorter than TaskManagementLen or something else. The
// function may be an unknown one, which a target answers with ResponseNotSupported.
func (t *TaskManagement) Decode(b []byte) error {
	*t = TaskManagement{}
	if err := t.fault.received(b, OpTaskManagement, TaskManagementLen); err != nil {
		return err
	}
	t.Notification = SolicitedNotification(b[1])
	t.Tag = binary.BigEndian.Uint64(b[8:])
	copy(t.LUN[:], b[20:28])
	t.Function = TaskFunction(b[30])
	t.TaskTag = binary.BigEndian.Uint64(b[32:])
	return nil
}
