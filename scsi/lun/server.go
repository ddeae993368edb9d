package lun

import (
	"fmt"
	"sync/atomic"

	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// Server is what a target port shows: units at LUNs. It is where a target's tasks and task management functions go.
//
// Ownership: the target's. Everything with a frame runs on one processor, that of the server, its units and its
// tasks; a target whose channels have others hands over first. Attach and Detach may be called by any goroutine.
type Server struct {
	// Fixed after construction.
	proc      *dispatch.Processor
	port      Port
	commands  *table
	noUnit    []byte // standard INQUIRY data of a LUN without a unit
	wellKnown []byte // and of the REPORT LUNS well known logical unit

	mu   dispatch.Mutex[dispatch.RankServer] // makes changes of view one at a time
	view atomic.Pointer[view]

	// Processor.
	strays taskSet // tasks at LUNs without a unit
}

// view is the units at one time. It is never changed, only replaced.
type view struct {
	change uint32 // counts replacements; the first view has 0
	slots  [MaxUnits]slot
	lists  [3][]byte // REPORT LUNS data for each SELECT REPORT value
}

type slot struct {
	unit           *Unit
	attach         uint32 // the change that put it there
	identification []byte // VPD 83h, as the server's port shows it
}

// NewServer makes a server without units, behind target port 1 of group 1. All its tasks run on p.
func NewServer(p *dispatch.Processor) *Server { return NewServerAt(p, Port{}) }

// NewServerAt makes a server behind the target port given.
func NewServerAt(p *dispatch.Processor, at Port) *Server {
	at.complete()
	s := &Server{proc: p, port: at, commands: newTable()}
	s.noUnit = standardInquiry(scsi.QualifierNotSupported, scsi.DeviceUnknown, "MINISRP", "no unit", "1")
	s.wellKnown = standardInquiry(scsi.QualifierConnected, scsi.DeviceWellKnown, "MINISRP", "REPORT LUNS", "1")
	v := &view{}
	v.list()
	s.view.Store(v)
	return s
}

// Processor returns the processor on which tasks run.
func (s *Server) Processor() *dispatch.Processor { return s.proc }

// Attach shows u at LUN n, 0 to MaxUnits-1. Initiators hear of it by the unit attention REPORTED LUNS DATA HAS
// CHANGED at their other units. Errors: ErrLUN, when n is taken or too large; ErrConfig, when u has another processor, or knows the
// server's target port as one of another group.
//
//level:passive
func (s *Server) Attach(n int, u *Unit) error {
	if u.proc != s.proc {
		return fmt.Errorf("unit %q at LUN %d: its processor %s is not the server's, %s: %w",
			u.cfg.Serial, n, u.proc.Name(), s.proc.Name(), ErrConfig)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := *s.view.Load()
	if n < 0 || n >= MaxUnits {
		return fmt.Errorf("LUN %d: want 0 to %d: %w", n, MaxUnits-1, ErrLUN)
	}
	if v.slots[n].unit != nil {
		return fmt.Errorf("LUN %d is taken by unit %q: %w", n, v.slots[n].unit.cfg.Serial, ErrLUN)
	}
	if err := u.show(s.port); err != nil {
		return err
	}
	v.change++
	v.slots[n] = slot{u, v.change, u.identification(s.port)}
	v.list()
	s.view.Store(&v)
	return nil
}

// Detach takes the unit at LUN n away and returns it. Its tasks go on; new ones find no unit. Unit.Close waits for
// those that are left. Errors: ErrLUN.
//
//level:passive
func (s *Server) Detach(n int) (*Unit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := *s.view.Load()
	if n < 0 || n >= MaxUnits || v.slots[n].unit == nil {
		return nil, fmt.Errorf("LUN %d has no unit: %w", n, ErrLUN)
	}
	u := v.slots[n].unit
	v.change++
	v.slots[n] = slot{}
	v.list()
	s.view.Store(&v)
	u.hide(s.port)
	return u, nil
}

// Units calls yield for each LUN that has a unit, in order, until it returns false.
func (s *Server) Units(yield func(n int, u *Unit) bool) {
	v := s.view.Load()
	for n := range v.slots {
		if u := v.slots[n].unit; u != nil && !yield(n, u) {
			return
		}
	}
}

// list makes the REPORT LUNS data.
func (v *view) list() {
	var luns []scsi.LUN
	for n := range v.slots {
		if v.slots[n].unit != nil {
			luns = append(luns, scsi.PeripheralLUN(uint8(n)))
		}
	}
	v.lists[scsi.ReportAddressable] = scsi.AppendLUNList(nil, luns)
	v.lists[scsi.ReportWellKnown] = scsi.AppendLUNList(nil, []scsi.LUN{scsi.LUNReportLUNs})
	v.lists[scsi.ReportAll] = scsi.AppendLUNList(nil, append(luns, scsi.LUNReportLUNs))
}

// place is what a LUN leads to.
type place uint8

const (
	placeUnit      place = iota
	placeWellKnown       // the REPORT LUNS well known logical unit
	placeAbsent
)

// lookup returns the index of a unit's slot with the unit, or -1.
func (v *view) lookup(l scsi.LUN) (int, *Unit, place) {
	if l == scsi.LUNReportLUNs {
		return -1, nil, placeWellKnown
	}
	if n, ok := l.Unit(); ok && n < MaxUnits {
		if u := v.slots[n].unit; u != nil {
			return int(n), u, placeUnit
		}
	}
	return -1, nil, placeAbsent
}

// mustOwn holds a target to running on the server's processor.
func (s *Server) mustOwn(f *dispatch.Frame) {
	if !f.On(s.proc) {
		panic("lun: a task of " + s.proc.Name() + " touched by a frame that does not own it")
	}
}
