package control

import (
	"fmt"
	"time"
)

// Targets are named in requests by their name, address or target port ID as Targets tells them, or by a login string
// with the same id_ext, ioc_guid and initiator_ext.

// AddTarget asks for a target port to be logged in to, and to be known after a restart.
type AddTarget struct {
	Version   int    `json:"version"`
	Login     string `json:"login"`                // as ib_srp's add_target takes it; what it says wins
	Channels  int    `json:"channels,omitempty"`   // 0: the daemon's default
	QueueSize int    `json:"queue_size,omitempty"` // commands a channel; likewise
	LUNs      []int  `json:"luns,omitempty"`       // to serve; none means all

	Keep       bool `json:"keep,omitempty"`       // when the first login fails: go on trying, rather than forget the target
	DryRun     bool `json:"dry_run,omitempty"`    // say what would be done, and do nothing
	Idempotent bool `json:"idempotent,omitempty"` // that it is there already is no error
}

// RemoveTarget asks for a target port to be logged out of and forgotten. One of the configuration cannot be removed:
// that is denied; Logout lasts until the daemon starts again.
type RemoveTarget struct {
	Version    int    `json:"version"`
	Target     string `json:"target"`
	Force      bool   `json:"force,omitempty"` // though clients are connected to disks that have no other path
	DryRun     bool   `json:"dry_run,omitempty"`
	Idempotent bool   `json:"idempotent,omitempty"` // that it is not there is no error
}

// Rescan asks for units to be looked for.
type Rescan struct {
	Version int    `json:"version"`
	Target  string `json:"target,omitempty"` // "": all that are logged in to
}

// Logout asks for the session of a target port to be ended, and for no other until Reconnect or the next start. Disks
// that have no other path are not served meanwhile.
type Logout struct {
	Version    int    `json:"version"`
	Target     string `json:"target"`
	Force      bool   `json:"force,omitempty"` // as RemoveTarget's
	DryRun     bool   `json:"dry_run,omitempty"`
	Idempotent bool   `json:"idempotent,omitempty"` // that there is no session is no error
}

// Reconnect asks for a target port to be logged in to that is not, and waits for it.
type Reconnect struct {
	Version int    `json:"version"`
	Target  string `json:"target"`
	Now     bool   `json:"now,omitempty"`   // not to wait until the next attempt is due
	Force   bool   `json:"force,omitempty"` // end the session that there is; its commands are sent again
	DryRun  bool   `json:"dry_run,omitempty"`
}

// Change is the answer to what changes targets.
type Change struct {
	Version int        `json:"version"`
	Changed bool       `json:"changed"`           // false: all was as it was asked for
	DryRun  bool       `json:"dry_run"`           // nothing was done; the rest says what would be
	Text    string     `json:"text"`              // what was done, for people
	Targets []string   `json:"targets"`           // names of those it was about
	Came    []UnitPath `json:"came"`              // paths to units that are served now, and were not
	Went    []UnitPath `json:"went"`              // the other way round
	Failed  []string   `json:"failed"`            // what could not be done, for people; the rest was
	Missing []int      `json:"missing,omitempty"` // LUNs that were asked for, and that the target does not have: they are served when they come
}

// UnitPath is a unit at a target.
type UnitPath struct {
	Identity string `json:"identity"`
	Name     string `json:"name"`
	Target   string `json:"target"`
	LUN      string `json:"lun"`
}

// Event says how far something has come.
type Event struct {
	Time   time.Time `json:"time"`
	Stage  string    `json:"stage"`            // login, scan, disk, flush, logout, state, wait, reset; more may come
	Target string    `json:"target,omitempty"` // by name
	Text   string    `json:"text"`             // for people
}

// Progress is told events, one at a time. It may be nil, and does not keep what it is told.
//
//level:passive
type Progress func(Event)

// Report tells p, if there is somebody to tell.
//
//level:passive
func (p Progress) Report(stage, target, format string, args ...any) {
	if p != nil {
		p(Event{Time: time.Now().UTC(), Stage: stage, Target: target, Text: fmt.Sprintf(format, args...)})
	}
}

// Bounds of what requests may say.
const (
	maxLogin = 4 << 10 // bytes of a login string
	maxName  = 1 << 10 // bytes of a name
	maxLUNs  = 16 << 10
	maxText  = 64 << 10 // bytes of fault rules
)

func (q *AddTarget) check() error {
	switch {
	case q.Login == "":
		return missing("login", "id_ext=…,ioc_guid=…,dest=ADDRESS:PORT")
	case len(q.Login) > maxLogin:
		return tooLong("login", len(q.Login), maxLogin)
	case q.Channels < 0:
		return fmt.Errorf("channels is %d, want 1 or more, or 0 for the default", q.Channels)
	case q.QueueSize < 0:
		return fmt.Errorf("queue_size is %d, want 1 or more, or 0 for the default", q.QueueSize)
	case len(q.LUNs) > maxLUNs:
		return tooLong("luns", len(q.LUNs), maxLUNs)
	}
	return nil
}

func (q *RemoveTarget) check() error { return checkTarget(q.Target) }
func (q *Logout) check() error       { return checkTarget(q.Target) }
func (q *Reconnect) check() error    { return checkTarget(q.Target) }

func (q *Rescan) check() error {
	if len(q.Target) > maxLogin {
		return tooLong("target", len(q.Target), maxLogin)
	}
	return nil
}

func checkTarget(name string) error {
	switch {
	case name == "":
		return missing("target", "a name, address, target port ID or login string")
	case len(name) > maxLogin:
		return tooLong("target", len(name), maxLogin)
	}
	return nil
}

func missing(field, want string) error { return fmt.Errorf("%s is missing, want %s", field, want) }

func tooLong(field string, n, most int) error {
	return fmt.Errorf("%s has a length of %d, want %d at most", field, n, most)
}
