package lun_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/verbs/dispatch"
)

func (x *initiator) luns(n uint8, sel uint8) (luns []scsi.LUN) {
	x.tb.Helper()
	list := must(scsi.ParseLUNList(x.do(n, cdb(&scsi.ReportLUNs{Select: sel, AllocationLength: 4096}), nil, 4096).good().got))
	for i := range list.Len() {
		luns = append(luns, list.At(i))
	}
	return luns
}

// REPORT LUNS is answered at each unit, at LUN 0 also without one, and at the well known logical unit (SPC-5 6.33).
func TestReportLUNs(t *testing.T) {
	s := newServer()
	x := newInitiator(t, s)
	if got := x.luns(0, scsi.ReportAddressable); len(got) != 0 {
		t.Errorf("no units, LUNs %v", got)
	}
	attach(t, s, 3, lun.Config{Store: ram(testSize), Serial: "3"})
	attach(t, s, 255, lun.Config{Store: ram(testSize), Serial: "255"})
	want := []scsi.LUN{scsi.PeripheralLUN(3), scsi.PeripheralLUN(255)}
	for _, n := range []uint8{0, 3, 255} {
		if got := x.luns(n, scsi.ReportAddressable); !slices.Equal(got, want) {
			t.Errorf("at LUN %d: %v", n, got)
		}
	}
	if got := x.luns(0, scsi.ReportAll); !slices.Equal(got, append(want, scsi.LUNReportLUNs)) {
		t.Errorf("all: %v", got)
	}
	if got := x.luns(0, scsi.ReportWellKnown); !slices.Equal(got, []scsi.LUN{scsi.LUNReportLUNs}) {
		t.Errorf("well known: %v", got)
	}
	c := x.command(0, cdb(&scsi.ReportLUNs{AllocationLength: 4096}), nil, 4096)
	c.LUN = scsi.LUNReportLUNs
	if list := must(scsi.ParseLUNList(c.run().good().got)); list.Len() != 2 {
		t.Errorf("at the well known unit: %d LUNs", list.Len())
	}
	x.do(0, cdb(&scsi.ReportLUNs{AllocationLength: 15}), nil, 15).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	x.do(0, cdb(&scsi.ReportLUNs{Select: 3, AllocationLength: 16}), nil, 16).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	x.do(1, cdb(&scsi.ReportLUNs{AllocationLength: 16}), nil, 16).check(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported)
}

// Where there is no unit: INQUIRY says so, REQUEST SENSE too, everything else is refused (SPC-5 6.7.1, SAM-5 5.11).
func TestNoUnit(t *testing.T) {
	s := newServer()
	attach(t, s, 1, lun.Config{Store: ram(testSize)})
	x := newInitiator(t, s)
	for _, l := range []scsi.LUN{
		scsi.PeripheralLUN(0), scsi.PeripheralLUN(7), scsi.FlatLUN(300), scsi.LogicalUnitLUN(1, 1, 1),
		scsi.ExtendedFlatLUN(1 << 20), 0x0102 << 48, 0xffffffffffffffff, 0xc102 << 48, 1<<48 | 1,
	} {
		run := func(b []byte, in int) *command {
			c := x.command(0, b, nil, in)
			c.LUN = l
			return c.run()
		}
		q := must(scsi.ParseStandardInquiry(run(cdb(&scsi.Inquiry{AllocationLength: 96}), 96).good().got))
		if q.Qualifier != scsi.QualifierNotSupported || q.Device != scsi.DeviceUnknown {
			t.Errorf("%v: INQUIRY %+v", l, q)
		}
		if got := must(scsi.ParseSense(run(cdb(&scsi.RequestSense{AllocationLength: 18}), 18).good().got)); got.ASC != scsi.ASCUnitNotSupported {
			t.Errorf("%v: REQUEST SENSE %v", l, got)
		}
		for _, b := range [][]byte{
			make([]byte, 6), cdb(&scsi.RW{Blocks: 1}), {0xff}, cdb(&scsi.Inquiry{EVPD: true, AllocationLength: 96}),
		} {
			run(b, 512).check(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported)
		}
	}
	for _, l := range []scsi.LUN{scsi.PeripheralLUN(1), scsi.FlatLUN(1), scsi.ExtendedFlatLUN(1)} {
		c := x.command(0, cdb(&scsi.Inquiry{AllocationLength: 96}), nil, 96)
		c.LUN = l
		if q := must(scsi.ParseStandardInquiry(c.run().good().got)); q.Device != scsi.DeviceDisk {
			t.Errorf("%v names LUN 1 too, INQUIRY %+v", l, q)
		}
	}
}

