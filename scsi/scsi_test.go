package scsi

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

// SPC-5 4.2.5.1: the group code tells the length of the CDB.
func TestCDBLengthByGroupCode(t *testing.T) {
	for _, c := range []struct {
		cdb  []byte
		want int
	}{
		{[]byte{0x1f}, 6}, {[]byte{0x20}, 10}, {[]byte{0x5f}, 10}, {[]byte{0x60}, 0}, {[]byte{0x7f}, 0},
		{[]byte{0x7f, 0, 0, 0, 0, 0, 0, 24}, 32}, {[]byte{0x80}, 16}, {[]byte{0x9f}, 16}, {[]byte{0xa0}, 12},
		{[]byte{0xc0}, 0}, {[]byte{0xff}, 0}, {nil, 0},
	} {
		if n, ok := CDBLength(c.cdb); n != c.want || ok != (c.want != 0) {
			t.Errorf("%x: %d bytes, %t; want %d", c.cdb, n, ok, c.want)
		}
	}
}

// SBC-4 5.15: a TRANSFER LENGTH of zero in READ(6) means 256 blocks; in the others it means none.
func TestTransferLengthOfZero(t *testing.T) {
	if r, err := ParseRW([]byte{byte(OpRead6), 0xe1, 2, 3, 0, 0}); err != nil || r != (RW{LBA: 0x010203, Blocks: 256}) {
		t.Errorf("READ(6): %+v, %v", r, err)
	}
	if r, err := ParseRW([]byte{byte(OpWrite10), 0, 0, 0, 0, 1, 0, 0, 0, 0}); err != nil || r != (RW{Write: true, LBA: 1}) {
		t.Errorf("WRITE(10): %+v, %v", r, err)
	}
}

// The fields of READ(32) and WRITE(32) stand where SBC-4 5.19 and 5.44 have them.
func TestRW32Layout(t *testing.T) {
	r := RW{FUA: true, DPO: true, Protect: 5, Group: 0x2a, LBA: 0x0102030405060708, Blocks: 0x11223344}
	want := CDB{0: 0x7f, 6: 0x2a, 7: 24, 9: 0x09, 10: 0xb8, 12: 1, 13: 2, 14: 3, 15: 4, 16: 5, 17: 6, 18: 7, 19: 8,
		28: 0x11, 29: 0x22, 30: 0x33, 31: 0x44}
	for _, r.Write = range []bool{false, true} {
		var cdb CDB
		if err := r.PutSize(&cdb, 32); err != nil || cdb != want {
			t.Errorf("%x, %v; want %x", cdb, err, want)
		}
		if back, err := ParseRW(cdb[:]); err != nil || back != r || !IsRW(cdb[:]) {
			t.Errorf("%+v, %v; want %+v", back, err, r)
		}
		for n := range cdb {
			if _, err := ParseRW(cdb[:n]); !errors.Is(err, ErrShort) {
				t.Errorf("cut to %d bytes: %v", n, err)
			}
		}
		want[9] = 0x0b
	}
	want[9] = 0x0c
	if _, err := ParseRW(want[:]); !errors.Is(err, ErrFormat) || IsRW(want[:]) {
		t.Errorf("WRITE AND VERIFY(32): %v", err)
	}
}

func TestRWRefusesWhatDoesNotFit(t *testing.T) {
	cdb := CDB{0: 0xee}
	for _, c := range []struct {
		rw   RW
		size int
	}{
		{RW{Blocks: 1}, 8}, {RW{Blocks: 257}, 6}, {RW{}, 6}, {RW{Blocks: 1, FUA: true}, 6}, {RW{Blocks: 1, LBA: 1 << 21}, 6},
		{RW{Blocks: 1 << 16}, 10}, {RW{LBA: 1 << 32}, 10}, {RW{LBA: 1 << 32}, 12},
	} {
		if err := c.rw.PutSize(&cdb, c.size); !errors.Is(err, ErrRange) || cdb != (CDB{0: 0xee}) {
			t.Errorf("%+v in %d bytes: %v, %x", c.rw, c.size, err, cdb)
		}
	}
	if _, err := ParseRW([]byte{byte(OpRead16), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}); !errors.Is(err, ErrShort) {
		t.Errorf("cut READ(16): %v", err)
	}
	if _, err := ParseRW(make([]byte, 16)); !errors.Is(err, ErrFormat) {
		t.Errorf("TEST UNIT READY: %v", err)
	}
}

