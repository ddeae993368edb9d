package scsi

import (
	"bytes"
	"slices"
	"testing"
)

// Each target checks, besides that nothing panics, the way back: what was parsed, built again, parses to the same.

func FuzzSense(f *testing.F) {
	for _, x := range captured(f) {
		if len(x.sense) > 0 {
			f.Add(x.sense[:18])
		}
	}
	f.Add([]byte{0x73, 3, 0x11, 0, 0x80, 0, 0, 0x20, 0x0d, 0x1e, 0xa0, 0, 0x80, 0, 7, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0x72, 5, 0x24, 0, 0, 0, 0, 0x28, 0, 0xa, 0x80, 0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0xa, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6,
		2, 6, 0, 0, 0xcd, 0, 2, 0, 3, 2, 0, 7, 4, 2, 0, 0xe0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSense(b)
		if err != nil {
			return
		}
		_ = s.String()
		var buf [MaxSenseSize]byte
		n := s.Put(buf[:])
		again, err := ParseSense(buf[:n])
		if err != nil || again != s {
			t.Fatalf("%x: %+v\nrebuilt %x: %+v, %v", b, s, buf[:n], again, err)
		}
		for cut := range n {
			m := s.Put(buf[:cut])
			if m != cut {
				t.Fatalf("Put into %d bytes wrote %d", cut, m)
			}
			if short, err := ParseSense(buf[:cut]); err == nil && cut > 8 && !short.Overflow {
				t.Fatalf("cut to %d bytes without SDAT_OVFL: %x", cut, buf[:cut])
			}
		}
	})
}

// opcodeAlone lists the commands of which nothing but the operation code is read, so that the rest may be absent.
var opcodeAlone = []Opcode{OpTestUnitReady, OpReadCapacity10, OpReserve6, OpRelease6, OpReserve10, OpRelease10}

func FuzzCDB(f *testing.F) {
	for _, x := range captured(f) {
		f.Add(x.cdb)
	}
	for op := range 256 {
		for sa := range uint16(32) {
			if c, ok := LookupCommand(Opcode(op), sa); ok {
				f.Add(c.Usage[:])
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, known := CDBLength(b)
		if Control(b) != 0 && (!known || n > len(b)) {
			t.Fatalf("%x: a CONTROL byte behind the end", b)
		}
		_ = CommandName(b)
		sa, _ := ServiceAction(b)
		if len(b) > 0 {
			if c, ok := LookupCommand(Opcode(b[0]), sa); ok {
				c.Refused(b)
			}
		}
		cdb, m, ok := rebuildCDB(b)
		if !ok {
			return
		}
		if m != n || m > len(b) && !slices.Contains(opcodeAlone, Opcode(b[0])) {
			t.Fatalf("%x: rebuilt as %d bytes, the group code says %d", b, m, n)
		}
		again, _, ok := rebuildCDB(cdb[:m])
		if !ok || again != cdb {
			t.Fatalf("%x: rebuilt as %x, then as %x", b, cdb, again)
		}
		for i := range cdb[:m] {
			if i < len(b) && cdb[i]&^b[i] != 0 {
				t.Fatalf("%x: rebuilt as %x: a bit that was not there", b, cdb)
			}
		}
	})
}

func FuzzInquiry(f *testing.F) {
	for _, x := range captured(f) {
		if Opcode(x.cdb[0]) == OpInquiry {
			f.Add(x.data)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if q, err := ParseStandardInquiry(b); err == nil {
			again, err := ParseStandardInquiry(q.Append(nil))
			if err != nil || again != q {
				t.Fatalf("%x: %+v, rebuilt %+v, %v", b, q, again, err)
			}
			_, _ = SerialIdentity(&q, q.ProductText())
		}
		if len(b) < 2 {
			return
		}
		v, err := ParseVPD(b, b[1])
		if err != nil {
			return
		}
		v.Lists(0x83)
		_ = v.SerialText()
		again, err := ParseVPD(v.Append(nil), v.Page)
		if err != nil || !bytes.Equal(again.Body, v.Body) || again.Device != v.Device || again.Qualifier != v.Qualifier {
			t.Fatalf("%x: %+v, rebuilt %+v, %v", b, v, again, err)
		}
	})
}

func FuzzBlockPages(f *testing.F) {
	f.Add(bytes.Repeat([]byte{0xa5}, 60))
	f.Add(make([]byte, 12))
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := ParseBlockLimits(b); err == nil {
			if again, err := ParseBlockLimits(l.Append(nil)); err != nil || again != l {
				t.Fatalf("%x: %+v, rebuilt %+v, %v", b, l, again, err)
			}
		}
		if c, err := ParseBlockCharacteristics(b); err == nil {
			if again, err := ParseBlockCharacteristics(c.Append(nil)); err != nil || again != c {
				t.Fatalf("%x: %+v, rebuilt %+v, %v", b, c, again, err)
			}
		}
		if p, err := ParseProvisioning(b); err == nil {
			p.GroupDescriptor = false
			if again, err := ParseProvisioning(p.Append(nil)); err != nil || again != p {
				t.Fatalf("%x: %+v, rebuilt %+v, %v", b, p, again, err)
			}
		}
		if c, err := ParseCapacity16(b); err == nil {
			c.Bytes()
			if again, err := ParseCapacity16(c.Append16(nil)); err != nil || again != c {
				t.Fatalf("%x: %+v, rebuilt %+v, %v", b, c, again, err)
			}
		}
		if c, err := ParseCapacity10(b); err == nil {
			if again := c.Append10(nil); !bytes.Equal(again, b[:8]) {
				t.Fatalf("%x: rebuilt %x", b, again)
			}
		}
	})
}

