package lun

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"minisrp/scsi"
)

// Port says behind which target port a server is (SPC-5 5.16.2). Units say it in VPD 83h and in REPORT TARGET PORT
// GROUPS.
type Port struct {
	Relative uint16 // RELATIVE TARGET PORT IDENTIFIER; 0 means 1. Another one for each target port of a device
	Group    uint16 // TARGET PORT GROUP; 0 means 1. A unit has one asymmetric access state for all ports of a group
}

func (p *Port) complete() {
	p.Relative, p.Group = max(p.Relative, 1), max(p.Group, 1)
}

// access is how a unit may be used through each target port that shows it. It is never changed, only replaced.
type access struct {
	groups []portGroup // by their numbers
	report [2][]byte   // REPORT TARGET PORT GROUPS data, with short and with extended header
}

// portGroup is a target port group. One that shows the unit no more keeps its state.
type portGroup struct {
	id     uint16
	state  scsi.AccessState
	status uint8
	ports  []shownPort // by their numbers
}

// shownPort is a target port, with how many LUNs the unit has there.
type shownPort struct {
	relative uint16
	times    int
}

// supportedStates are those that a group can be given. Changes take no time, so that none is between two states.
const supportedStates = scsi.SupportsOptimized | scsi.SupportsNonOptimized | scsi.SupportsStandby | scsi.SupportsUnavailable

// state returns the state of a group.
func (a *access) state(group uint16) scsi.AccessState {
	for i := range a.groups {
		if a.groups[i].id == group {
			return a.groups[i].state
		}
	}
	return scsi.AccessOptimized
}

// copy returns an access that may be changed.
func (a *access) copy() *access {
	b := &access{groups: slices.Clone(a.groups)}
	for i := range b.groups {
		b.groups[i].ports = slices.Clone(b.groups[i].ports)
	}
	return b
}

// describe makes the REPORT TARGET PORT GROUPS data.
func (a *access) describe() {
	var groups []byte
	for _, g := range a.groups {
		if len(g.ports) == 0 {
			continue
		}
		ports := make([]uint16, len(g.ports))
		for i, p := range g.ports {
			ports[i] = p.relative
		}
		d := scsi.PortGroup{State: g.state, Supported: supportedStates, ID: g.id, Status: g.status}
		groups = d.Append(groups, ports)
	}
	a.report[0], a.report[1] = scsi.AppendPortGroups(nil, false, groups), scsi.AppendPortGroups(nil, true, groups)
}

// show adds a LUN behind a port. Errors: ErrConfig, when the port shows the unit as one of another group.
//
//level:passive
func (u *Unit) show(at Port) error {
	u.accessMu.Lock()
	defer u.accessMu.Unlock()
	a := u.access.Load().copy()
	for _, g := range a.groups {
		if g.id != at.Group && slices.ContainsFunc(g.ports, func(p shownPort) bool { return p.relative == at.Relative }) {
			return fmt.Errorf("unit %q: target port %d is of group %d already, not of %d: %w", u.cfg.Serial, at.Relative, g.id, at.Group, ErrConfig)
		}
	}
	i, found := slices.BinarySearchFunc(a.groups, at.Group, func(g portGroup, id uint16) int { return cmp.Compare(g.id, id) })
	if !found {
		a.groups = slices.Insert(a.groups, i, portGroup{id: at.Group})
	}
	g := &a.groups[i]
	i, found = slices.BinarySearchFunc(g.ports, at.Relative, func(p shownPort, n uint16) int { return cmp.Compare(p.relative, n) })
	if !found {
		g.ports = slices.Insert(g.ports, i, shownPort{relative: at.Relative})
	}
	g.ports[i].times++
	a.describe()
	u.access.Store(a)
	return nil
}

// hide takes a LUN behind a port away.
//
//level:passive
func (u *Unit) hide(at Port) {
	u.accessMu.Lock()
	defer u.accessMu.Unlock()
	a := u.access.Load().copy()
	for i := range a.groups {
		g := &a.groups[i]
		g.ports = slices.DeleteFunc(g.ports, func(p shownPort) bool {
			return g.id == at.Group && p.relative == at.Relative && p.times == 1
		})
		for k := range g.ports {
			if g.id == at.Group && g.ports[k].relative == at.Relative {
				g.ports[k].times--
			}
		}
	}
	a.describe()
	u.access.Store(a)
}

