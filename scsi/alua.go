package scsi

import (
	"encoding/binary"
	"math"
	"strconv"
)

// AccessState is an asymmetric access state of a target port group (SPC-5 5.16.2.4).
type AccessState uint8

const (
	AccessOptimized     AccessState = 0x0 // active/optimized
	AccessNonOptimized  AccessState = 0x1 // active/non-optimized: everything works, and may take longer
	AccessStandby       AccessState = 0x2 // the unit can be looked at and set up, its medium cannot be used
	AccessUnavailable   AccessState = 0x3 // only the way out of this state works
	AccessBlockDepend   AccessState = 0x4 // logical block dependent
	AccessOffline       AccessState = 0xe // of a single port
	AccessTransitioning AccessState = 0xf
)

var accessNames = map[AccessState]string{
	AccessOptimized: "active/optimized", AccessNonOptimized: "active/non-optimized", AccessStandby: "standby",
	AccessUnavailable: "unavailable", AccessBlockDepend: "logical block dependent", AccessOffline: "offline",
	AccessTransitioning: "transitioning",
}

// String returns the standard's name, or "access state N" for a reserved code.
func (s AccessState) String() string {
	if n, ok := accessNames[s]; ok {
		return n
	}
	return "access state " + strconv.Itoa(int(s))
}

// Bits of PortGroup.Supported.
const (
	SupportsOptimized     uint8 = 0x01
	SupportsNonOptimized  uint8 = 0x02
	SupportsStandby       uint8 = 0x04
	SupportsUnavailable   uint8 = 0x08
	SupportsBlockDepend   uint8 = 0x10
	SupportsOffline       uint8 = 0x40
	SupportsTransitioning uint8 = 0x80
)

// Values of PortGroup.Status: why the group is in its state.
const (
	GroupStatusNone     uint8 = 0
	GroupStatusExplicit uint8 = 1 // SET TARGET PORT GROUPS
	GroupStatusImplicit uint8 = 2 // the target's own doing
)

// ReportGroups is the REPORT TARGET PORT GROUPS command (SPC-5 6.37).
type ReportGroups struct {
	Format           uint8 // PARAMETER DATA FORMAT: 0 length only header, 1 extended header
	AllocationLength uint32
}

// Put writes the command and returns its length.
func (c *ReportGroups) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpMaintenanceIn), 1: c.Format<<5 | byte(SAReportTargetGroups)}
	binary.BigEndian.PutUint32(cdb[6:10], c.AllocationLength)
	return 12
}

// ParseReportGroups decodes a REPORT TARGET PORT GROUPS CDB. Errors: ErrShort, ErrFormat.
func ParseReportGroups(cdb []byte) (c ReportGroups, err error) {
	if err := checkAction(cdb, OpMaintenanceIn, SAReportTargetGroups); err != nil {
		return c, err
	}
	return ReportGroups{cdb[1] >> 5, binary.BigEndian.Uint32(cdb[6:10])}, nil
}

// PortGroup is a target port group as REPORT TARGET PORT GROUPS describes it.
type PortGroup struct {
	State     AccessState
	Preferred bool   // PREF
	Supported uint8  // states that the group can have: SupportsOptimized and so on; 0: not said
	ID        uint16 // TARGET PORT GROUP
	Status    uint8  // STATUS CODE: one of GroupStatusNone, …
	ports     []byte // four bytes each
}

// Ports returns how many target ports the group has.
func (g *PortGroup) Ports() int { return len(g.ports) / 4 }

// Port returns the relative target port identifier of port i, 0 ≤ i < Ports.
func (g *PortGroup) Port(i int) uint16 { return binary.BigEndian.Uint16(g.ports[4*i+2:]) }

// Append adds the group with the relative target port identifiers of its ports, at most 255, to b.
func (g *PortGroup) Append(b []byte, ports []uint16) []byte {
	ports = ports[:min(len(ports), math.MaxUint8)]
	b = append(b, bit(g.Preferred, 7)|byte(g.State)&0x0f, g.Supported, byte(g.ID>>8), byte(g.ID), 0, g.Status, 0, byte(len(ports)))
	for _, p := range ports {
		b = append(b, 0, 0, byte(p>>8), byte(p))
	}
	return b
}

