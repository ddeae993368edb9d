package passthrough

import (
	"errors"
	"fmt"
	"strings"

	"minisrp/scsi"
)

// ErrRefused says that a command is not on the list. The user sends another.
var ErrRefused = errors.New("command is not allowed here")

// entry is a command that is allowed.
type entry struct {
	op      scsi.Opcode
	actions []uint16 // service actions; nil: it has none
	out     bool     // it takes data from the initiator
}

// allowed is the list.
var allowed = []entry{
	{op: 0x00}, // TEST UNIT READY
	{op: 0x03}, // REQUEST SENSE
	{op: 0x12}, // INQUIRY
	{op: 0x1a}, // MODE SENSE (6)
	{op: 0x25}, // READ CAPACITY (10)
	{op: 0x4d}, // LOG SENSE
	{op: 0x5a}, // MODE SENSE (10)
	{op: 0x5e, actions: []uint16{0, 1, 2, 3}},                     // PERSISTENT RESERVE IN: all
	{op: 0x5f, actions: []uint16{0, 1, 2, 3, 4, 5, 6}, out: true}, // PERSISTENT RESERVE OUT: all but REGISTER AND MOVE
	{op: 0x9e, actions: []uint16{0x10, 0x12}},                     // READ CAPACITY (16), GET LBA STATUS
	{op: 0xa0}, // REPORT LUNS
	{op: 0xa3, actions: []uint16{0x0a, 0x0c, 0x0d}}, // REPORT TARGET PORT GROUPS, SUPPORTED OPERATION CODES, SUPPORTED TASK MANAGEMENT FUNCTIONS
}

// Check returns ErrRefused unless a command is on the list, has the length that its operation code says, and moves data
// the way it does: in or out bytes.
func Check(cdb []byte, in, out int) error {
	if n, ok := scsi.CDBLength(cdb); !ok || n != len(cdb) {
		return fmt.Errorf("%w: the CDB has %d bytes, which operation code %#02x has not", ErrRefused, len(cdb), cdb[:min(1, len(cdb))])
	}
	name := scsi.CommandName(cdb)
	for _, e := range allowed {
		if e.op != scsi.Opcode(cdb[0]) || !e.has(cdb) {
			continue
		}
		switch {
		case e.out && in > 0:
			return fmt.Errorf("%w: %s sends nothing, and %d bytes are to come in", ErrRefused, name, in)
		case !e.out && out > 0:
			return fmt.Errorf("%w: %s takes no data, and there are %d bytes", ErrRefused, name, out)
		}
		return nil
	}
	return fmt.Errorf("%w: %s: want one of %s", ErrRefused, name, List())
}

func (e *entry) has(cdb []byte) bool {
	if e.actions == nil {
		return true
	}
	sa, ok := scsi.ServiceAction(cdb)
	for _, a := range e.actions {
		if ok && a == sa {
			return true
		}
	}
	return false
}

// List names the commands that are allowed.
func List() string {
	var names []string
	for _, e := range allowed {
		actions := e.actions
		if actions == nil {
			actions = []uint16{0}
		}
		for _, a := range actions {
			names = append(names, scsi.CommandName([]byte{byte(e.op), byte(a)}))
		}
	}
	return strings.Join(names, "; ")
}
