package lun

import "minisrp/scsi"

// event is something that happens to a unit and that every initiator is told of by a unit attention.
type event uint8

const (
	eventReset event = iota
	eventCapacity
	eventModes     // MODE SELECT
	eventLogs      // LOG SELECT
	eventAccess    // of an asymmetric access state
	eventSpace     // the store is about to run out of it
	eventException // an informational exception
	eventInquiry   // the INQUIRY data, vital product data too
	numEvents
)

// condition is a set of unit attention conditions (SAM-5 5.14): one for each event, and those that a nexus has by
// itself.
type condition uint16

const (
	conditionPowerOn condition = 1 << (numEvents + iota)
	conditionLUNs
	conditionCleared // tasks of the nexus were aborted by another
	conditionPreempted
	conditionReleased
	conditionRegistrations
)

// conditions gives the codes, in the order in which they are reported; 0 is the unit's exception.
var conditions = [...]struct {
	is   condition
	code scsi.ASC
}{
	{conditionPowerOn, scsi.ASCPowerOnReset},
	{1 << eventReset, scsi.ASCTargetReset},
	{1 << eventCapacity, scsi.ASCCapacityChanged},
	{conditionCleared, scsi.ASCCommandsCleared},
	{conditionRegistrations, ascRegistrationsPreempted},
	{conditionPreempted, ascReservationsPreempted},
	{conditionReleased, ascReservationsReleased},
	{1 << eventInquiry, scsi.ASCInquiryChanged},
	{1 << eventModes, scsi.ASCModeParametersChanged},
	{1 << eventLogs, ascLogsChanged},
	{1 << eventAccess, ascAccessChanged},
	{conditionLUNs, scsi.ASCReportedLUNsChanged},
	{1 << eventSpace, scsi.ASCThinThreshold},
	{1 << eventException, 0},
}

// ascLogsChanged is LOG PARAMETERS CHANGED, and ascAccessChanged ASYMMETRIC ACCESS STATE CHANGED.
const (
	ascLogsChanged   scsi.ASC = 0x2a02
	ascAccessChanged scsi.ASC = 0x2a06
)

// Nexus is what a server keeps for one initiator port: which events the initiator has not been told of yet, unit by
// unit. The zero value is that of a new nexus, whose first command to each unit meets POWER ON, RESET, OR BUS DEVICE
// RESET OCCURRED.
//
// Ownership: the target's, for one Server, and as long as tasks name it.
type Nexus struct {
	// Initiator is the initiator port's identifier, set before the first task: reservations are for it.
	Initiator [16]byte

	// Processor.
	relative uint16 // the server's relative target port identifier, once a task has named the nexus
	listed   uint32 // the view that REPORT LUNS has shown, as view.change; valid with everListed
	ever     bool   // REPORT LUNS has been sent
	units    [MaxUnits]attention
}

// attention is what a nexus knows of a unit: the counters as they were when it last looked, and what it has seen but
// not told.
type attention struct {
	attach  uint32
	change  uint32
	events  uint32
	seen    [numEvents]uint32
	pending condition
}

// attend returns the unit attention to report for the unit in slot n of v, and clears it; 0 if there is none.
func (x *Nexus) attend(v *view, n int) scsi.ASC {
	a, sl := &x.units[n], &v.slots[n]
	if a.pending == 0 && a.attach == sl.attach && a.change == v.change && a.events == sl.unit.events.Load() && sl.unit.reservation.numOwed == 0 {
		return 0
	}
	x.look(v, n)
	for _, c := range conditions {
		if a.pending&c.is != 0 {
			a.pending &^= c.is
			if c.code != 0 {
				return c.code
			}
			if code := sl.unit.exception(); code != 0 {
				return code
			}
		}
	}
	return 0
}

// owe notes a condition that only this nexus has at the unit in slot n of v.
func (x *Nexus) owe(v *view, n int, c condition) {
	x.look(v, n)
	x.units[n].pending |= c
}

// caused lets every nexus know of an event but that of the task, whose doing it is.
func (s *Server) caused(t *Task, e event) {
	v := s.view.Load()
	own := v.slots[t.Slot].unit == t.unit
	if own {
		t.Nexus.look(v, t.Slot)
	}
	t.unit.happened(e)
	if own {
		a := &t.Nexus.units[t.Slot]
		a.seen[e]++
		a.events++
	}
}

// look compares the counters and notes what has happened since.
func (x *Nexus) look(v *view, n int) {
	a, sl := &x.units[n], &v.slots[n]
	// events counts up after the others, so it is read before them: what comes in between is seen next time.
	now := attention{attach: sl.attach, change: v.change, events: sl.unit.events.Load()}
	for e := range now.seen {
		now.seen[e] = sl.unit.counts[e].Load()
	}
	owed := condition(0)
	if sl.unit.reservation.numOwed > 0 {
		owed = sl.unit.reservation.collect(x)
	}
	switch {
	case a.attach != now.attach:
		now.pending = conditionPowerOn
	default:
		now.pending = a.pending | owed
		for e := range now.seen {
			if a.seen[e] != now.seen[e] {
				now.pending |= 1 << e
			}
		}
		if a.change != now.change {
			now.pending |= conditionLUNs
		}
		if x.ever && x.listed == v.change {
			now.pending &^= conditionLUNs
		}
	}
	*a = now
}

// list notes that the initiator learns which LUNs v has.
func (x *Nexus) list(v *view) { x.listed, x.ever = v.change, true }
