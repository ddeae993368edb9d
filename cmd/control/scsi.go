package control

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Hex is bytes; in JSON, hexadecimal digits, between which spaces may stand.
type Hex []byte

// MarshalText writes the digits.
func (h Hex) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

// UnmarshalText reads them.
func (h *Hex) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		return fmt.Errorf("%.40q is not bytes in hexadecimal digits", text)
	}
	*h = b
	return nil
}

// MaxData bounds the data of a command, in bytes.
const MaxData = 64 << 10

// SCSI asks for one command to be sent. Only those are taken that change no data and no settings of the unit, and
// PERSISTENT RESERVE OUT.
//
// The unit is one that is known, by Unit; or whatever is at Target and LUN, by that path. A unit with several paths gets
// the command by the first that is up.
type SCSI struct {
	Version int    `json:"version"`
	Unit    string `json:"unit,omitempty"`   // a disk's name, or an identity
	Target  string `json:"target,omitempty"` // with LUN, in the place of Unit
	LUN     string `json:"lun,omitempty"`    // a number, or 16 hexadecimal digits behind 0x

	CDB     Hex    `json:"cdb"`
	Out     Hex    `json:"out,omitempty"`        // data for the unit, MaxData at most
	In      int    `json:"in,omitempty"`         // bytes to take of what the unit sends, MaxData at most; the allocation length is in CDB
	Timeout uint32 `json:"timeout_ms,omitempty"` // 0: 30 s
}

// SCSIAnswer is what a unit has answered. That it has refused the command is no error of the request.
type SCSIAnswer struct {
	Version    int    `json:"version"`
	Target     string `json:"target"` // of the path that was taken
	LUN        string `json:"lun"`
	Command    string `json:"command"`         // its name
	Status     uint8  `json:"status"`          // SAM-5 5.3.1: 0 is GOOD
	StatusText string `json:"status_text"`     // GOOD, CHECK CONDITION, …
	Data       Hex    `json:"data"`            // what the unit has sent
	Residual   int    `json:"residual"`        // bytes of In or Out that were not transferred
	Sense      *Sense `json:"sense,omitempty"` // if there was any
}

// Sense is sense data.
type Sense struct {
	Raw      Hex    `json:"raw"`
	Deferred bool   `json:"deferred"` // of an earlier command
	Key      uint8  `json:"key"`
	KeyText  string `json:"key_text"`
	ASC      uint8  `json:"asc"`
	ASCQ     uint8  `json:"ascq"`
	Text     string `json:"text"` // all of it, for people
}

// TaskFunction is a task management function.
type TaskFunction string

// The functions.
const (
	AbortTaskSet TaskFunction = "abort-task-set" // the daemon's own commands at the unit
	ClearTaskSet TaskFunction = "clear-task-set" // everybody's
	UnitReset    TaskFunction = "unit-reset"     // LOGICAL UNIT RESET
	NexusReset   TaskFunction = "nexus-reset"    // I_T NEXUS RESET: the session is ended and made anew, as SRP does it
)

// TaskFunctions lists them.
var TaskFunctions = []TaskFunction{AbortTaskSet, ClearTaskSet, UnitReset, NexusReset}

// Task asks for a task management function. What it aborts of the daemon's own is sent again, unless its effect is not
// known and it must not be.
type Task struct {
	Version  int          `json:"version"`
	Function TaskFunction `json:"function"`
	Unit     string       `json:"unit,omitempty"`   // as SCSI's; every path is told
	Target   string       `json:"target,omitempty"` // alone for NexusReset
	LUN      string       `json:"lun,omitempty"`
}

// TaskAnswer says what became of it.
type TaskAnswer struct {
	Version int        `json:"version"`
	Paths   []TaskPath `json:"paths"`
}

// TaskPath is what a target said.
type TaskPath struct {
	Target   string `json:"target"`
	LUN      string `json:"lun,omitempty"`
	Done     bool   `json:"done"`
	Response string `json:"response"` // in the words of SRP r16a 6.9, or why there was none
	Aborted  int    `json:"aborted"`  // commands of the daemon's own that it ended
}

func (q *SCSI) check() error {
	switch {
	case len(q.CDB) < 6 || len(q.CDB) > 16:
		return fmt.Errorf("cdb has %d bytes, want 6, 10, 12 or 16", len(q.CDB))
	case len(q.Out) > MaxData:
		return tooLong("out", len(q.Out), MaxData)
	case q.In < 0 || q.In > MaxData:
		return fmt.Errorf("in is %d, want 0 to %d", q.In, MaxData)
	case len(q.Out) > 0 && q.In > 0:
		return fmt.Errorf("both out and in are given, want one: commands move data one way")
	case q.Timeout > maxTimeout:
		return fmt.Errorf("timeout_ms is %d, want %d at most", q.Timeout, maxTimeout)
	}
	return checkUnit(q.Unit, q.Target, q.LUN)
}

// maxTimeout bounds a command's, in milliseconds.
const maxTimeout = 10 * 60 * 1000

func (q *Task) check() error {
	for _, f := range TaskFunctions {
		if f == q.Function && f == NexusReset && q.Unit == "" && q.LUN == "" {
			return checkTarget(q.Target)
		}
		if f == q.Function {
			return checkUnit(q.Unit, q.Target, q.LUN)
		}
	}
	return fmt.Errorf("function is %.40q, want %s, %s, %s or %s", q.Function, AbortTaskSet, ClearTaskSet, UnitReset, NexusReset)
}

// checkUnit wants one of both ways to name a unit.
func checkUnit(unit, target, lun string) error {
	switch {
	case len(unit) > maxName:
		return tooLong("unit", len(unit), maxName)
	case len(target) > maxLogin:
		return tooLong("target", len(target), maxLogin)
	case len(lun) > maxName:
		return tooLong("lun", len(lun), maxName)
	case unit != "" && target == "" && lun == "", unit == "" && target != "" && lun != "":
		return nil
	}
	return fmt.Errorf("unit is %.40q, target %.40q and lun %.40q, want a unit, or a target and a lun", unit, target, lun)
}