// SBC-4 5.37.1: an incomplete descriptor at the end is ignored; a list that claims more than there is, is refused.
func TestUnmapListBounds(t *testing.T) {
	var b [24]byte
	if n, err := PutUnmapList(b[:], []Extent{{5, 6}}); n != 24 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if l, err := ParseUnmapList(b[:]); err != nil || l.Len() != 1 || l.At(0) != (Extent{5, 6}) {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := ParseUnmapList(b[:20]); !errors.Is(err, ErrShort) {
		t.Errorf("cut: %v", err)
	}
	b[1], b[3] = 18, 12
	if l, err := ParseUnmapList(b[:20]); err != nil || l.Len() != 0 {
		t.Errorf("incomplete descriptor: %+v, %v", l, err)
	}
	if l, err := ParseUnmapList(nil); err != nil || l.Len() != 0 {
		t.Errorf("empty: %+v, %v", l, err)
	}
	if _, err := PutUnmapList(b[:], make([]Extent, 2)); !errors.Is(err, ErrRange) {
		t.Errorf("no room: %v", err)
	}
	if _, err := PutUnmapList(make([]byte, 1<<17), make([]Extent, MaxUnmapExtents+1)); !errors.Is(err, ErrRange) {
		t.Errorf("too many: %v", err)
	}
}

// Linux numbers LUNs by int_to_scsilun and back: 16 bits a level, the first level lowest.
func TestLUNNumbersAsLinuxDoes(t *testing.T) {
	for n, want := range map[uint64]LUN{
		0: 0, 1: 0x0001 << 48, 0x4001: 0x4001 << 48, 0x00020104: 0x0104_0002_0000_0000, 0x0123d200: 0xd200_0123_0000_0000,
		math.MaxUint64: math.MaxUint64, 0x1111222233334444: 0x4444_3333_2222_1111,
	} {
		if l := LUNFromNumber(n); l != want || l.Number() != n {
			t.Errorf("%#x: %016x and back %#x, want %016x", n, uint64(l), l.Number(), uint64(want))
		}
	}
}

func TestLUNUnit(t *testing.T) {
	for l, want := range map[LUN]uint64{
		PeripheralLUN(7): 7, FlatLUN(7): 7, FlatLUN(300): 300, ExtendedFlatLUN(70000): 70000, LogicalUnitLUN(0, 0, 7): 7,
	} {
		if n, ok := l.Unit(); !ok || n != want {
			t.Errorf("%016x: unit %d, %t; want %d", uint64(l), n, ok, want)
		}
	}
	for _, l := range []LUN{LUNReportLUNs, math.MaxUint64, 0x0104 << 48, 0x0001_0001 << 32, LogicalUnitLUN(1, 0, 7), LogicalUnitLUN(0, 1, 7), 1} {
		if n, ok := l.Unit(); ok {
			t.Errorf("%016x: unit %d, want none", uint64(l), n)
		}
	}
	for n, want := range map[uint64]LUN{255: PeripheralLUN(255), 256: FlatLUN(256), 16383: FlatLUN(16383), 16384: ExtendedFlatLUN(16384)} {
		if l, ok := UnitLUN(n); !ok || l != want {
			t.Errorf("unit %d: %016x, want %016x", n, uint64(l), uint64(want))
		}
	}
	if _, ok := UnitLUN(1 << 24); ok {
		t.Error("unit 16777216 has a LUN")
	}
}

func TestLUNText(t *testing.T) {
	for text, want := range map[string]LUN{
		"0": 0, "5": PeripheralLUN(5), "255": PeripheralLUN(255), "0x4001000000000000": FlatLUN(1), "16385": FlatLUN(1), "0x4001": FlatLUN(1),
	} {
		if l, err := ParseLUN(text); err != nil || l != want {
			t.Errorf("%q: %016x, %v; want %016x", text, uint64(l), err, uint64(want))
		}
	}
	for _, text := range []string{"", "-1", "x", "0x", "0x40010000000000zz", "18446744073709551616", " 1", "1_0"} {
		if l, err := ParseLUN(text); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v, %v", text, l, err)
		}
	}
	if s := FlatLUN(300).Describe(); s != "flat 300" {
		t.Errorf("%q", s)
	}
}