func FuzzDesignators(f *testing.F) {
	for _, x := range captured(f) {
		if v, err := ParseVPD(x.data, VPDIdentification); err == nil {
			f.Add(v.Body)
		}
	}
	f.Add([]byte("\x03\x08\x00\x08NAA.5A\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		again := rebuildDesignators(b)
		if len(again) > len(b) || !bytes.Equal(again, rebuildDesignators(again)) {
			t.Fatalf("%x: rebuilt %x", b, again)
		}
		id, ok := UnitIdentity(b)
		if other, also := UnitIdentity(again); id != other || ok != also {
			t.Fatalf("%x: %q, rebuilt %q", b, id, other)
		}
		for i := range len(id) {
			if c := id[i]; c <= ' ' || c > '~' || c == '/' {
				t.Fatalf("%x: identity %q", b, id)
			}
		}
	})
}

func FuzzModeData(f *testing.F) {
	for _, x := range captured(f) {
		if Opcode(x.cdb[0]) == OpModeSense6 {
			f.Add(x.data, false)
		}
	}
	h := ModeHeader{LongLBA: true, HasDescriptor: true, Descriptor: ModeBlockDescriptor{1 << 40, 4096}}
	f.Add(h.AppendModeData(nil, true, (&ControlPage{}).Append(nil)), true)
	f.Add(h.AppendModeData(nil, true, (&ExceptionsPage{Test: true, Count: 1}).Append((&RecoveryPage{TimeLimit: 9}).Append(nil))), true)
	f.Fuzz(func(t *testing.T, b []byte, ten bool) {
		h, pages, err := ParseModeData(b, ten)
		if err != nil {
			return
		}
		again, rest, err := ParseModeData(h.AppendModeData(nil, ten, pages), ten)
		if err != nil || again != h || !bytes.Equal(rest, pages) {
			t.Fatalf("%x: %+v %x, rebuilt %+v %x, %v", b, h, pages, again, rest, err)
		}
		list, rest, err := ParseModeList(h.AppendModeList(nil, ten, pages), ten)
		if err != nil || list != h || !bytes.Equal(rest, pages) {
			t.Fatalf("%x: %+v %x, as a list %+v %x, %v", b, h, pages, list, rest, err)
		}
		if body, ok := FindModePage(pages, ModePageExceptions, 0); ok {
			if c, err := ParseExceptionsPage(body); err == nil {
				again, err := ParseExceptionsPage(c.Append(nil)[2:])
				if err != nil || again != c {
					t.Fatalf("%x: %+v, rebuilt %+v, %v", body, c, again, err)
				}
			}
		}
		if body, ok := FindModePage(pages, ModePageRecovery, 0); ok {
			if c, err := ParseRecoveryPage(body); err == nil {
				again, err := ParseRecoveryPage(c.Append(nil)[2:])
				if err != nil || again != c {
					t.Fatalf("%x: %+v, rebuilt %+v, %v", body, c, again, err)
				}
			}
		}
		if body, ok := FindModePage(pages, ModePageCaching, 0); ok {
			if c, err := ParseCachingPage(body); err == nil {
				again, err := ParseCachingPage(c.Append(nil)[2:])
				if err != nil || again != c {
					t.Fatalf("%x: %+v, rebuilt %+v, %v", body, c, again, err)
				}
			}
		}
		if body, ok := FindModePage(pages, ModePageControl, 0); ok {
			if c, err := ParseControlPage(body); err == nil {
				again, err := ParseControlPage(c.Append(nil)[2:])
				if err != nil || again != c {
					t.Fatalf("%x: %+v, rebuilt %+v, %v", body, c, again, err)
				}
			}
		}
	})
}