func TestWellKnownUnit(t *testing.T) {
	x := newInitiator(t, newServer())
	run := func(b []byte, in int) *command {
		c := x.command(0, b, nil, in)
		c.LUN = scsi.LUNReportLUNs
		return c.run()
	}
	q := must(scsi.ParseStandardInquiry(run(cdb(&scsi.Inquiry{AllocationLength: 96}), 96).good().got))
	if q.Device != scsi.DeviceWellKnown || q.Qualifier != scsi.QualifierConnected {
		t.Errorf("INQUIRY %+v", q)
	}
	run(make([]byte, 6), 0).good()
	if got := must(scsi.ParseSense(run(cdb(&scsi.RequestSense{AllocationLength: 18}), 18).good().got)); got.Key != scsi.KeyNoSense {
		t.Errorf("REQUEST SENSE %v", got)
	}
	run(cdb(&scsi.RW{Blocks: 1}), 512).check(scsi.KeyIllegalRequest, scsi.ASCInvalidOpcode)
}

// The list of commands is what is known: each that is listed is, by its own answer, and each that is not is refused.
func TestSupportedOperationCodes(t *testing.T) {
	x := inquiryUnit(t)
	x.attentions(0)
	listed := map[[2]uint16]scsi.SupportedCommand{}
	for _, timeouts := range []bool{false, true} {
		data := x.do(0, cdb(&scsi.ReportSupported{Timeouts: timeouts, AllocationLength: 4096}), nil, 4096).good().got
		entries, needed, err := scsi.ParseSupportedList(data)
		if err != nil || needed != uint64(len(data)) {
			t.Fatalf("list of %d bytes needs %d, %v", len(data), needed, err)
		}
		n := 0
		for {
			c, rest, ok := scsi.NextSupported(entries)
			if !ok {
				break
			}
			if c.HasTimeouts != timeouts {
				t.Errorf("%v: time-outs %v", c.Opcode, c.HasTimeouts)
			}
			listed[[2]uint16{uint16(c.Opcode), c.ServiceAction}] = c
			entries, n = rest, n+1
		}
		if n < 30 || n != len(listed) {
			t.Errorf("%d commands listed, %d different", n, len(listed))
		}
	}
	one := func(options uint8, op scsi.Opcode, sa uint16) *command {
		c := scsi.ReportSupported{Options: options, Opcode: op, ServiceAction: sa, AllocationLength: 64}
		return x.do(0, cdb(&c), nil, 64)
	}
	for op := range 256 {
		op := scsi.Opcode(op)
		for sa := range uint16(64) {
			c, ok := listed[[2]uint16{uint16(op), sa}]
			ok = ok && (c.HasServiceAction || sa == 0)
			got := must(scsi.ParseOneCommand(one(scsi.ReportByOpcodeAction, op, sa).good().got))
			if ok != (got.Support == scsi.SupportStandard) {
				t.Fatalf("%v/%#x: listed %v, support %v", op, sa, ok, got.Support)
			}
			if !ok {
				continue
			}
			if told, ok := scsi.ServiceAction(got.Usage); len(got.Usage) != int(c.Length) || got.Usage[0] != byte(op) || c.HasServiceAction && (!ok || told != sa) {
				t.Errorf("%v: usage % x", op, got.Usage)
			}
			if c.HasServiceAction {
				one(scsi.ReportByOpcode, op, 0).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
				one(scsi.ReportByAction, op, sa).good()
			} else {
				one(scsi.ReportByAction, op, 0).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
				one(scsi.ReportByOpcode, op, 0).good()
			}
		}
		var b scsi.CDB
		b[0] = byte(op)
		action := false
		for _, c := range listed {
			action = action || c.Opcode == op && c.HasServiceAction
		}
		if action {
			b[1], b[8] = 0x1f, 0x1f
		}
		_, known := listed[[2]uint16{uint16(op), 0}]
		s, err := scsi.ParseSense(x.do(0, b[:], nil, 0).Sense())
		if refused := err == nil && s.ASC == scsi.ASCInvalidOpcode; !known && !refused && !action {
			t.Errorf("%v is not listed and ends with %v, %v", op, s, err)
		} else if action && s.ASC != scsi.ASCInvalidFieldInCDB {
			t.Errorf("%v with an unknown service action ends with %v, %v", op, s, err)
		} else if known && refused {
			t.Errorf("%v is listed and refused", op)
		}
	}
}

