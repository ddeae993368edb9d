package target_test

import (
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
)

// growing is a store whose size and granularity are what a test says.
type growing struct {
	lun.Store
	size        uint64
	granularity uint32
}

func (g *growing) Info() lun.Info {
	i := g.Store.Info()
	i.Size, i.Granularity = g.size, g.granularity
	return i
}

// twoHosts is a unit that anna and berta use, through the fabric, with nothing to report.
type twoHosts struct {
	*world
	unit        *lun.Unit
	store       *growing
	anna, berta *srp.Channel
}

func newTwoHosts(t *testing.T) *twoHosts {
	h := &twoHosts{world: newWorldOf(t, target.Config{}, nil, 2<<20)}
	h.store = &growing{Store: ram(), size: testSize, granularity: testBlock}
	h.unit = h.attach(0, h.store)
	h.anna, h.berta = h.as(anna), h.as(berta)
	h.attentions(h.anna, 0)
	h.attentions(h.berta, 0)
	return h
}

// send runs a command with data for the unit, which must take it.
func (h *twoHosts) send(c *srp.Channel, cmd interface{ Put(*scsi.CDB) int }, data []byte) {
	h.t.Helper()
	var b scsi.CDB
	cmd.Put(&b)
	if len(data) == 0 {
		h.newRequest(0, b[:16], srp.NoData).start(c).good()
		return
	}
	copy(h.init.mem, data)
	h.newRequest(0, b[:16], srp.DataOut, h.init.segment(0, len(data))).start(c).good()
}

// persist sends PERSISTENT RESERVE OUT.
func (h *twoHosts) persist(c *srp.Channel, action uint16, kind scsi.ReservationType, l scsi.ReserveList) {
	h.t.Helper()
	b := l.Append(nil)
	h.send(c, &scsi.ReserveOut{Action: action, Type: kind, ParameterListLength: uint32(len(b))}, b)
}

// registered registers both, anna with key 1 and berta with 2.
func (h *twoHosts) registered() {
	h.t.Helper()
	h.persist(h.anna, scsi.SARegisterIgnore, 0, scsi.ReserveList{ServiceKey: 1})
	h.persist(h.berta, scsi.SARegisterIgnore, 0, scsi.ReserveList{ServiceKey: 2})
}

// modes sends a MODE SELECT of the control page.
func (h *twoHosts) modes(c *srp.Channel, change func(p *scsi.ControlPage)) {
	h.t.Helper()
	p := scsi.ControlPage{QueueAlgorithm: 1, TaskAborted: true, GlobalLogOff: true}
	change(&p)
	head := scsi.ModeHeader{}
	list := head.AppendModeList(nil, false, p.Append(nil))
	h.send(c, &scsi.ModeSelect{PageFormat: true, ParameterListLength: uint16(len(list))}, list)
}

// resetLogs counts something, and resets the counters.
func (h *twoHosts) resetLogs(c *srp.Channel) {
	h.t.Helper()
	h.newRequest(0, rw(false, 0, testBlock), srp.DataIn, h.init.segment(0, testBlock)).start(c).good()
	h.send(c, &scsi.LogSelect{Reset: true, Control: scsi.LogCumulative}, nil)
}

func (h *twoHosts) resized() {
	h.t.Helper()
	if err := h.unit.CapacityChanged(); err != nil {
		h.t.Fatal(err)
	}
}

// told wants TEST UNIT READY to report these conditions, one after the other, and then none.
func (h *twoHosts) told(c *srp.Channel, codes ...scsi.ASC) {
	h.t.Helper()
	for _, code := range codes {
		h.newRequest(0, nil, srp.NoData).start(c).check(scsi.KeyUnitAttention, code)
	}
	h.newRequest(0, nil, srp.NoData).start(c).good()
}

