package scsi

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// exchange is one line of testdata/lio.txt.
type exchange struct {
	cdb, data, sense []byte
	status           Status
}

func captured(t testing.TB) []exchange {
	t.Helper()
	text, err := os.ReadFile("testdata/lio.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []exchange
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 5 || f[0] == "#" {
			continue
		}
		raw := func(i int) []byte {
			b, err := hex.DecodeString(strings.TrimPrefix(f[i], "-"))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		all = append(all, exchange{cdb: raw(1), status: Status(raw(2)[0]), data: raw(3), sense: raw(4)})
	}
	if len(all) < 40 {
		t.Fatalf("%d exchanges in testdata/lio.txt, want 40 or more", len(all))
	}
	return all
}

// rebuildCDB parses cdb and builds it again with the package's own type; false for a command without one.
func rebuildCDB(b []byte) (cdb CDB, n int, ok bool) {
	if len(b) == 0 {
		return cdb, 0, false
	}
	var err error
	switch op := Opcode(b[0]); op {
	case OpTestUnitReady:
		n = PutTestUnitReady(&cdb)
	case OpReadCapacity10:
		n = PutReadCapacity10(&cdb)
	case OpInquiry:
		var c Inquiry
		if c, err = ParseInquiry(b); err == nil {
			n = c.Put(&cdb)
		}
	case OpRequestSense:
		var c RequestSense
		if c, err = ParseRequestSense(b); err == nil {
			n = c.Put(&cdb)
		}
	case OpReportLUNs:
		var c ReportLUNs
		if c, err = ParseReportLUNs(b); err == nil {
			n = c.Put(&cdb)
		}
	case OpServiceActionIn:
		var c ReadCapacity16
		if c, err = ParseReadCapacity16(b); err == nil {
			n = c.Put(&cdb)
			break
		}
		var s GetLBAStatus
		if s, err = ParseGetLBAStatus(b); err == nil {
			n = s.Put(&cdb)
		}
	case OpReserve6, OpRelease6, OpReserve10, OpRelease10:
		n = PutUnitReserve(&cdb, op)
	case OpPersistReserveIn:
		var c ReserveIn
		if c, err = ParseReserveIn(b); err == nil {
			n = c.Put(&cdb)
		}
	case OpPersistReserveOut:
		var c ReserveOut
		if c, err = ParseReserveOut(b); err == nil {
			n = c.Put(&cdb)
		}
	case OpPreFetch10, OpPreFetch16:
		var c PreFetch
		if c, err = ParsePreFetch(b); err == nil {
			n = c.Put(&cdb)
			if op == OpPreFetch16 {
				n = c.Put16(&cdb)
			}
		}
	case OpModeSense6, OpModeSense10:
		var c ModeSense
		if c, err = ParseModeSense(b); err == nil {
			n = c.Put(&cdb)
		}
	case OpMaintenanceIn:
		var c ReportSupported
		if c, err = ParseReportSupported(b); err == nil {
			n = c.Put(&cdb)
			break
		}
		var g ReportGroups
		if g, err = ParseReportGroups(b); err == nil {
			n = g.Put(&cdb)
			break
		}
		var t ReportFunctions
		if t, err = ParseReportFunctions(b); err == nil {
			n = t.Put(&cdb)
		}
	case OpMaintenanceOut:
		var c SetGroups
		if c, err = ParseSetGroups(b); err == nil {
			n = c.Put(&cdb)
		}
	case OpModeSelect6, OpModeSelect10:
		var c ModeSelect
		if c, err = ParseModeSelect(b); err == nil {
			n = c.Put(&cdb)
		}
	case OpStartStopUnit:
		var c StartStop
		if c, err = ParseStartStop(b); err == nil {
			n = c.Put(&cdb)
		}
	case OpLogSense:
		var c LogSense
		if c, err = ParseLogSense(b); err == nil {
			n = c.Put(&cdb)
		}
	case OpLogSelect:
		var c LogSelect
		if c, err = ParseLogSelect(b); err == nil {
			n = c.Put(&cdb)
		}
	case OpSynchronizeCache, OpSyncCache16:
		var c SyncCache
		if c, err = ParseSyncCache(b); err == nil {
			if n = c.Put(&cdb); op == OpSyncCache16 {
				n = c.Put16(&cdb)
			}
		}
	case OpWriteSame10, OpWriteSame16:
		var c WriteSame
		if c, err = ParseWriteSame(b); err == nil {
			if n = c.Put(&cdb); op == OpWriteSame16 {
				n = c.Put16(&cdb)
			}
		}
	case OpUnmap:
		var c Unmap
		if c, err = ParseUnmap(b); err == nil {
			n = c.Put(&cdb)
		}
	case OpVerify10, OpVerify12, OpVerify16, OpWriteVerify10, OpWriteVerify12, OpWriteVerify16:
		var c Verify
		if c, err = ParseVerify(b); err == nil {
			n, _ = CDBLength(b)
			err = c.PutSize(&cdb, n)
		}
	case OpCompareAndWrite:
		var c CompareAndWrite
		if c, err = ParseCompareAndWrite(b); err == nil {
			n = c.Put(&cdb)
		}
	default:
		if c, err := ParseOrWrite(b); err == nil {
			n = c.Put(&cdb)
			return cdb, n, true
		}
		if !IsRW(b) {
			return cdb, 0, false
		}
		var r RW
		if r, err = ParseRW(b); err == nil {
			n, _ = CDBLength(b)
			err = r.PutSize(&cdb, n)
		}
	}
	return cdb, n, err == nil
}

func TestCapturedCDBsRebuildToTheSameBytes(t *testing.T) {
	for _, x := range captured(t) {
		if x.cdb[0] == 0xff {
			continue
		}
		cdb, n, ok := rebuildCDB(x.cdb)
		if !ok || !bytes.Equal(cdb[:len(x.cdb)], x.cdb) || len(bytes.Trim(cdb[len(x.cdb):], "\x00")) != 0 {
			t.Errorf("%x (%s): rebuilt as %x, %t", x.cdb, CommandName(x.cdb), cdb, ok)
		}
		if want, _ := CDBLength(x.cdb); n != want {
			t.Errorf("%x: length %d, group code says %d", x.cdb, n, want)
		}
	}
}

func TestCapturedDataRebuildsToTheSameBytes(t *testing.T) {
	for _, x := range captured(t) {
		if x.status != StatusGood || len(x.data) == 0 {
			continue
		}
		var got []byte
		var err error
		whole := true
		switch Opcode(x.cdb[0]) {
		case OpInquiry:
			inq, _ := ParseInquiry(x.cdb)
			if !inq.EVPD {
				q, e := ParseStandardInquiry(x.data)
				// Bytes 5 and 7 of LIO's answer have no bit that this package drops.
				got, err, whole = q.Append(nil), e, len(x.data) == InquiryData
				if e == nil && q.VendorText() != "LIO-ORG" {
					t.Errorf("vendor %q", q.VendorText())
				}
				break
			}
			v, e := ParseVPD(x.data, inq.Page)
			got, err = v.Append(nil), e
			if whole = len(v.Body) == v.Length; !whole {
				got = nil
				break
			}
			switch inq.Page {
			case VPDIdentification:
				v.Body = rebuildDesignators(v.Body)
			case VPDBlockCharacteristics:
				c, e := ParseBlockCharacteristics(v.Body)
				v.Body, err = c.Append(nil), e
			case VPDProvisioning:
				p, e := ParseProvisioning(v.Body)
				v.Body, err = p.Append(nil), e
			case VPDBlockLimits:
				l, e := ParseBlockLimits(v.Body)
				// An SBC-2 page: what this package appends is longer, and zero there.
				n := len(v.Body)
				body := l.Append(nil)
				if len(bytes.Trim(body[n:], "\x00")) != 0 {
					t.Errorf("block limits behind the page: %x", body[n:])
				}
				v.Body, err = body[:n], e
			}
			got = v.Append(nil)
		case OpReportLUNs:
			l, e := ParseLUNList(x.data)
			whole = l.Needed() <= uint64(len(x.data))
			var luns []LUN
			for i := range l.Len() {
				luns = append(luns, l.At(i))
			}
			got, err = AppendLUNList(nil, luns), e
		case OpReadCapacity10:
			c, e := ParseCapacity10(x.data)
			got, err = c.Append10(nil), e
		case OpServiceActionIn:
			c, e := ParseCapacity16(x.data)
			got, err = c.Append16(nil), e
		case OpModeSense6:
			if len(x.data) == 4 {
				continue // the header alone: Linux asks for it to learn the length
			}
			h, pages, e := ParseModeData(x.data, false)
			got, err = h.AppendModeData(nil, false, rebuildPages(pages)), e
		case OpMaintenanceIn:
			c, e := ParseOneCommand(x.data)
			got, err = c.Append(nil), e
		default:
			continue
		}
		if err != nil {
			t.Errorf("%s %x: %v", CommandName(x.cdb), x.data, err)
		}
		if whole && !bytes.Equal(got, x.data) {
			t.Errorf("%s:\n got %x\nwant %x", CommandName(x.cdb), got, x.data)
		}
	}
}

func rebuildDesignators(body []byte) (b []byte) {
	for {
		d, rest, ok := NextDesignator(body)
		if !ok {
			return b
		}
		b, body = d.Append(b), rest
	}
}

func rebuildPages(pages []byte) (b []byte) {
	for {
		p, rest, ok := NextModePage(pages)
		if !ok {
			return b
		}
		switch p.Page {
		case ModePageCaching:
			c, _ := ParseCachingPage(p.Body)
			c.Saveable = p.Saveable
			b = c.Append(b)
			// LIO sets NUMBER OF CACHE SEGMENTS, which nobody here reads.
			copy(b[len(b)-cachingPageLength+10:], p.Body[10:])
		case ModePageControl:
			c, _ := ParseControlPage(p.Body)
			c.Saveable = p.Saveable
			b = c.Append(b)
		}
		pages = rest
	}
}

func TestCapturedSense(t *testing.T) {
	want := map[string]string{
		"TEST UNIT READY": "UNIT ATTENTION: reported luns data has changed (3f/0e)",
		"MODE SENSE(10)":  "ILLEGAL REQUEST: invalid field in CDB (24/00)",
		"opcode 0xff":     "ILLEGAL REQUEST: invalid command operation code (20/00)",
	}
	seen := 0
	for _, x := range captured(t) {
		if len(x.sense) == 0 {
			continue
		}
		s, err := ParseSense(x.sense)
		if err != nil {
			t.Errorf("%x: %v", x.sense, err)
		}
		if w, ok := want[CommandName(x.cdb)]; ok {
			seen++
			if s.String() != w {
				t.Errorf("%s: sense %q, want %q", CommandName(x.cdb), s, w)
			}
		}
		var b [FixedSenseSize]byte
		if n := s.Put(b[:]); n != FixedSenseSize || !bytes.Equal(b[:], x.sense[:n]) {
			t.Errorf("rebuilt %x, want %x", b, x.sense[:n])
		}
	}
	if seen < len(want) {
		t.Errorf("%d of %d kinds of sense data seen", seen, len(want))
	}
}

func TestCapturedIdentity(t *testing.T) {
	ids := map[UnitID]bool{}
	for _, x := range captured(t) {
		if v, err := ParseVPD(x.data, VPDIdentification); err == nil && v.Needed() <= len(x.data) {
			id, ok := UnitIdentity(v.Body)
			if !ok {
				t.Errorf("no identity in %x", v.Body)
			}
			ids[id] = true
		}
	}
	for _, want := range []UnitID{"naa.60014050000000000000000000000000", "naa.60014051000000000000000000000000",
		"naa.60014052000000000000000000000000"} {
		if !ids[want] {
			t.Errorf("identities %v lack %s", ids, want)
		}
	}
}