// SetAccess gives the unit a state for all ports of a target port group, as its operator does: active/optimized,
// active/non-optimized, standby or unavailable. Commands that the state does not allow end with NOT READY from then on;
// those under way go on. Initiators hear of it by the unit attention ASYMMETRIC ACCESS STATE CHANGED. The state lasts as
// long as the unit. Errors: ErrConfig, for another state or a group that does not show the unit.
//
//level:passive
func (u *Unit) SetAccess(group uint16, state scsi.AccessState) error {
	changed, bad := u.setAccess([]scsi.GroupChange{{State: state, ID: group}}, scsi.GroupStatusImplicit)
	if bad >= 0 {
		return fmt.Errorf("unit %q: %v of target port group %d: %w", u.cfg.Serial, state, group, ErrConfig)
	}
	if changed {
		u.happened(eventAccess)
	}
	return nil
}

// setAccess makes all the changes, or none and returns the one that cannot be made.
//
//level:passive
func (u *Unit) setAccess(changes []scsi.GroupChange, status uint8) (changed bool, bad int) {
	u.accessMu.Lock()
	defer u.accessMu.Unlock()
	a := u.access.Load().copy()
	for i, c := range changes {
		k := slices.IndexFunc(a.groups, func(g portGroup) bool { return g.id == c.ID && len(g.ports) > 0 })
		if k < 0 || c.State > scsi.AccessUnavailable {
			return false, i
		}
		g := &a.groups[k]
		if g.state != c.State {
			g.state, g.status, changed = c.State, status, true
		}
	}
	if changed {
		a.describe()
		u.access.Store(a)
	}
	return changed, -1
}

// inaccessible returns the code of the state that does not allow the command, or 0.
func (s *Server) inaccessible(t *Task, c *command) scsi.ASC {
	switch state := t.unit.access.Load().state(s.port.Group); {
	case state == scsi.AccessStandby && c.flags&inStandby == 0:
		return scsi.ASCNotReadyStandby
	case state == scsi.AccessUnavailable && c.flags&inUnavailable == 0:
		return scsi.ASCNotReadyUnavailable
	}
	return 0
}

// reportGroups prepares REPORT TARGET PORT GROUPS (SPC-5 6.37).
func (s *Server) reportGroups(t *Task) Verdict {
	c, err := scsi.ParseReportGroups(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	a := t.unit.access.Load()
	if int(c.Format) >= len(a.report) {
		return t.badField(1, 7)
	}
	return t.answer(a.report[c.Format], c.AllocationLength)
}

// setGroups prepares SET TARGET PORT GROUPS (SPC-5 6.45).
func (s *Server) setGroups(t *Task) Verdict {
	c, err := scsi.ParseSetGroups(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	switch n := c.ParameterListLength; {
	case n == 0:
		return t.end(scsi.StatusGood)
	case n > MinBuffer, n < 4, n%4 != 0:
		return t.badField(6, -1)
	}
	t.kind, t.changed = kindSetGroups, false
	return t.take(c.ParameterListLength)
}

func (u *Unit) workSetGroups(ctx context.Context, t *Task) scsi.Sense {
	l, err := scsi.ParseGroupChanges(t.Data[0])
	if err != nil {
		return scsi.MakeSense(scsi.KeyIllegalRequest, scsi.ASCParameterListLength)
	}
	changes := make([]scsi.GroupChange, l.Len())
	for i := range changes {
		changes[i] = l.At(i)
	}
	changed, bad := u.setAccess(changes, scsi.GroupStatusExplicit)
	switch {
	case bad >= 0 && changes[bad].State > scsi.AccessUnavailable:
		return badParameterBit(4+4*bad, 3)
	case bad >= 0:
		return badParameter(4 + 4*bad + 2)
	}
	t.changed = changed
	return scsi.Sense{}
}
