package control

import (
	"time"

	"minisrp/cmd/srpd/nbd"
)

// Version is the number of the format.
const Version = 1

// Daemon says who serves.
type Daemon struct {
	Version  int       `json:"version"`
	Program  string    `json:"program"` // with its build, for people
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	StateDir string    `json:"state_dir"`
	Listen   []string  `json:"listen"` // NBD: paths and addresses
	Exports  []Export  `json:"exports"`
}

// Export is a name under which a unit is served.
type Export struct {
	Name     string   `json:"name"`
	Unit     string   `json:"unit"`
	ReadOnly bool     `json:"read_only"`
	URIs     []string `json:"uris"`
}

// Targets are the target ports that the daemon is logged in to, or wants to be.
type Targets struct {
	Version int      `json:"version"`
	Targets []Target `json:"targets"`
}

// Target is a target port.
type Target struct {
	Name      string `json:"name"`
	Adapter   string `json:"adapter"` // the HCA
	Address   string `json:"address"`
	TargetID  string `json:"target_id"`    // 128 bits, hexadecimal
	Initiator string `json:"initiator_id"` // likewise
	String    string `json:"login_string"` // as ib_srp's add_target takes it
	Origin    string `json:"origin"`       // who wants it: configuration, embedded (of itself), control (by AddTarget)
	State     string `json:"state"`        // connecting, up, failed (for last_error; it is tried again), suspended, logged-out (by Logout), closed
	Lost      bool   `json:"lost"`         // away for longer than it is waited for
	Logins    uint64 `json:"logins"`       // that have succeeded
	LastError string `json:"last_error,omitempty"`

	Session  *Session  `json:"session,omitempty"` // what the last login has agreed on
	Channels []Channel `json:"channels"`          // of the current session
}

// Session is what a login has agreed on.
type Session struct {
	Channels      int    `json:"channels"`
	Fewer         string `json:"fewer,omitempty"` // why they are fewer than asked for
	QueueSize     int    `json:"queue_size"`      // commands a channel
	Credits       int    `json:"credits"`         // that each channel began with
	MaxITIU       int    `json:"max_it_iu"`       // bytes of an IU to the target
	MaxTIIU       int    `json:"max_ti_iu"`       // bytes of an IU from the target
	ImmediateData int    `json:"immediate_data"`  // bytes of a write that may travel in the IU; 0 is none
	Formats       string `json:"formats"`         // data buffer descriptor formats in use
	MaxSegments   int    `json:"max_segments"`    // of a command
	MaxTransfer   uint32 `json:"max_transfer"`    // bytes of a command
	Protect       string `json:"protect"`         // how memory is kept from the target, in words
}

// Channel is a channel, and what it has done.
type Channel struct {
	Index       int     `json:"index"`
	Processor   string  `json:"processor"`
	State       string  `json:"state"` // up, down
	QPN         uint32  `json:"qpn"`   // queue pair number
	Depth       int     `json:"depth"` // commands at a time at most
	Outstanding int     `json:"outstanding"`
	Credits     Credits `json:"credits"`

	Commands      uint64 `json:"commands"`
	Responses     uint64 `json:"responses"`
	Busy          uint64 `json:"busy"` // refused for want of credits or room
	Tasks         uint64 `json:"tasks"`
	TaskResponses uint64 `json:"task_responses"`
	Abandoned     uint64 `json:"abandoned"`
	Late          uint64 `json:"late"` // responses to what had ended
	UnknownTags   uint64 `json:"unknown_tags"`
	UnknownIUs    uint64 `json:"unknown_ius"`
	CreditReqs    uint64 `json:"credit_requests"`
	AsyncEvents   uint64 `json:"async_events"`
	BytesIn       uint64 `json:"bytes_in"`
	BytesOut      uint64 `json:"bytes_out"`
	Immediate     uint64 `json:"bytes_immediate"` // of bytes_out
	Copied        uint64 `json:"bytes_copied"`
	Polls         uint64 `json:"polls"`
	IdlePolls     uint64 `json:"idle_polls"`
}

// Credits is how many requests a target takes at a time on a channel (SRP r16a 5.3, the request limit).
type Credits struct {
	Limit int64 `json:"limit"`      // as the target has set it by now
	InUse int64 `json:"in_use"`     // by requests that are at the target
	Least int64 `json:"least_seen"` // the fewest that were left since the login; 1 is kept for task management
}

// Units are the logical units that were found.
type Units struct {
	Version int    `json:"version"`
	Units   []Unit `json:"units"`
}

