package lun_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/verbs/dispatch"
)

// portGroups returns what REPORT TARGET PORT GROUPS says, as "group:state:ports".
func (x *initiator) portGroups(format uint8) (all []string) {
	x.tb.Helper()
	b := x.do(0, cdb(&scsi.ReportGroups{Format: format, AllocationLength: 512}), nil, 512).good().got
	groups, err := scsi.ParsePortGroups(b)
	if err != nil {
		x.tb.Fatal(err)
	}
	for {
		g, rest, ok := scsi.NextPortGroup(groups)
		if !ok {
			return all
		}
		if g.Supported != 0x0f {
			x.tb.Errorf("supported states %#x", g.Supported)
		}
		var ports []uint16
		for i := range g.Ports() {
			ports = append(ports, g.Port(i))
		}
		all = append(all, fmt.Sprintf("%d:%v:%v", g.ID, g.State, ports))
		groups = rest
	}
}

func (x *initiator) setGroups(changes ...scsi.GroupChange) *command {
	list := scsi.AppendGroupChanges(nil, changes)
	return x.do(0, cdb(&scsi.SetGroups{ParameterListLength: uint32(len(list))}), list, 0)
}

// twoPorts shows a unit at LUN 0 of two target ports, 1 of group 10 and 2 of group 20, with an initiator at each.
func twoPorts(t *testing.T, store lun.Store) (*lun.Unit, [2]*initiator) {
	p := dispatch.NewManual("lun")
	var servers [2]*lun.Server
	for i := range servers {
		servers[i] = lun.NewServerAt(p, lun.Port{Relative: uint16(i + 1), Group: uint16(10 * (i + 1))})
	}
	u := attach(t, servers[0], 0, lun.Config{Store: store})
	if err := servers[1].Attach(0, u); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := servers[1].Detach(0); err != nil {
			t.Error(err)
		}
	})
	var x [2]*initiator
	for i := range x {
		x[i] = newInitiator(t, servers[i])
		x[i].attentions(0)
	}
	return u, x
}

func reportGroupsEffect(t *testing.T, u *effectUnit) {
	for format := range uint8(2) {
		if got := u.portGroups(format); !slices.Equal(got, []string{"1:active/optimized:[1]"}) {
			t.Errorf("%v", got)
		}
	}
	if err := u.unit.SetAccess(1, scsi.AccessNonOptimized); err != nil {
		t.Fatal(err)
	}
	u.ready(0).check(scsi.KeyUnitAttention, 0x2a06)
	if got := u.portGroups(0); !slices.Equal(got, []string{"1:active/non-optimized:[1]"}) {
		t.Errorf("%v", got)
	}
	u.do(0, cdb(&scsi.ReportGroups{Format: 2, AllocationLength: 99}), nil, 99).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
}

func setGroupsEffect(t *testing.T, u *effectUnit) {
	disk := pattern(1, 4*testBlock)
	u.write(0, disk).good()
	u.setGroups(scsi.GroupChange{State: scsi.AccessStandby, ID: 1}).good()
	u.do(0, cdb(&scsi.RW{Blocks: 1}), nil, testBlock).check(scsi.KeyNotReady, scsi.ASCNotReadyStandby)
	u.write(0, pattern(2, testBlock)).check(scsi.KeyNotReady, scsi.ASCNotReadyStandby)
	if got := u.portGroups(1); !slices.Equal(got, []string{"1:standby:[1]"}) {
		t.Errorf("%v", got)
	}
	u.setGroups(scsi.GroupChange{State: scsi.AccessOptimized, ID: 1}).good()
	u.ready(0).good()
	u.holds(0, disk)
}