func FuzzLUN(f *testing.F) {
	f.Add(uint64(0x0104000200000000), "0x4001000000000000")
	f.Add(uint64(0xd200012300000000), "16385")
	f.Add(uint64(0xffffffffffffffff), "0x4001")
	f.Fuzz(func(t *testing.T, n uint64, text string) {
		l := LUN(n)
		if LUNFromNumber(l.Number()) != l || LUNFromBytes(l.Bytes()) != l {
			t.Fatalf("%016x does not come back", n)
		}
		if again, err := ParseLUN(l.String()); err != nil || again != l {
			t.Fatalf("%q: %v, %v", l, again, err)
		}
		size := 0
		for i := 0; ; i++ {
			v, ok := l.Level(i)
			if !ok {
				break
			}
			if size += v.Size; v.Size < 2 || size > 8 {
				t.Fatalf("%016x: level %d takes %d bytes", n, i, v.Size)
			}
		}
		if l.Describe() == "" {
			t.Fatalf("%016x: no description", n)
		}
		if u, ok := l.Unit(); ok {
			if usual, ok := UnitLUN(u); ok {
				if again, ok := usual.Unit(); !ok || again != u {
					t.Fatalf("%016x: unit %d becomes %d", n, u, again)
				}
			}
		}
		if l, err := ParseLUN(text); err == nil {
			if again, err := ParseLUN(l.String()); err != nil || again != l {
				t.Fatalf("%q: %v, %v", text, again, err)
			}
		}
	})
}

func FuzzLists(f *testing.F) {
	for _, x := range captured(f) {
		switch Opcode(x.cdb[0]) {
		case OpReportLUNs, OpMaintenanceIn:
			f.Add(x.data)
		}
	}
	var buf [40]byte
	n, _ := PutUnmapList(buf[:], []Extent{{1 << 40, 7}, {3, 4}})
	f.Add(buf[:n])
	f.Add(append(AppendSupportedHeader(nil, 20), (&SupportedCommand{Opcode: OpRead10, Length: 10, HasTimeouts: true}).Append(nil)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := ParseLUNList(b); err == nil {
			var luns []LUN
			for i := range l.Len() {
				luns = append(luns, l.At(i))
			}
			if again, err := ParseLUNList(AppendLUNList(nil, luns)); err != nil || !bytes.Equal(again.entries, l.entries) {
				t.Fatalf("%x: rebuilt %x, %v", b, again.entries, err)
			}
		}
		if l, err := ParseUnmapList(b); err == nil {
			var extents []Extent
			for i := range l.Len() {
				extents = append(extents, l.At(i))
			}
			out := make([]byte, UnmapListSize(len(extents)))
			if _, err := PutUnmapList(out, extents); err != nil && len(extents) <= MaxUnmapExtents {
				t.Fatalf("%x: %v", b, err)
			}
			again, err := ParseUnmapList(out)
			if err != nil || again.Len() != l.Len() {
				t.Fatalf("%x: rebuilt %x, %v", b, out, err)
			}
			for i, e := range extents {
				if again.At(i) != e {
					t.Fatalf("%x: extent %d: %v, rebuilt %v", b, i, e, again.At(i))
				}
			}
		}
		if entries, needed, err := ParseSupportedList(b); err == nil {
			if needed < 4 {
				t.Fatalf("%x: needs %d bytes", b, needed)
			}
			for {
				c, rest, ok := NextSupported(entries)
				if !ok {
					break
				}
				if again, _, ok := NextSupported(c.Append(nil)); !ok || again != c {
					t.Fatalf("%x: %+v, rebuilt %+v", b, c, again)
				}
				entries = rest
			}
		}
		if c, err := ParseOneCommand(b); err == nil {
			again, err := ParseOneCommand(c.Append(nil))
			if err != nil || !bytes.Equal(again.Usage, c.Usage) || again.Support != c.Support || again.Timeouts != c.Timeouts {
				t.Fatalf("%x: %+v, rebuilt %+v, %v", b, c, again, err)
			}
		}
	})
}