// events is what happens to a unit, mostly by anna's doing, and what each of the two is told of it (SAM-5 5.14, SPC-5
// 5.14.11 and 6.11, SBC-4 4.7.3.6): 0 is nothing.
var events = []struct {
	name        string
	happens     func(h *twoHosts)
	anna, berta scsi.ASC
}{
	{"LOGICAL UNIT RESET", func(h *twoHosts) { h.manage(h.anna, srp.LogicalUnitReset, 0, nil).complete() }, 0x2903, 0x2903},
	{"the capacity", func(h *twoHosts) { h.store.size /= 2; h.resized() }, 0x2a09, 0x2a09},
	{"MODE SELECT", func(h *twoHosts) {
		h.modes(h.anna, func(p *scsi.ControlPage) { p.SoftwareProtect = true })
	}, 0, 0x2a01},
	{"MODE SELECT that changes nothing", func(h *twoHosts) { h.modes(h.anna, func(*scsi.ControlPage) {}) }, 0, 0},
	{"LOG SELECT", func(h *twoHosts) { h.resetLogs(h.anna) }, 0, 0x2a02},
	{"SET TARGET PORT GROUPS", func(h *twoHosts) {
		b := scsi.AppendGroupChanges(nil, []scsi.GroupChange{{State: scsi.AccessNonOptimized, ID: 1}})
		h.send(h.anna, &scsi.SetGroups{ParameterListLength: uint32(len(b))}, b)
	}, 0, 0x2a06},
	{"an access state that the operator sets", func(h *twoHosts) {
		if err := h.unit.SetAccess(1, scsi.AccessNonOptimized); err != nil {
			h.t.Fatal(err)
		}
	}, 0x2a06, 0x2a06},
	{"another LUN", func(h *twoHosts) { h.attach(3, ram()) }, 0x3f0e, 0x3f0e},
	{"thin provisioning threshold", func(h *twoHosts) { h.unit.SpaceLow() }, 0x3807, 0x3807},
	{"REGISTER", func(h *twoHosts) { h.registered() }, 0, 0},
	{"PREEMPT of a registration", func(h *twoHosts) {
		h.registered()
		h.persist(h.anna, scsi.SAPreempt, scsi.WriteExclusive, scsi.ReserveList{Key: 1, ServiceKey: 2})
	}, 0, 0x2a05},
	{"PREEMPT of a reservation", func(h *twoHosts) {
		h.registered()
		h.persist(h.berta, scsi.SAReserve, scsi.ExclusiveAccess, scsi.ReserveList{Key: 2})
		h.persist(h.anna, scsi.SAPreempt, scsi.WriteExclusive, scsi.ReserveList{Key: 1, ServiceKey: 2})
	}, 0, 0x2a05},
	{"CLEAR", func(h *twoHosts) {
		h.registered()
		h.persist(h.anna, scsi.SAReserve, scsi.ExclusiveAccess, scsi.ReserveList{Key: 1})
		h.persist(h.anna, scsi.SAClear, 0, scsi.ReserveList{Key: 1})
	}, 0, 0x2a03},
	{"RELEASE of a type with registrants", func(h *twoHosts) {
		h.registered()
		h.persist(h.anna, scsi.SAReserve, scsi.ExclusiveAccessRegistrantsOnly, scsi.ReserveList{Key: 1})
		h.persist(h.anna, scsi.SARelease, scsi.ExclusiveAccessRegistrantsOnly, scsi.ReserveList{Key: 1})
	}, 0, 0x2a04},
	{"RELEASE of another type", func(h *twoHosts) {
		h.registered()
		h.persist(h.anna, scsi.SAReserve, scsi.ExclusiveAccess, scsi.ReserveList{Key: 1})
		h.persist(h.anna, scsi.SARelease, scsi.ExclusiveAccess, scsi.ReserveList{Key: 1})
	}, 0, 0},
	{"the holder's end of registration", func(h *twoHosts) {
		h.registered()
		h.persist(h.anna, scsi.SAReserve, scsi.WriteExclusiveRegistrantsOnly, scsi.ReserveList{Key: 1})
		h.persist(h.anna, scsi.SARegister, 0, scsi.ReserveList{Key: 1})
	}, 0, 0x2a04},
}