// What works in each state is what SPC-5 5.16.2.4 lists, and READ CAPACITY and the reports of commands and functions in
// standby too; everything else tells the state.
func TestCommandsByAccessState(t *testing.T) {
	standby := []string{
		"INQUIRY", "LOG SELECT", "LOG SENSE", "MODE SELECT(6)", "MODE SELECT(10)", "MODE SENSE(6)", "MODE SENSE(10)", "REPORT LUNS",
		"REPORT TARGET PORT GROUPS", "SET TARGET PORT GROUPS", "REQUEST SENSE",
		"READ CAPACITY(10)", "READ CAPACITY(16)", "REPORT SUPPORTED OPERATION CODES", "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS",
	}
	unavailable := []string{"INQUIRY", "REPORT LUNS", "REPORT TARGET PORT GROUPS", "SET TARGET PORT GROUPS", "REQUEST SENSE"}
	u, x := twoPorts(t, ram(testSize))
	for name, b := range x[0].commandCDBs() {
		if name == "START STOP UNIT" {
			b[4] = 1
		}
		for _, c := range []struct {
			state scsi.AccessState
			code  scsi.ASC
			works []string
		}{
			{scsi.AccessOptimized, 0, nil}, {scsi.AccessNonOptimized, 0, nil},
			{scsi.AccessStandby, scsi.ASCNotReadyStandby, standby}, {scsi.AccessUnavailable, scsi.ASCNotReadyUnavailable, unavailable},
		} {
			if err := u.SetAccess(10, c.state); err != nil {
				t.Fatal(err)
			}
			x[0].do(0, make([]byte, 6), nil, 0) // takes the unit attention
			k := x[0].do(0, b, nil, 0)
			s, _ := scsi.ParseSense(k.Sense())
			if told := s.Key == scsi.KeyNotReady && s.ASC == c.code; told == (c.code == 0 || slices.Contains(c.works, name)) {
				t.Errorf("%s in state %v: %v, %v", name, c.state, k.Status, s)
			}
		}
		if err := u.SetAccess(10, scsi.AccessOptimized); err != nil {
			t.Fatal(err)
		}
		x[0].attentions(0)
	}
	// The other port has a state of its own.
	if err := u.SetAccess(10, scsi.AccessUnavailable); err != nil {
		t.Fatal(err)
	}
	x[1].attentions(0)
	x[1].write(0, pattern(1, testBlock)).good()
	if q := must(scsi.ParseStandardInquiry(x[0].inquiry(0, false, 0))); q.Qualifier != scsi.QualifierNotConnected || q.TPGS != 3 {
		t.Errorf("INQUIRY through an unavailable port: %+v", q)
	}
	if q := must(scsi.ParseStandardInquiry(x[1].inquiry(0, false, 0))); q.Qualifier != scsi.QualifierConnected {
		t.Errorf("INQUIRY through the other: %+v", q)
	}
	x[0].do(0, cdb(&scsi.RequestSense{AllocationLength: 18}), nil, 18).good() // ASYMMETRIC ACCESS STATE CHANGED
	if s := must(scsi.ParseSense(x[0].do(0, cdb(&scsi.RequestSense{AllocationLength: 18}), nil, 18).good().got)); s.ASC != scsi.ASCNotReadyUnavailable {
		t.Errorf("REQUEST SENSE: %v", s)
	}
	x[0].setGroups(scsi.GroupChange{State: scsi.AccessOptimized, ID: 10}).good()
	x[0].ready(0).good()
}