// Any bit of a CDB outside its usage data is refused with a pointer to it.
func TestReservedBits(t *testing.T) {
	x := inquiryUnit(t)
	x.attentions(0)
	for _, good := range [][]byte{
		make([]byte, 6), cdb(&scsi.Inquiry{AllocationLength: 5}), cdb(&scsi.RW{Blocks: 1}), cdb(&scsi.RW{LBA: 1 << 40}),
		cdb(&scsi.SyncCache{}), cdb(&scsi.ReadCapacity16{AllocationLength: 32}), cdb(&scsi.ReportLUNs{AllocationLength: 16}),
	} {
		c, ok := scsi.LookupCommand(scsi.Opcode(good[0]), uint16(good[1]&0x1f))
		if !ok {
			t.Fatalf("no usage data for % x", good)
		}
		for bit := 8; bit < 8*c.Length; bit++ {
			at, mask := bit/8, byte(0x80)>>(bit%8)
			if c.Usage[at]&mask != 0 || at == 1 && c.HasServiceAction && mask&0x1f != 0 {
				continue
			}
			var b scsi.CDB
			copy(b[:], good)
			b[at] |= mask
			s, _ := scsi.ParseSense(x.do(0, b[:], nil, 512).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB).Sense())
			if p, ok := s.FieldPointer(); !ok || p.Data || int(p.Byte) != at || p.Bit != int8(7-bit%8) {
				t.Errorf("% x: field pointer %v", b, p)
			}
		}
		if c.Length < scsi.CDBSize { // what stands behind a CDB is not looked at
			var b scsi.CDB
			copy(b[:], good)
			b[c.Length] = 0xff
			if s, err := scsi.ParseSense(x.do(0, b[:], nil, 512).Sense()); err == nil && s.ASC == scsi.ASCInvalidFieldInCDB {
				t.Errorf("% x: %v", b, s)
			}
		}
	}
}

func TestAttachAndDetach(t *testing.T) {
	s := newServer()
	u := attach(t, s, 0, lun.Config{Store: ram(testSize)})
	other := must(lun.NewUnit(dispatch.NewManual("other"), lun.Config{Store: ram(testSize), Serial: "x"}))
	defer other.Close(context.Background())
	for n, want := range map[int]error{0: lun.ErrLUN, -1: lun.ErrLUN, lun.MaxUnits: lun.ErrLUN} {
		if err := s.Attach(n, u); !errors.Is(err, want) {
			t.Errorf("attach at %d: %v", n, err)
		}
	}
	if err := s.Attach(1, other); !errors.Is(err, lun.ErrConfig) {
		t.Errorf("unit of another processor: %v", err)
	}
	for _, n := range []int{1, -1, lun.MaxUnits} {
		if _, err := s.Detach(n); !errors.Is(err, lun.ErrLUN) {
			t.Errorf("detach of %d: %v", n, err)
		}
	}
	for n, got := range s.Units {
		if n != 0 || got != u {
			t.Errorf("unit %v at %d", got, n)
		}
	}
}