// Unit is a logical unit.
type Unit struct {
	Identity string   `json:"identity"`
	Name     string   `json:"name"` // "" if it has none
	Vendor   string   `json:"vendor"`
	Product  string   `json:"product"`
	Revision string   `json:"revision"`
	Error    string   `json:"error,omitempty"` // why it is not served as a disk
	Disk     *Disk    `json:"disk,omitempty"`
	Paths    []Path   `json:"paths"`
	Exports  []string `json:"exports"` // names
}

// Disk is what is known of a unit that is served as a disk.
type Disk struct {
	Serial        string `json:"serial"`
	Size          uint64 `json:"size"`           // bytes
	LogicalBlock  uint32 `json:"logical_block"`  // bytes
	PhysicalBlock uint32 `json:"physical_block"` // bytes
	OptimalIO     uint32 `json:"optimal_io"`     // bytes; 0: not told
	MaxTransfer   uint32 `json:"max_transfer"`   // bytes of one command
	ReadOnly      bool   `json:"read_only"`
	Rotational    bool   `json:"rotational"`
	Thin          bool   `json:"thin"`
	Unmap         bool   `json:"unmap"`
	FUA           bool   `json:"fua"`
	WriteCache    string `json:"write_cache"` // "write back", "write through", "unknown"
}

// Path is a way to a unit.
type Path struct {
	Target    string `json:"target"`
	TargetID  string `json:"target_id"`    // of the target port: 128 bits, hexadecimal
	Initiator string `json:"initiator_id"` // of the initiator port, likewise
	LUN       string `json:"lun"`
	State     string `json:"state"` // of the target; failed: see the unit's error
}

// Counters is what has been counted since the daemon was started.
type Counters struct {
	Version    int          `json:"version"`
	NBD        nbd.Stats    `json:"nbd"`
	Disks      []DiskStats  `json:"disks"`
	Units      []UnitStats  `json:"units"`
	Totals     []UnitTotals `json:"totals"`
	Processors []Processor  `json:"processors"`
	HCAs       []HCA        `json:"hcas"`
	Capture    *Capture     `json:"capture,omitempty"` // what --capture has
}

// Capture is a packet file that is being written.
type Capture struct {
	File     string `json:"file"`
	Messages uint64 `json:"messages"`
	Dropped  uint64 `json:"dropped"`
}

// OpStats are the figures of one operation.
type OpStats struct {
	Ops    uint64 `json:"ops"`
	Bytes  uint64 `json:"bytes"`
	Errors uint64 `json:"errors"`
}

// DiskStats are a disk's.
type DiskStats struct {
	Name        string            `json:"name"`
	Read        OpStats           `json:"read"`
	Write       OpStats           `json:"write"`
	Flush       OpStats           `json:"flush"`
	Unmap       OpStats           `json:"unmap"`
	WriteZeroes OpStats           `json:"write_zeroes"`
	Status      OpStats           `json:"status"` // asking which blocks are kept
	Prefetch    OpStats           `json:"prefetch"`
	Waits       uint64            `json:"waits"`    // requests that found no slot free
	Commands    uint64            `json:"commands"` // sent to the unit
	Completed   uint64            `json:"completed"`
	NotGood     map[string]uint64 `json:"not_good"` // of completed, by what became of them; those that are not 0
}

// UnitTotals is what a unit has been asked for over all runs of the daemon. One that was killed has not counted its last
// minute.
type UnitTotals struct {
	Name         string    `json:"name"`
	Since        time.Time `json:"since"`
	Reads        uint64    `json:"reads"`
	Writes       uint64    `json:"writes"`
	Flushes      uint64    `json:"flushes"`
	Unmaps       uint64    `json:"unmaps"`
	Zeroes       uint64    `json:"zeroes"`
	BytesRead    uint64    `json:"bytes_read"`
	BytesWritten uint64    `json:"bytes_written"`
	Errors       uint64    `json:"errors"`
}

// UnitStats are a unit's in the port driver.
type UnitStats struct {
	Name      string `json:"name"`
	Completed uint64 `json:"completed"`
	QueueFull uint64 `json:"queue_full"`
	Aborts    uint64 `json:"aborts"`
	Resets    uint64 `json:"resets"`
	InFlight  int    `json:"in_flight"`
	Depth     int    `json:"depth"`
}

// Processor is a dispatch processor's.
type Processor struct {
	Name     string `json:"name"`
	Items    uint64 `json:"items"`
	Drains   uint64 `json:"drains"`
	Handoffs uint64 `json:"handoffs"`
	Timers   uint64 `json:"timers"`
}

// HCA is a host channel adapter, in software or in the host.
type HCA struct {
	Name     string            `json:"name"`
	Kind     string            `json:"kind"` // "software", "kernel"
	Port     int               `json:"port"`
	Counters map[string]uint64 `json:"counters,omitempty"`
	Error    string            `json:"error,omitempty"` // why there are none
}
