package lun

import "minisrp/scsi"

// change makes next what the command asks for, and says whether it ends with RESERVATION CONFLICT, or with sense data.
func (r *reservation) change(t *Task) (conflict bool, s scsi.Sense) {
	c, _ := scsi.ParseReserveOut(t.CDB[:])
	if c.Action == scsi.SARegisterMove {
		l, err := scsi.ParseMoveList(t.Data[0])
		if err != nil {
			return false, badListLength()
		}
		return r.move(t.Nexus, &l)
	}
	l, err := scsi.ParseReserveList(t.Data[0])
	switch {
	case err != nil:
		return false, badListLength()
	case l.Specified && c.Action != scsi.SARegister:
		return false, badParameterBit(20, 3)
	}
	if c.Action == scsi.SARegister || c.Action == scsi.SARegisterIgnore {
		return r.register(t.Nexus, &l, c.Action == scsi.SARegisterIgnore)
	}
	me := r.next.of(t.Nexus)
	if me < 0 || r.next.list[me].key != l.Key {
		return true, s
	}
	switch c.Action {
	case scsi.SAReserve:
		return r.reserve(me, c.Type)
	case scsi.SARelease:
		return false, r.release(t.Nexus, me, c.Type)
	case scsi.SAClear:
		r.noteOthers(t.Nexus, conditionPreempted)
		persist, generation := r.next.persist, r.next.generation
		r.next = holdings{persist: persist, generation: generation + 1}
		return false, s
	}
	return r.preempt(t.Nexus, me, &l, c.Type)
}

// badListLength is PARAMETER LIST LENGTH ERROR: all that the decoders find wrong is a length.
func badListLength() scsi.Sense {
	return scsi.MakeSense(scsi.KeyIllegalRequest, scsi.ASCParameterListLength)
}

// register is REGISTER, and REGISTER AND IGNORE EXISTING KEY (SPC-5 5.14.7).
func (r *reservation) register(x *Nexus, l *scsi.ReserveList, ignore bool) (conflict bool, s scsi.Sense) {
	h := &r.next
	me := h.of(x)
	switch {
	case l.Persist && r.keeper == nil:
		return false, badParameterBit(20, 0)
	case l.Specified && me >= 0:
		return false, badParameterBit(20, 3)
	case ignore:
	case me < 0 && l.Key != 0, me >= 0 && h.list[me].key != l.Key:
		return true, s
	}
	switch {
	case me < 0 && l.ServiceKey != 0:
		new := registrant{initiator: x.Initiator, relative: x.relative, everywhere: l.AllPorts, key: l.ServiceKey}
		if conflict, s = r.admit(new); conflict || s.Key != scsi.KeyNoSense {
			return conflict, s
		}
		for rest := l.Initiators; len(rest) > 0; {
			port, behind, err := scsi.NextTransportID(rest)
			if err != nil {
				return false, badParameter(28 + len(l.Initiators) - len(rest))
			}
			rest = behind
			if new.initiator = port; port == x.Initiator {
				continue
			}
			if conflict, s = r.admit(new); conflict || s.Key != scsi.KeyNoSense {
				return conflict, s
			}
		}
	case me >= 0 && l.ServiceKey != 0:
		h.list[me].key = l.ServiceKey
	case me >= 0:
		kind := h.kind
		if h.remove(me) && kind.Registrants() {
			r.noteOthers(x, conditionReleased)
		}
	}
	h.persist = l.Persist
	h.generation++
	return false, s
}

// admit registers a nexus that is not registered yet.
func (r *reservation) admit(g registrant) (conflict bool, s scsi.Sense) {
	if r.next.find(&g) >= 0 {
		return true, s
	}
	if !r.next.add(g) {
		return false, scsi.MakeSense(scsi.KeyIllegalRequest, ascNoRegistrations)
	}
	return false, s
}