func FuzzLogPage(f *testing.F) {
	p := LogPage{Page: LogWriteErrors, Body: AppendLogCounter(AppendLogCounter(nil, LogTotalBytes, 1<<40), LogTotalUncorrected, 3)}
	f.Add(p.Append(nil))
	p = LogPage{Page: LogProvisioning, Body: (&LogResource{Count: 9, Scope: 2}).Append(nil, LogUsedResource)}
	f.Add(p.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseLogPage(b)
		if err != nil {
			return
		}
		again, err := ParseLogPage(p.Append(nil))
		if err != nil || !bytes.Equal(again.Body, p.Body) || again.Page != p.Page || again.Subpage != p.Subpage || again.DisableSave != p.DisableSave {
			t.Fatalf("%x: %+v, rebuilt %+v, %v", b, p, again, err)
		}
		for body := p.Body; ; {
			q, rest, ok := NextLogParameter(body)
			if !ok {
				break
			}
			again, _, ok := NextLogParameter(q.Append(nil))
			if !ok || again.Code != q.Code || again.Control != q.Control || !bytes.Equal(again.Value, q.Value) {
				t.Fatalf("%x: %+v, rebuilt %+v", body, q, again)
			}
			if n, ok := q.Counter(); ok {
				c, _, _ := NextLogParameter(AppendLogCounter(nil, q.Code, n))
				if m, ok := c.Counter(); !ok || m != n {
					t.Fatalf("%x: counter %d, rebuilt %d", q.Value, n, m)
				}
			}
			if r, err := ParseLogResource(q.Value); err == nil {
				c, _, _ := NextLogParameter(r.Append(nil, q.Code))
				if again, err := ParseLogResource(c.Value); err != nil || again != r {
					t.Fatalf("%x: %+v, rebuilt %+v", q.Value, r, again)
				}
			}
			body = rest
		}
	})
}

func FuzzPortGroups(f *testing.F) {
	g := (&PortGroup{State: AccessStandby, Preferred: true, Supported: 0xdf, ID: 7, Status: 1}).Append(nil, []uint16{1, 2, 300})
	f.Add(AppendPortGroups(nil, false, g))
	f.Add(AppendPortGroups(nil, true, g))
	f.Add(AppendGroupChanges(nil, []GroupChange{{AccessUnavailable, 9}, {AccessOptimized, 300}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if groups, err := ParsePortGroups(b); err == nil {
			var again []byte
			for {
				g, rest, ok := NextPortGroup(groups)
				if !ok {
					break
				}
				ports := make([]uint16, g.Ports())
				for i := range ports {
					ports[i] = g.Port(i)
				}
				again = g.Append(again, ports)
				same, _, ok := NextPortGroup(g.Append(nil, ports))
				if !ok || same.State != g.State || same.ID != g.ID || same.Supported != g.Supported || same.Status != g.Status ||
					same.Preferred != g.Preferred || same.Ports() != g.Ports() {
					t.Fatalf("%x: %+v, rebuilt %+v", b, g, same)
				}
				_ = g.State.String()
				groups = rest
			}
			for _, extended := range []bool{false, true} {
				if back, err := ParsePortGroups(AppendPortGroups(nil, extended, again)); err != nil || !bytes.Equal(back, again) {
					t.Fatalf("%x: rebuilt %x, %v", again, back, err)
				}
			}
		}
		if l, err := ParseGroupChanges(b); err == nil {
			var changes []GroupChange
			for i := range l.Len() {
				changes = append(changes, l.At(i))
			}
			again, err := ParseGroupChanges(AppendGroupChanges(nil, changes))
			if err != nil || again.Len() != l.Len() {
				t.Fatalf("%x: %v, rebuilt %d, %v", b, changes, again.Len(), err)
			}
			for i := range changes {
				if again.At(i) != changes[i] {
					t.Fatalf("%x: change %d", b, i)
				}
			}
		}
		if p, err := ParseFunctions(b); err == nil {
			for _, extended := range []bool{false, true} {
				if again, err := ParseFunctions(p.Append(nil, extended)); err != nil || again != p {
					t.Fatalf("%x: %+v, rebuilt %+v, %v", b, p, again, err)
				}
			}
		}
	})
}