// Of each event each initiator is told what it is owed, once, and who caused it is told where the standard says so.
func TestAttentionTable(t *testing.T) {
	for _, e := range events {
		t.Run(e.name, func(t *testing.T) {
			h := newTwoHosts(t)
			e.happens(h)
			for _, x := range []struct {
				c    *srp.Channel
				code scsi.ASC
			}{{h.anna, e.anna}, {h.berta, e.berta}} {
				if x.code == 0 {
					h.told(x.c)
				} else {
					h.told(x.c, x.code)
				}
			}
		})
	}
}

// VPD pages that change with the store are INQUIRY DATA HAS CHANGED. INQUIRY is carried out meanwhile, shows the new
// data, and clears nothing; REQUEST SENSE takes one condition out (SPC-5 6.6, 6.39; SAM-5 5.14.7).
func TestInquiryChangedAttention(t *testing.T) {
	h := newTwoHosts(t)
	h.store.granularity = 8 * testBlock
	h.resized()
	for _, c := range []*srp.Channel{h.anna, h.berta} {
		h.newRequest(0, []byte{0x12, 1, scsi.VPDBlockLimits, 0, 64, 0}, srp.DataIn, h.init.segment(0, 64)).start(c).good()
		v := must(scsi.ParseVPD(h.init.mem[:64], scsi.VPDBlockLimits))
		if l := must(scsi.ParseBlockLimits(v.Body)); l.UnmapGranularity != 8 {
			t.Errorf("%+v", l)
		}
	}
	h.told(h.anna, scsi.ASCCapacityChanged, scsi.ASCInquiryChanged)
	for _, want := range []scsi.ASC{scsi.ASCCapacityChanged, scsi.ASCInquiryChanged, scsi.ASCNone} {
		h.newRequest(0, []byte{0x03, 0, 0, 0, 18, 0}, srp.DataIn, h.init.segment(0, 18)).start(h.berta).good()
		if s := must(scsi.ParseSense(h.init.mem[:18])); s.ASC != want {
			t.Errorf("REQUEST SENSE: %v, want %v", s, want)
		}
	}
	h.told(h.berta)
	h.resized() // with the same data
	h.told(h.anna, scsi.ASCCapacityChanged)
}

// REPORT LUNS takes REPORTED LUNS DATA HAS CHANGED back, for who has asked; INQUIRY does not (SPC-5 6.33).
func TestLUNsChangedAttention(t *testing.T) {
	h := newTwoHosts(t)
	h.attach(4, ram())
	h.luns(h.anna)
	h.newRequest(0, []byte{0x12, 0, 0, 0, 36, 0}, srp.DataIn, h.init.segment(0, 36)).start(h.berta).good()
	h.told(h.anna)
	h.told(h.berta, scsi.ASCReportedLUNsChanged)
}

// However much happens while an initiator does not ask, it is told of each kind once, the most important first: what is
// kept for it is bounded.
func TestAttentionsDoNotPileUp(t *testing.T) {
	h := newTwoHosts(t)
	h.registered()
	for i := range 100 {
		h.persist(h.anna, scsi.SAReserve, scsi.WriteExclusiveRegistrantsOnly, scsi.ReserveList{Key: 1})
		h.persist(h.anna, scsi.SARelease, scsi.WriteExclusiveRegistrantsOnly, scsi.ReserveList{Key: 1})
		h.modes(h.anna, func(p *scsi.ControlPage) { p.DescriptorSense = i%2 == 0 })
		h.resetLogs(h.anna)
		h.resized()
		h.unit.SpaceLow()
		h.told(h.anna, scsi.ASCCapacityChanged, scsi.ASCThinThreshold)
	}
	h.told(h.berta, scsi.ASCCapacityChanged, 0x2a04, scsi.ASCModeParametersChanged, 0x2a02, scsi.ASCThinThreshold)
}

