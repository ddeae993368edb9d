package miniport

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// shelf is what stands behind a target of a scan: identities by LUN. "" is a number
// without a unit, "?" one that refuses to say.
type shelf struct {
	*rig
	luns     map[scsi.LUN]string
	order    []scsi.LUN
	noList   bool // REPORT LUNS is not known
	owes     map[scsi.LUN]int
	lists    []uint32 // allocation lengths of REPORT LUNS
	told     []string
	commands int
}

func newShelf(t *testing.T) *shelf {
	w := &shelf{rig: newRig(t), owes: map[scsi.LUN]int{}}
	w.port.units, w.port.byID, w.port.byPath = nil, map[scsi.UnitID]*Unit{}, map[pathKey]*Path{}
	w.target.units.Store(&[]*Unit{})
	w.port.config.UnitFound = func(u *Unit) { w.told = append(w.told, "found "+string(u.ID())) }
	w.port.config.UnitChanged = func(u *Unit) {
		w.told = append(w.told, "changed "+string(u.ID())+strings.Repeat(" path", len(u.Paths())))
	}
	w.mp.on = true
	w.mp.answer = w.answer
	return w
}

// put says what is at each LUN, in pairs of number and identity.
func (w *shelf) put(ids ...string) {
	w.luns, w.order, w.told = map[scsi.LUN]string{}, nil, nil
	for i, id := range ids {
		lun := scsi.PeripheralLUN(uint8(i))
		w.order = append(w.order, lun)
		if id != "-" {
			w.luns[lun] = id
		} else {
			w.order = w.order[:len(w.order)-1]
		}
	}
}

func (w *shelf) answer(s *SRB) (Status, scsi.Status) {
	w.commands++
	fail := func(key scsi.SenseKey, code scsi.ASC) (Status, scsi.Status) {
		sense := scsi.MakeSense(key, code)
		s.SenseLength = uint8(sense.Put(s.sense[:]))
		return StatusError, scsi.StatusCheckCondition
	}
	if w.owes[s.path.lun] > 0 {
		w.owes[s.path.lun]--
		return fail(scsi.KeyUnitAttention, scsi.ASCPowerOnReset)
	}
	var b []byte
	id := w.luns[s.path.lun]
	switch op := scsi.Opcode(s.CDB[0]); {
	case op == scsi.OpReportLUNs && w.noList:
		return fail(scsi.KeyIllegalRequest, scsi.ASCInvalidOpcode)
	case op == scsi.OpReportLUNs:
		w.lists = append(w.lists, binary.BigEndian.Uint32(s.CDB[6:]))
		b = scsi.AppendLUNList(nil, w.order)
	case id == "?":
		return fail(scsi.KeyHardwareError, scsi.ASCNone)
	case s.CDB[1]&1 == 0: // standard INQUIRY
		q := scsi.StandardInquiry{ResponseFormat: 2}
		if id == "" {
			q.Qualifier, q.Device = 3, 0x1f
		}
		b = q.Append(nil)
	case strings.HasPrefix(id, "serial.") && s.CDB[2] == uint8(scsi.VPDSerialNumber):
		b = (&scsi.VPD{Page: scsi.VPDSerialNumber, Body: []byte(id)}).Append(nil)
	case strings.HasPrefix(id, "serial.") || id == "nameless":
		return fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	default:
		body := scsi.AppendNameDesignator(nil, 0, 0, id)
		b = (&scsi.VPD{Page: scsi.VPDIdentification, Body: body}).Append(nil)
	}
	s.Transferred = uint32(copy(s.Data[0].Bytes(), b))
	return StatusSuccess, 0
}

func (w *shelf) scan() (ids []string, err error) {
	w.passive(func() {
		var units []*Unit
		units, err = w.port.Scan(context.Background(), w.mp.a, w.target)
		for _, u := range units {
			ids = append(ids, string(u.ID()))
		}
	})
	return ids, err
}

func (w *shelf) want(told ...string) {
	w.t.Helper()
	if !slices.Equal(w.told, told) {
		w.t.Errorf("told %q, want %q", w.told, told)
	}
	w.told = nil
}

func (w *shelf) mustScan(want ...string) {
	w.t.Helper()
	ids, err := w.scan()
	if err != nil || !slices.Equal(ids, want) {
		w.t.Fatalf("units %q, %v; want %q", ids, err, want)
	}
}

// One identity at two numbers is one unit with two paths; a second scan finds nothing
// new.
func TestScanFindsUnitsAndTheirPaths(t *testing.T) {
	w := newShelf(t)
	w.put("a", "b", "a")
	w.mustScan("a", "b")
	w.want("found a", "found b", "changed a path path")
	w.mustScan("a", "b")
	w.want()
	u, err := w.port.Unit("a")
	if err != nil || len(u.Paths()) != 2 || len(*w.target.units.Load()) != 2 {
		t.Errorf("%v, %d paths, %d units of the target", err, len(u.Paths()), len(*w.target.units.Load()))
	}
	if _, err := w.port.Unit("c"); !errors.Is(err, ErrNoUnit) {
		t.Errorf("%v", err)
	}
}

// Unit attentions that a unit owes a new nexus are taken, and the command is sent
// again.
func TestScanTakesUnitAttentions(t *testing.T) {
	w := newShelf(t)
	w.put("a", "b")
	w.owes[0], w.owes[scsi.PeripheralLUN(1)] = 3, probeTries-1
	w.mustScan("a", "b")
}