// AppendPortGroups adds the parameter data of REPORT TARGET PORT GROUPS to b: the header of the format asked for,
// then groups, which PortGroup.Append has made.
func AppendPortGroups(b []byte, extended bool, groups []byte) []byte {
	if !extended {
		return append(appendUint32(b, uint32(len(groups))), groups...)
	}
	b = appendUint32(b, uint32(4+len(groups)))
	b = append(b, 1<<4, 0, 0, 0) // FORMAT TYPE; the implicit transition time is not said
	return append(b, groups...)
}

var errGroupsShort = shortError("REPORT TARGET PORT GROUPS data")

// ParsePortGroups reads the parameter data of REPORT TARGET PORT GROUPS in either format, and returns the groups, in
// place, for NextPortGroup. Errors: ErrShort below four bytes.
func ParsePortGroups(b []byte) (groups []byte, err error) {
	if len(b) < 4 {
		return nil, errGroupsShort
	}
	n := binary.BigEndian.Uint32(b[0:4])
	groups = b[4:]
	if uint64(n) < uint64(len(groups)) {
		groups = groups[:n]
	}
	if len(groups) >= 4 && groups[0]>>4&7 == 1 { // an extended header; these bits are zero in a group
		groups = groups[4:]
	}
	return groups, nil
}

// NextPortGroup takes the first group off groups. ok is false at the end, or when the group is cut.
func NextPortGroup(groups []byte) (g PortGroup, rest []byte, ok bool) {
	if len(groups) < 8 {
		return g, nil, false
	}
	n := 8 + 4*int(groups[7])
	if n > len(groups) {
		return g, nil, false
	}
	return PortGroup{
		State: AccessState(groups[0] & 0x0f), Preferred: groups[0]&0x80 != 0, Supported: groups[1],
		ID: binary.BigEndian.Uint16(groups[2:4]), Status: groups[5], ports: groups[8:n:n],
	}, groups[n:], true
}

// SetGroups is the SET TARGET PORT GROUPS command (SPC-5 6.45).
type SetGroups struct {
	ParameterListLength uint32 // 0: nothing is changed
}

// Put writes the command and returns its length.
func (c *SetGroups) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpMaintenanceOut), 1: byte(SASetTargetGroups)}
	binary.BigEndian.PutUint32(cdb[6:10], c.ParameterListLength)
	return 12
}

// ParseSetGroups decodes a SET TARGET PORT GROUPS CDB. Errors: ErrShort, ErrFormat.
func ParseSetGroups(cdb []byte) (c SetGroups, err error) {
	if err := checkAction(cdb, OpMaintenanceOut, SASetTargetGroups); err != nil {
		return c, err
	}
	return SetGroups{binary.BigEndian.Uint32(cdb[6:10])}, nil
}

// GroupChange says which state a target port group is to have; with AccessOffline which target port.
type GroupChange struct {
	State AccessState
	ID    uint16 // TARGET PORT GROUP OR TARGET PORT
}

// AppendGroupChanges adds the parameter list of SET TARGET PORT GROUPS to b, four bytes and four for each change.
func AppendGroupChanges(b []byte, changes []GroupChange) []byte {
	b = append(b, 0, 0, 0, 0)
	for _, c := range changes {
		b = append(b, byte(c.State)&0x0f, 0, byte(c.ID>>8), byte(c.ID))
	}
	return b
}

// GroupChanges is the parameter list of SET TARGET PORT GROUPS, read in place.
type GroupChanges struct{ entries []byte }

var errChangesShort = shortError("SET TARGET PORT GROUPS parameter list")

// ParseGroupChanges reads the parameter list of SET TARGET PORT GROUPS, an empty one too. Errors: ErrShort when its
// header or its last descriptor is cut.
func ParseGroupChanges(b []byte) (GroupChanges, error) {
	if len(b) == 0 {
		return GroupChanges{}, nil
	}
	if len(b) < 4 || len(b)%4 != 0 {
		return GroupChanges{}, errChangesShort
	}
	return GroupChanges{b[4:]}, nil
}

// Len returns how many changes there are.
func (l GroupChanges) Len() int { return len(l.entries) / 4 }

// At returns change i, 0 ≤ i < Len.
func (l GroupChanges) At(i int) GroupChange {
	d := l.entries[4*i : 4*i+4]
	return GroupChange{AccessState(d[0] & 0x0f), binary.BigEndian.Uint16(d[2:4])}
}

func checkAction(cdb []byte, op Opcode, sa uint16) error {
	if err := checkCDB(cdb, op, 12); err != nil {
		return err
	}
	if uint16(cdb[1]&0x1f) != sa {
		return errCDBOpcode
	}
	return nil
}