// What a logical unit reset does besides: RESERVE of SPC-2 is gone, registrations and persistent reservations stay
// (SPC-2 5.5.1, SPC-5 5.14.1), and so does who holds them after the I_T nexus is lost (SAM-5 6.3.4), which ends RESERVE.
func TestResetAndNexusLossKeepReservations(t *testing.T) {
	h := newTwoHosts(t)
	reserve := func(c *srp.Channel, op scsi.Opcode) *request {
		return h.newRequest(0, []byte{byte(op), 0, 0, 0, 0, 0}, srp.NoData).start(c).end()
	}
	status := func(what string, r *request, want scsi.Status) {
		t.Helper()
		if r.Outcome != srp.Completed || r.Status != want {
			t.Errorf("%s: %v, %v; want %v", what, r.Outcome, r.Status, want)
		}
	}
	write := func(c *srp.Channel) *request {
		return h.newRequest(0, rw(true, 0, 512), srp.DataOut, h.init.segment(0, 512)).start(c).end()
	}
	status("RESERVE", reserve(h.anna, scsi.OpReserve6), scsi.StatusGood)
	status("a write against it", write(h.berta), scsi.StatusReservationConflict)
	h.manage(h.berta, srp.LogicalUnitReset, 0, nil).complete()
	h.told(h.anna, scsi.ASCTargetReset)
	h.told(h.berta, scsi.ASCTargetReset)
	status("a write after the reset", write(h.berta), scsi.StatusGood)

	status("RESERVE again", reserve(h.anna, scsi.OpReserve6), scsi.StatusGood)
	h.anna = h.as(anna) // which ends the session of before
	h.attentions(h.anna, 0)
	h.attentions(h.berta, 0)
	status("a write after the holder has logged in anew", write(h.berta), scsi.StatusGood)

	h.registered()
	h.persist(h.anna, scsi.SAReserve, scsi.WriteExclusive, scsi.ReserveList{Key: 1})
	h.manage(h.berta, srp.LogicalUnitReset, 0, nil).complete()
	h.attentions(h.anna, 0)
	h.attentions(h.berta, 0)
	status("a write after the reset against a persistent reservation", write(h.berta), scsi.StatusReservationConflict)
	h.anna = h.as(anna)
	h.attentions(h.anna, 0)
	status("a write after the holder's new login", write(h.berta), scsi.StatusReservationConflict)
	status("the holder's", write(h.anna), scsi.StatusGood)
	var keys scsi.CDB
	(&scsi.ReserveIn{Action: scsi.SAReadKeys, AllocationLength: 64}).Put(&keys)
	h.newRequest(0, keys[:16], srp.DataIn, h.init.segment(0, 64)).start(h.berta).good()
	if _, body, _, err := scsi.ParseReserveHeader(h.init.mem[:64]); err != nil || len(body) != 16 {
		t.Errorf("%d bytes of keys, %v, want 2 keys", len(body), err)
	}
}

// An ABORT TASK of a task that the unit does not know is complete, changes nothing, and tells nobody; neither does the
// ABORT TASK SET of one touch the other's (SAM-5 7.2, 7.3).
func TestFunctionsTellNobody(t *testing.T) {
	h := newTwoHosts(t)
	x, _ := h.loggedIn()
	for _, fn := range []srp.TaskFunction{srp.AbortTask, srp.AbortTaskSet, srp.ClearTaskSet} {
		m := srp.TaskManagement{Tag: 5, LUN: scsi.PeripheralLUN(0).Bytes(), Function: fn, TaskTag: 0xdeadbeef}
		b := make([]byte, srp.TaskManagementLen)
		if _, err := m.Encode(b); err != nil {
			t.Fatal(err)
		}
		x.send(b)
		if code, ok := x.response().ResponseCode(); !ok || code != srp.ResponseComplete {
			t.Errorf("%v: %v", fn, code)
		}
		h.told(h.anna)
		h.told(h.berta)
	}
}