// ASYMMETRIC ACCESS STATE CHANGED goes to every nexus but that of SET TARGET PORT GROUPS, through whichever port.
func TestAccessStateChanged(t *testing.T) {
	u, x := twoPorts(t, ram(testSize))
	want := []string{"10:active/optimized:[1]", "20:active/optimized:[2]"}
	if got := x[0].portGroups(0); !slices.Equal(got, want) {
		t.Fatalf("%v", got)
	}
	x[0].setGroups(scsi.GroupChange{State: scsi.AccessNonOptimized, ID: 10}, scsi.GroupChange{State: scsi.AccessStandby, ID: 20}).good()
	x[0].ready(0).good()
	x[1].ready(0).check(scsi.KeyUnitAttention, 0x2a06)
	x[1].ready(0).check(scsi.KeyNotReady, scsi.ASCNotReadyStandby)
	want = []string{"10:active/non-optimized:[1]", "20:standby:[2]"}
	for _, x := range x {
		if got := x.portGroups(0); !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
	}
	x[0].setGroups(scsi.GroupChange{State: scsi.AccessStandby, ID: 20}).good() // as it is
	x[1].ready(0).check(scsi.KeyNotReady, scsi.ASCNotReadyStandby)
	x[0].begin(lun.LogicalUnitReset, 0, 0)
	x[0].attentions(0)
	x[1].ready(0).check(scsi.KeyUnitAttention, scsi.ASCTargetReset)
	if got := x[0].portGroups(0); !slices.Equal(got, want) {
		t.Errorf("after a reset: %v", got)
	}

	for name, c := range map[string]struct {
		change scsi.GroupChange
		byte   uint16
	}{
		"unknown group": {scsi.GroupChange{State: scsi.AccessOptimized, ID: 30}, 10},
		"state 4":       {scsi.GroupChange{State: scsi.AccessBlockDepend, ID: 10}, 8},
		"offline":       {scsi.GroupChange{State: scsi.AccessOffline, ID: 1}, 8},
		"transitioning": {scsi.GroupChange{State: scsi.AccessTransitioning, ID: 10}, 8},
	} {
		k := x[0].setGroups(scsi.GroupChange{State: scsi.AccessOptimized, ID: 20}, c.change)
		s, _ := scsi.ParseSense(k.check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInParameters).Sense())
		if p, ok := s.FieldPointer(); !ok || !p.Data || p.Byte != c.byte {
			t.Errorf("%s: %v", name, s)
		}
		if got := x[0].portGroups(0); !slices.Equal(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	x[0].do(0, cdb(&scsi.SetGroups{}), nil, 0).good()
	for _, n := range []uint32{3, 6, 5000} {
		x[0].do(0, cdb(&scsi.SetGroups{ParameterListLength: n}), make([]byte, 5000), 0).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	for _, c := range []scsi.GroupChange{{State: scsi.AccessOffline, ID: 10}, {State: scsi.AccessOptimized, ID: 99}} {
		if err := u.SetAccess(c.ID, c.State); !errors.Is(err, lun.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A unit that a port shows no more has no group there, and its state again when the port shows it again; a port cannot
// be in two groups.
func TestPortsOfUnit(t *testing.T) {
	p := dispatch.NewManual("lun")
	one, two := lun.NewServerAt(p, lun.Port{Relative: 1, Group: 5}), lun.NewServerAt(p, lun.Port{Relative: 2, Group: 5})
	u := attach(t, one, 0, lun.Config{Store: ram(testSize)})
	x := newInitiator(t, one)
	x.attentions(0)
	steps := []struct {
		do   func() error
		want []string
	}{
		{func() error { return two.Attach(3, u) }, []string{"5:active/optimized:[1 2]"}},
		{func() error { return two.Attach(4, u) }, []string{"5:active/optimized:[1 2]"}},
		{func() error { _, err := two.Detach(3); return err }, []string{"5:active/optimized:[1 2]"}},
		{func() error { _, err := two.Detach(4); return err }, []string{"5:active/optimized:[1]"}},
	}
	for i, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
		if got := x.portGroups(0); !slices.Equal(got, s.want) {
			t.Errorf("step %d: %v, want %v", i, got, s.want)
		}
	}
	if err := lun.NewServerAt(p, lun.Port{Relative: 1, Group: 6}).Attach(0, u); !errors.Is(err, lun.ErrConfig) {
		t.Errorf("port 1 in another group: %v", err)
	}
	other := lun.NewServerAt(p, lun.Port{Relative: 9, Group: 7})
	for range 2 {
		if err := other.Attach(0, u); err != nil {
			t.Fatal(err)
		}
		if got := len(x.portGroups(0)); got != 2 {
			t.Errorf("%d groups", got)
		}
		if err := u.SetAccess(7, scsi.AccessStandby); err != nil {
			t.Fatal(err)
		}
		x.attentions(0)
		if _, err := other.Detach(0); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Attach(0, u); err != nil {
		t.Fatal(err)
	}
	if got := x.portGroups(0); !slices.Equal(got, []string{"5:active/optimized:[1]", "7:standby:[9]"}) {
		t.Errorf("%v", got)
	}
	if _, err := other.Detach(0); err != nil {
		t.Fatal(err)
	}
}

// VPD 83h names the port that it was asked through, as sg_vpd reads it, and the unit the same everywhere.
func TestIdentificationNamesPort(t *testing.T) {
	_, x := twoPorts(t, ram(testSize))
	var ids []scsi.UnitID
	for i, x := range x {
		page := x.inquiry(0, true, scsi.VPDIdentification)
		wants(t, tool(t, page, "sg_vpd", "--raw", "--inhex=FILE", "--page=0x83"), `SCSI RDMA Protocol \(SRP\)`,
			fmt.Sprintf(`Relative target port: 0x%x\b`, i+1), fmt.Sprintf(`Target port group: 0x%x\b`, 10*(i+1)))
		id, ok := scsi.UnitIdentity(page[4:])
		if !ok {
			t.Fatal("no name")
		}
		ids = append(ids, id)
	}
	if ids[0] != ids[1] {
		t.Errorf("%q", ids)
	}
}

func reportFunctionsEffect(t *testing.T, u *effectUnit) {
	want := scsi.Functions{AbortTask: true, AbortTaskSet: true, ClearTaskSet: true, UnitReset: true}
	for extended, n := range map[bool]int{false: 4, true: 16} {
		b := u.do(0, cdb(&scsi.ReportFunctions{Extended: extended, AllocationLength: 64}), nil, 64).good().got
		if got := must(scsi.ParseFunctions(b)); got != want || len(b) != n {
			t.Errorf("extended %v: %+v in %d bytes", extended, got, len(b))
		}
	}
	u.do(0, cdb(&scsi.ReportFunctions{AllocationLength: 3}), nil, 3).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	for _, fn := range []lun.Function{lun.AbortTask, lun.AbortTaskSet, lun.ClearTaskSet, lun.LogicalUnitReset} {
		u.manage(fn, 0, 12345)
	}
	if m := u.begin(lun.LogicalUnitReset+1, 0, 0); m.Response != lun.FunctionRejected {
		t.Errorf("another function: %d", m.Response)
	}
}
