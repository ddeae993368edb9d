package lun

import (
	"context"

	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// reservation is who may use a unit (SPC-5 5.14). There is one a unit, for the initiators of all servers that show it.
//
// PERSISTENT RESERVE OUT commands are carried out one after the other: change makes the state that is to be, the worker
// keeps it if it is to outlive a loss of power, and finish makes it the one that is.
//
// Most units are never reserved by these commands, and have no tables: the worker makes them before the first one is
// carried out.
//
// Ownership: the processor. next is the worker's while it keeps it.
type reservation struct {
	*tables
	making   bool          // the worker makes them
	made     *tables       // and here they are
	make     dispatch.Work // makes them
	madeDPC  dispatch.DPC  // goes on then
	few      [64]byte      // an answer of a unit without tables
	numNotes int

	busy       *Task // the command that is being carried out
	first      *Task // those that wait, by Task.after
	last       *Task
	victims    TMF  // what waits for the tasks that PREEMPT AND ABORT has aborted
	waitedFor  bool // they are gone
	applied    bool // next has become now
	numOwed    int
	keeper     Keeper // nil: nothing outlives a loss of power
	unit       *Unit
	legacy     registrant // who holds the unit by RESERVE of SPC-2
	legacyHeld bool
}

// tables is the room for registrations.
type tables struct {
	now   holdings
	next  holdings
	notes [maxRegistrants]note // what busy does besides: whom it has to tell, and whose tasks it aborts
	owed  [2 * maxRegistrants]note
	reply [8 + maxRegistrants*scsi.FullStatusLength]byte
}

// noTables is that of all units without registrations. Nobody writes to it.
var noTables tables

// registrant is a nexus that is registered, or is to be told something.
type registrant struct {
	initiator  [16]byte
	relative   uint16 // relative target port identifier
	everywhere bool   // at every target port
	key        uint64
}

// note is a unit attention for a nexus.
type note struct {
	who    registrant
	is     condition
	victim bool // its tasks are aborted
}

// holdings is the registrations and the reservation at one time.
type holdings struct {
	list       [maxRegistrants]registrant
	count      int
	generation uint32
	kind       scsi.ReservationType // 0: there is no reservation
	holder     int                  // index in list, unless kind.AllHold
	persist    bool                 // APTPL
}

func (r *registrant) is(x *Nexus) bool {
	return r.initiator == x.Initiator && (r.everywhere || r.relative == x.relative)
}

func (r *registrant) same(o *registrant) bool {
	return r.initiator == o.initiator && (r.everywhere || o.everywhere || r.relative == o.relative)
}

// of returns the index of a nexus among those registered, or -1.
func (h *holdings) of(x *Nexus) int {
	for i := range h.list[:h.count] {
		if h.list[i].is(x) {
			return i
		}
	}
	return -1
}

// find returns the index of who is registered as r would be, or -1.
func (h *holdings) find(r *registrant) int {
	for i := range h.list[:h.count] {
		if h.list[i].same(r) {
			return i
		}
	}
	return -1
}

// holds says whether the one with the index i, which may be -1, holds the reservation.
func (h *holdings) holds(i int) bool {
	return h.kind != 0 && i >= 0 && (h.kind.AllHold() || h.holder == i)
}

// add registers r, and reports false if there is no room.
func (h *holdings) add(r registrant) bool {
	if h.count == maxRegistrants {
		return false
	}
	h.list[h.count] = r
	h.count++
	return true
}

// remove takes a registration away, and the reservation with its last holder: then it reports true.
func (h *holdings) remove(i int) (released bool) {
	if h.kind != 0 {
		if h.kind.AllHold() {
			released = h.count == 1
		} else {
			released = h.holder == i
			if h.holder > i {
				h.holder--
			}
		}
	}
	copy(h.list[i:], h.list[i+1:h.count])
	h.count--
	h.list[h.count] = registrant{}
	if released {
		h.kind, h.holder = 0, 0
	}
	return released
}

// note takes down that a registrant is to be told something.
func (r *reservation) note(who *registrant, is condition, victim bool) {
	for i := range r.notes[:r.numNotes] {
		if n := &r.notes[i]; n.who.same(who) {
			n.is |= is
			n.victim = n.victim || victim
			return
		}
	}
	if r.numNotes < len(r.notes) {
		r.notes[r.numNotes] = note{*who, is, victim}
		r.numNotes++
	}
}

// noteOthers does so for everybody in next but x.
func (r *reservation) noteOthers(x *Nexus, is condition) {
	for i := range r.next.list[:r.next.count] {
		if who := &r.next.list[i]; !who.is(x) {
			r.note(who, is, false)
		}
	}
}

// owe keeps a note until its nexus comes. Who never comes gives way to later ones.
func (r *reservation) owe(n *note) {
	if n.is == 0 {
		return
	}
	for i := range r.owed[:r.numOwed] {
		if o := &r.owed[i]; o.who.same(&n.who) {
			o.is |= n.is
			return
		}
	}
	if r.numOwed == len(r.owed) {
		copy(r.owed[:], r.owed[1:])
		r.numOwed--
	}
	r.owed[r.numOwed] = *n
	r.numOwed++
}

// collect hands over what x is to be told.
func (r *reservation) collect(x *Nexus) (is condition) {
	for i := 0; i < r.numOwed; {
		if !r.owed[i].who.is(x) {
			i++
			continue
		}
		is |= r.owed[i].is
		copy(r.owed[i:], r.owed[i+1:r.numOwed])
		r.numOwed--
	}
	return is
}

// init makes the state that a unit begins with. Errors: ErrKept, the store's.
func (r *reservation) init(u *Unit) error {
	r.unit, r.tables = u, &noTables
	r.make.Init(r.makeTables)
	r.madeDPC.Init(u.proc, r.tablesMade)
	r.keeper, _ = find[Keeper](u.store)
	r.victims.Function = preemptTasks
	r.victims.owner = r
	r.victims.dpc.Init(u.proc, r.victimsGone)
	return r.restore()
}

// makeTables is the worker's part.
func (r *reservation) makeTables(context.Context) {
	r.made = new(tables)
	r.madeDPC.Post()
}

// tablesMade carries out the command that waits for the tables, unless it was aborted meanwhile.
func (r *reservation) tablesMade(f *dispatch.Frame) {
	r.tables, r.made, r.making = r.made, nil, false
	if r.busy != nil {
		r.carryOut(f, r.busy)
	}
}

// Codes of unit attentions that reservations bring (SPC-5 5.14.11).
const (
	ascReservationsPreempted  scsi.ASC = 0x2a03
	ascReservationsReleased   scsi.ASC = 0x2a04
	ascRegistrationsPreempted scsi.ASC = 0x2a05
)

// legacyReserve prepares RESERVE of 6 and 10 bytes (SPC-2 7.21). Where there are persistent reservations it does
// nothing, and does it well only for those who may use the unit anyway (SPC-5 5.14.3).
func (s *Server) legacyReserve(t *Task) Verdict {
	r := &t.unit.reservation
	if r.now.count > 0 {
		return r.compatible(t)
	}
	if !r.legacyHeld {
		r.legacyHeld = true
		r.legacy = registrant{initiator: t.Nexus.Initiator, relative: t.Nexus.relative}
	}
	return t.end(scsi.StatusGood)
}

// legacyRelease prepares RELEASE of 6 and 10 bytes (SPC-2 7.16). From who holds nothing it does nothing.
func (s *Server) legacyRelease(t *Task) Verdict {
	r := &t.unit.reservation
	if r.now.count > 0 {
		return r.compatible(t)
	}
	r.leave(t.Nexus)
	return t.end(scsi.StatusGood)
}

func (r *reservation) compatible(t *Task) Verdict {
	i := r.now.of(t.Nexus)
	if r.now.holds(i) || i >= 0 && r.now.kind.Registrants() {
		return t.end(scsi.StatusGood)
	}
	return t.end(scsi.StatusReservationConflict)
}

// leave gives back what x holds by RESERVE.
func (r *reservation) leave(x *Nexus) {
	if r.legacyHeld && r.legacy.is(x) {
		r.legacyHeld = false
	}
}

// NexusLost tells the units that x is gone: RESERVE of SPC-2 holds no longer than its nexus. Persistent reservations
// and registrations stay. Level: Dispatch.
func (s *Server) NexusLost(f *dispatch.Frame, x *Nexus) {
	s.mustOwn(f)
	v := s.view.Load()
	for n := range v.slots {
		if u := v.slots[n].unit; u != nil {
			u.reservation.leave(x)
		}
	}
}