// reserve is RESERVE (SPC-5 5.14.9).
func (r *reservation) reserve(me int, kind scsi.ReservationType) (conflict bool, s scsi.Sense) {
	h := &r.next
	switch {
	case !kind.Valid():
		return false, badType()
	case h.kind == 0:
		h.kind, h.holder = kind, me
	case !h.holds(me) || h.kind != kind:
		return true, s
	}
	return false, s
}

// release is RELEASE (SPC-5 5.14.11.2). From who does not hold the reservation it does nothing.
func (r *reservation) release(x *Nexus, me int, kind scsi.ReservationType) (s scsi.Sense) {
	h := &r.next
	switch {
	case !h.holds(me):
		return s
	case h.kind != kind:
		return scsi.MakeSense(scsi.KeyIllegalRequest, ascInvalidRelease)
	}
	h.kind, h.holder = 0, 0
	if kind.Registrants() {
		r.noteOthers(x, conditionReleased)
	}
	return s
}

// preempt is PREEMPT, and PREEMPT AND ABORT (SPC-5 5.14.11.4, 5.14.11.5).
func (r *reservation) preempt(x *Nexus, me int, l *scsi.ReserveList, kind scsi.ReservationType) (conflict bool, s scsi.Sense) {
	h := &r.next
	was := h.kind
	all := was.AllHold() && l.ServiceKey == 0
	takes := all || was != 0 && !was.AllHold() && h.list[h.holder].key == l.ServiceKey
	switch {
	case l.ServiceKey == 0 && !all:
		return false, badParameter(8)
	case takes && !kind.Valid():
		return false, badType()
	}
	found, released := false, false
	for i := 0; i < h.count; {
		g := h.list[i]
		own := g.is(x)
		if !all && g.key != l.ServiceKey || all && own {
			i++
			continue
		}
		found = true
		if takes && own { // who takes the reservation over stays
			r.note(&g, 0, true)
			i++
			continue
		}
		if own {
			r.note(&g, 0, true)
		} else {
			r.note(&g, conditionRegistrations, true)
		}
		if h.remove(i) {
			released = true
		}
	}
	if !found && !all {
		return true, s
	}
	h.generation++
	switch {
	case takes:
		h.kind, h.holder = kind, h.of(x)
		if was != kind {
			r.noteOthers(x, conditionReleased)
		}
	case released && was.Registrants():
		r.noteOthers(x, conditionReleased)
	}
	return false, s
}

// move is REGISTER AND MOVE (SPC-5 5.14.8).
func (r *reservation) move(x *Nexus, l *scsi.MoveList) (conflict bool, s scsi.Sense) {
	h := &r.next
	me := h.of(x)
	if me < 0 || h.list[me].key != l.Key || h.kind.AllHold() || !h.holds(me) {
		return true, s
	}
	port, behind, err := scsi.NextTransportID(l.Initiator)
	to := registrant{initiator: port, relative: l.Relative, key: l.ServiceKey}
	switch {
	case l.ServiceKey == 0:
		return false, badParameter(8)
	case l.Persist && r.keeper == nil:
		return false, badParameterBit(17, 0)
	case l.Relative == 0:
		return false, badParameter(18)
	case err != nil, len(behind) > 0, h.list[me].same(&to):
		return false, badParameter(24)
	}
	if i := h.find(&to); i >= 0 {
		h.list[i].key = l.ServiceKey
	} else if !h.add(to) {
		return false, scsi.MakeSense(scsi.KeyIllegalRequest, ascNoRegistrations)
	}
	h.holder = h.find(&to)
	if l.Unregister {
		h.remove(me)
	}
	h.persist = l.Persist
	h.generation++
	return false, s
}

func badType() scsi.Sense {
	s := scsi.MakeSense(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	s.SetField(scsi.FieldPointer{Byte: 2, Bit: 3})
	return s
}

const (
	// ascInvalidRelease is INVALID RELEASE OF PERSISTENT RESERVATION.
	ascInvalidRelease scsi.ASC = 0x2604
	// ascNoRegistrations is INSUFFICIENT REGISTRATION RESOURCES.
	ascNoRegistrations scsi.ASC = 0x5504
)