// A number that is not reported any more, or that has no unit any more, is not a path
// any more. The unit without a path takes nothing; when it is back it is the same unit,
// with full service (E6).
func TestScanDropsWhatIsGone(t *testing.T) {
	for _, how := range []string{"not reported", "no unit there"} {
		t.Run(how, func(t *testing.T) {
			w := newShelf(t)
			w.put("a", "b")
			w.mustScan("a", "b")
			u := w.port.Units()[1]
			if how == "not reported" {
				w.put("a")
			} else {
				w.put("a", "")
			}
			w.mustScan("a")
			w.want("changed b")
			w.at(func(f *dispatch.Frame) { u.Submit(f, w.srb()) })
			w.wantDone(StatusNoDevice)
			if !slices.Contains(w.port.Units(), u) || slices.Contains(*w.target.units.Load(), u) {
				t.Error("the unit has to stay known, and the target has to forget it")
			}
			w.put("a", "b")
			w.mustScan("a", "b")
			w.want("changed b path")
			w.mp.answer = nil
			w.at(func(f *dispatch.Frame) { u.Submit(f, w.srb()) })
			w.wantDone(StatusSuccess)
		})
	}
}

// Another unit at the number of one that is known takes the path (E44).
func TestScanSeesAnotherUnitAtANumber(t *testing.T) {
	w := newShelf(t)
	w.put("a", "b")
	w.mustScan("a", "b")
	a := w.port.Units()[0]
	w.put("b", "c")
	w.mustScan("b", "c")
	w.want("changed a", "changed b path path", "changed b path", "found c")
	w.at(func(f *dispatch.Frame) { a.Submit(f, w.srb()) })
	w.wantDone(StatusNoDevice)
	b, _ := w.port.Unit("b")
	if p := b.Paths(); len(p) != 1 || p[0].LUN() != 0 {
		t.Errorf("%v", p)
	}
}

// A unit that cannot be asked keeps its path, and does not stop the scan (E32: what
// fails changes nothing).
func TestScanLeavesAloneWhatItCouldNotAsk(t *testing.T) {
	w := newShelf(t)
	w.put("a", "b", "c")
	w.mustScan("a", "b", "c")
	w.put("a", "?", "c")
	ids, err := w.scan()
	if !slices.Equal(ids, []string{"a", "c"}) || !errors.Is(err, scsi.ErrHardware) || !strings.Contains(err.Error(), "LUN ") {
		t.Errorf("%q, %v", ids, err)
	}
	w.want()
	b, _ := w.port.Unit("b")
	if len(b.Paths()) != 1 {
		t.Error("the path is gone")
	}
}

// A scan that cannot read the list changes nothing.
func TestScanWithoutAListChangesNothing(t *testing.T) {
	w := newShelf(t)
	w.put("a", "b")
	w.mustScan("a", "b")
	w.want("found a", "found b")
	w.mp.answer = func(s *SRB) (Status, scsi.Status) { return StatusTimeout, 0 }
	if _, err := w.scan(); err == nil {
		t.Error("no error")
	}
	w.want()
	if b, _ := w.port.Unit("b"); len(b.Paths()) != 1 || b.doomed() {
		t.Error("the unit has lost its path")
	}
}

// Units without page 83h are known by serial number, and those without that by their
// place. A target without REPORT LUNS has one unit.
func TestScanOfPlainUnits(t *testing.T) {
	w := newShelf(t)
	w.put("serial.1", "nameless")
	ids, err := w.scan()
	if err != nil || len(ids) != 2 || !strings.Contains(ids[0], "serial.1") || !strings.HasPrefix(ids[1], "path.target.") {
		t.Errorf("%q, %v", ids, err)
	}
	w = newShelf(t)
	w.put("a", "b")
	w.noList = true
	w.mustScan("a")
}

// A list longer than what is asked for first is asked for again, whole; one that is
// longer than what is ever asked for leaves the rest out, says so, and drops nothing.
func TestScanOfManyUnits(t *testing.T) {
	w := newShelf(t)
	w.luns = map[scsi.LUN]string{}
	const n = 5000
	for i := range uint16(n) {
		w.order = append(w.order, scsi.FlatLUN(i))
	}
	last := w.order[n-1]
	w.luns[last] = "last"
	w.mustScan("last")
	if !slices.Equal(w.lists, []uint32{firstLUNList, 8 + 8*n}) {
		t.Errorf("allocation lengths %v", w.lists)
	}
	if len(w.port.regions) != 1 {
		t.Errorf("%d regions are left", len(w.port.regions))
	}

	w.order = nil
	w.luns = map[scsi.LUN]string{0: "first"}
	for range maxLUNList / 8 {
		w.order = append(w.order, 0)
	}
	w.order = append(w.order, last)
	w.told = nil
	ids, err := w.scan()
	if !slices.Equal(ids, []string{"first"}) || err == nil || !strings.Contains(err.Error(), "2 units are left out") {
		t.Errorf("%q, %v", ids, err)
	}
	w.want("found first")
}

// A scan waits while its target is away, goes on when it comes, and ends when it is lost
// or its context ends: nothing waits for ever.
func TestScanOfATargetThatIsAway(t *testing.T) {
	for _, how := range []string{"comes", "lost", "context"} {
		t.Run(how, func(t *testing.T) {
			w := newShelf(t)
			w.put("a")
			c := w.target.channels[0].Swap(nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			result := make(chan error, 1)
			go func() {
				_, err := w.port.Scan(ctx, w.mp.a, w.target)
				result <- err
			}()
			w.eventually(func() bool { return len(*w.target.units.Load()) == 1 })
			switch how {
			case "comes":
				w.target.channels[0].Store(c)
				w.mp.a.TargetChanged(w.target)
			case "lost":
				w.target.lost.Store(true)
				w.mp.a.TargetChanged(w.target)
			case "context":
				cancel()
			}
			var err error
			w.passive(func() { err = <-result })
			if (err == nil) != (how == "comes") || how == "context" && !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
}