// SPC-5 4.4.3: fixed format holds four bytes of information; what does not fit leaves VALID clear.
func TestFixedSenseLeavesOutLargeInformation(t *testing.T) {
	s := Sense{Key: KeyMediumError, ASC: ASCUnrecoveredRead, InformationValid: true, Information: 1 << 32}
	var b [FixedSenseSize]byte
	s.Put(b[:])
	if got, err := ParseSense(b[:]); err != nil || got != MakeSense(KeyMediumError, ASCUnrecoveredRead) {
		t.Errorf("%+v, %v", got, err)
	}
	s.Descriptor = true
	var d [MaxSenseSize]byte
	if got, err := ParseSense(d[:s.Put(d[:])]); err != nil || got != s {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSenseOfUnknownResponseCode(t *testing.T) {
	for _, b := range [][]byte{{0}, {0x7f, 0, 0}, {0x6f, 0, 0}, {0x74, 0, 0}} {
		if _, err := ParseSense(b); !errors.Is(err, ErrFormat) {
			t.Errorf("%x: %v", b, err)
		}
	}
	for _, b := range [][]byte{nil, {0x70}, {0x70, 0}, {0x72}} {
		if _, err := ParseSense(b); !errors.Is(err, ErrShort) {
			t.Errorf("%x: %v", b, err)
		}
	}
}

func TestSenseErrorClasses(t *testing.T) {
	sense := func(k SenseKey, a ASC) *SenseError {
		return &SenseError{Status: StatusCheckCondition, HasSense: true, Sense: MakeSense(k, a)}
	}
	all := []error{ErrBusy, ErrTaskSetFull, ErrReservationConflict, ErrTaskAborted, ErrStatus, ErrRecovered, ErrNotReady, ErrMedium,
		ErrHardware, ErrIllegalRequest, ErrUnitAttention, ErrDataProtect, ErrAborted, ErrMiscompare,
		ErrInvalidOpcode, ErrLBAOutOfRange, ErrUnitNotSupported, ErrNoSpace, ErrWriteProtected, ErrMediumNotPresent}
	for _, c := range []struct {
		err  *SenseError
		is   []error
		text string
	}{
		{&SenseError{Status: StatusBusy}, []error{ErrBusy}, "BUSY"},
		{&SenseError{Status: StatusTaskSetFull}, []error{ErrTaskSetFull}, "TASK SET FULL"},
		{&SenseError{Status: StatusReservationConflict}, []error{ErrReservationConflict}, "RESERVATION CONFLICT"},
		{&SenseError{Status: StatusTaskAborted}, []error{ErrTaskAborted}, "TASK ABORTED"},
		{&SenseError{Status: StatusCheckCondition}, []error{ErrStatus}, "CHECK CONDITION"},
		{&SenseError{Status: 0x77}, []error{ErrStatus}, "status 0x77"},
		{sense(KeyNoSense, 0), []error{ErrStatus}, "NO SENSE: no additional sense information (00/00)"},
		{sense(KeyRecoveredError, 0x1701), []error{ErrRecovered}, "RECOVERED ERROR: recovered data with retries (17/01)"},
		{sense(KeyNotReady, ASCBecomingReady), []error{ErrNotReady}, "NOT READY: logical unit is in process of becoming ready (04/01)"},
		{sense(KeyNotReady, ASCMediumNotPresent), []error{ErrNotReady, ErrMediumNotPresent}, "NOT READY: medium not present (3a/00)"},
		{sense(KeyHardwareError, ASCInternalTargetFailure), []error{ErrHardware}, "HARDWARE ERROR: internal target failure (44/00)"},
		{sense(KeyIllegalRequest, ASCInvalidOpcode), []error{ErrIllegalRequest, ErrInvalidOpcode}, "ILLEGAL REQUEST: invalid command operation code (20/00)"},
		{sense(KeyIllegalRequest, ASCLBAOutOfRange), []error{ErrIllegalRequest, ErrLBAOutOfRange}, "ILLEGAL REQUEST: logical block address out of range (21/00)"},
		{sense(KeyIllegalRequest, ASCUnitNotSupported), []error{ErrIllegalRequest, ErrUnitNotSupported}, "ILLEGAL REQUEST: logical unit not supported (25/00)"},
		{sense(KeyUnitAttention, ASCCapacityChanged), []error{ErrUnitAttention}, "UNIT ATTENTION: capacity data has changed (2a/09)"},
		{sense(KeyDataProtect, ASCSpaceAllocation), []error{ErrDataProtect, ErrNoSpace}, "DATA PROTECT: space allocation failed write protect (27/07)"},
		{sense(KeyDataProtect, ASCWriteProtected), []error{ErrDataProtect, ErrWriteProtected}, "DATA PROTECT: write protected (27/00)"},
		{sense(KeyAbortedCommand, ASCDataPhaseError), []error{ErrAborted}, "ABORTED COMMAND: data phase error (4b/00)"},
		{sense(KeyMiscompare, ASCMiscompare), []error{ErrMiscompare}, "MISCOMPARE: miscompare during verify operation (1d/00)"},
	} {
		if got := c.err.Error(); got != c.text {
			t.Errorf("text %q, want %q", got, c.text)
		}
		for _, e := range all {
			want := false
			for _, w := range c.is {
				want = want || w == e
			}
			if errors.Is(c.err, e) != want {
				t.Errorf("%v is %v: %t, want %t", c.err, e, !want, want)
			}
		}
	}
}

func TestSenseText(t *testing.T) {
	s := MakeSense(KeyIllegalRequest, ASCInvalidFieldInParameters)
	s.SetField(FieldPointer{Data: true, Byte: 8, Bit: -1})
	if got, want := s.String(), "ILLEGAL REQUEST: invalid field in parameter list (26/00), byte 8 of the parameter data"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s = Sense{Key: KeyNotReady, ASC: ASCNotReadyFormat, SKSV: true, SKS: [3]byte{0, 0x80, 0}, Deferred: true}
	if got, want := s.String(), "deferred NOT READY: logical unit not ready, format in progress (04/04), 50% done"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for a, want := range map[ASC]string{0x8001: "vendor specific", 0x0480: "vendor specific", 0x047e: "unknown additional sense code",
		0x7f00: "unknown additional sense code", 0x4085: "diagnostic failure on component [0x85]"} {
		if got := a.String(); got != want {
			t.Errorf("%04x: %q, want %q", uint16(a), got, want)
		}
	}
}

func TestCapacityLimits(t *testing.T) {
	c := Capacity{LastLBA: 1<<33 - 1, BlockSize: 512}
	if n, ok := c.Bytes(); !ok || n != 1<<42 {
		t.Errorf("%d, %t", n, ok)
	}
	if short, err := ParseCapacity10(c.Append10(nil)); err != nil || !short.Truncated() {
		t.Errorf("%+v, %v: want a truncated capacity", short, err)
	}
	for _, c := range []Capacity{{LastLBA: math.MaxUint64, BlockSize: 1}, {LastLBA: 1 << 60, BlockSize: 512}} {
		if n, ok := c.Bytes(); ok {
			t.Errorf("%+v: %d bytes", c, n)
		}
	}
	if _, err := ParseCapacity16(make([]byte, 11)); !errors.Is(err, ErrShort) {
		t.Errorf("11 bytes: %v", err)
	}
}

// The order in which the Linux SCSI layer prefers designators, best last.
func TestUnitIdentityOrder(t *testing.T) {
	naa3, naa5, naa6 := NAA3(9), NAA5(0x1405, 1), NAA6(0x1405, 1, 2)
	uuid := append([]byte{0x10, 0}, bytes.Repeat([]byte{0xab}, 16)...)
	var body []byte
	add := func(typ DesignatorType, a Association, id string) {
		d := Designator{Type: typ, CodeSet: CodeBinary, Association: a, ID: []byte(id)}
		body = d.Append(body)
	}
	for _, c := range []struct {
		typ  DesignatorType
		a    Association
		id   string
		want UnitID
	}{
		{DesignatorVendor, NamesUnit, "whatever", ""},
		{DesignatorNAA, NamesPort, string(naa6[:]), ""},
		{DesignatorNAA, NamesUnit, "\x60\x01\x40", ""},
		{DesignatorName, NamesUnit, "\x00\x00\x00\x00", ""},
		{DesignatorT10, NamesUnit, "LIO-ORG IBLOCK:a_b/c\x00", "t10.LIO-ORG_IBLOCK:a%5fb%2fc"},
		{DesignatorEUI64, NamesUnit, "\x00\x14\x05\x01\x02\x03\x04\x05", "eui.0014050102030405"},
		{DesignatorNAA, NamesUnit, string(naa3[:]), "naa.3000000000000009"},
		{DesignatorNAA, NamesUnit, string(naa5[:]), "naa.5001405000000001"},
		{DesignatorEUI64, NamesUnit, "0123456789ab", "eui.303132333435363738396162"},
		{DesignatorEUI64, NamesUnit, "0123456789abcdef", "eui.30313233343536373839616263646566"},
		{DesignatorUUID, NamesUnit, string(uuid), "uuid.abababab-abab-abab-abab-abababababab"},
		{DesignatorNAA, NamesUnit, string(naa6[:]), "naa.60014050000000010000000000000002"},
		{DesignatorName, NamesUnit, "NAA.60014050000000010000000000000002A\x00\x00\x00", "naa.60014050000000010000000000000002a"},
	} {
		add(c.typ, c.a, c.id)
		if id, ok := UnitIdentity(body); id != c.want || ok != (c.want != "") {
			t.Errorf("after a designator of type %d: %q, %t; want %q", c.typ, id, ok, c.want)
		}
	}
	q := StandardInquiry{}
	q.SetText("VENDOR", "THE DISK", "1")
	if id, ok := SerialIdentity(&q, "S 1"); !ok || id != "serial.VENDOR,THE_DISK,S_1" {
		t.Errorf("%q, %t", id, ok)
	}
	if id, ok := SerialIdentity(&q, ""); ok {
		t.Errorf("%q without a serial number", id)
	}
}

func TestRefusedNamesTheFirstUnknownBit(t *testing.T) {
	c, ok := LookupCommand(OpRead10, 0)
	if !ok {
		t.Fatal("READ(10) is not known")
	}
	cdb := CDB{0: byte(OpRead10), 1: 0x18, 8: 1}
	if p, found := c.Refused(cdb[:10]); found {
		t.Errorf("plain READ(10) refused: %v", p)
	}
	cdb[1] |= 0x40 // RDPROTECT
	if p, found := c.Refused(cdb[:10]); !found || p != (FieldPointer{Byte: 1, Bit: 6}) {
		t.Errorf("%v, %t", p, found)
	}
	cdb[1], cdb[9] = 0, ControlNACA
	if p, found := c.Refused(cdb[:10]); !found || p != (FieldPointer{Byte: 9, Bit: 2}) {
		t.Errorf("%v, %t", p, found)
	}
	// Every command that is built by this package passes its own usage data.
	for op := range 256 {
		for sa := range uint16(64) {
			c, ok := LookupCommand(Opcode(op), sa)
			if !ok {
				continue
			}
			if n, known := CDBLength(c.Usage[:]); !known || n != c.Length {
				t.Errorf("%s: length %d, want %d", c.Opcode, c.Length, n)
			}
			if _, _, ok := rebuildCDB(c.Usage[:c.Length]); !ok {
				t.Errorf("%s: the usage data is no CDB of it", c.Opcode)
			}
		}
	}
}

func TestOtherVPDPageIsRefused(t *testing.T) {
	if _, err := ParseVPD([]byte{0, 0x80, 0, 0}, VPDIdentification); !errors.Is(err, ErrFormat) {
		t.Errorf("%v", err)
	}
	v := VPD{Page: VPDSerialNumber, Body: []byte("  a\x1b[0m ")}
	if got, err := ParseVPD(v.Append(nil), VPDSerialNumber); err != nil || got.SerialText() != "a?[0m" {
		t.Errorf("%q, %v", got.SerialText(), err)
	}
	if v, err := ParseVPD([]byte{0, 0x80, 0, 9, 'x'}, VPDSerialNumber); err != nil || v.Needed() != 13 || len(v.Body) != 1 {
		t.Errorf("cut page: %+v, %v", v, err)
	}
}

func TestModeDataBounds(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		ten  bool
		want error
	}{
		{[]byte{3, 0, 0}, false, ErrShort},
		{[]byte{11, 0, 0, 8, 0, 0, 0, 1}, false, ErrShort},
		{[]byte{11, 0, 0, 7, 0, 0, 0, 1, 0, 0, 2, 0}, false, ErrFormat},
		{[]byte{0, 6, 0, 0, 0, 0, 0}, true, ErrShort},
		{[]byte{0, 14, 0, 0, 1, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0}, true, ErrFormat},
	} {
		if _, _, err := ParseModeData(c.b, c.ten); !errors.Is(err, c.want) {
			t.Errorf("%x: %v, want %v", c.b, err, c.want)
		}
	}
	if _, _, ok := NextModePage([]byte{0x48, 1, 0, 5, 0}); ok {
		t.Error("cut subpage taken")
	}
	if p, rest, ok := NextModePage([]byte{0xca, 1, 0, 1, 7, 9}); !ok || !p.Saveable || p.Page != 0x0a || p.Subpage != 1 || !bytes.Equal(p.Body, []byte{7}) || len(rest) != 1 {
		t.Errorf("%+v, %x, %t", p, rest, ok)
	}
}

func TestRWChoosesTheSmallestCDB(t *testing.T) {
	for _, c := range []struct {
		rw   RW
		want int
	}{
		{RW{LBA: 0xffffffff, Blocks: 0xffff, FUA: true}, 10},
		{RW{LBA: 0x100000000, Blocks: 1, Write: true}, 16},
		{RW{LBA: 1, Blocks: 0x10000, DPO: true, Protect: 5, Group: 63}, 16},
	} {
		var cdb CDB
		n := c.rw.Put(&cdb)
		if n != c.want {
			t.Errorf("%+v: CDB of %d bytes, want %d", c.rw, n, c.want)
		}
		if got, err := ParseRW(cdb[:n]); err != nil || got != c.rw {
			t.Errorf("%+v: parsed as %+v, %v", c.rw, got, err)
		}
	}
}
