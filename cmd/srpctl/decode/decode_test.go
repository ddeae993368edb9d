package decode_test

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"minisrp/cmd/srpctl/decode"
	"minisrp/scsi"
	"minisrp/test/need"
)

// tool gives data to a decoder of sg3_utils and returns what it says. One that is not installed skips the test, or fails
// it in CI.
func tool(t *testing.T, data []byte, name string, args ...string) string {
	t.Helper()
	path := need.Tool(t, name)
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, append([]string{"--inhex=" + file, "--raw"}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out) // some end with an error behind what they have decoded
}

// said reads what a tool says: NAME=NUMBER pairs, and lines of NAME: NUMBER.
func said(text string) map[string]string {
	m := map[string]string{}
	for _, f := range regexp.MustCompile(`(\w+)=(-?\w+)`).FindAllStringSubmatch(text, -1) {
		m[f[1]] = f[2]
	}
	for _, f := range regexp.MustCompile(`(?m)^ *([^:=\n]+)[:=] *(-?\w+)`).FindAllStringSubmatch(text, -1) {
		m[f[1]] = f[2]
	}
	return m
}

// first returns the first word of a fact's value.
func first(f decode.Fact) string {
	w, _, _ := strings.Cut(f.Value, " ")
	return w
}

// agree checks that a tool says the same of every fact that it has a name for, which are least or more.
func agree(t *testing.T, b []byte, facts []decode.Fact, out string, least int) {
	t.Helper()
	tools, both := said(out), 0
	for _, f := range facts {
		theirs, ok := tools[f.Name]
		if !ok || !regexp.MustCompile(`^(-?\d+|0x[0-9a-f]+|true|false)$`).MatchString(theirs) || strings.HasPrefix(f.Name, "Product") {
			continue // the tool has words for it, or it is text
		}
		both++
		ours := first(f)
		if n, cut := strings.CutPrefix(theirs, "0x"); cut && !strings.HasPrefix(ours, "0x") {
			theirs = fmt.Sprint(mustParse(n)) // some numbers are hexadecimal there
		}
		if ours != theirs && !(ours == "0" && theirs == "false") && !(ours == "1" && theirs == "true") {
			t.Errorf("%x\n%s: we say %q, the tool %q", b, f.Name, f.Value, theirs)
		}
	}
	if both < least {
		t.Errorf("%x: only %d facts are those of the tool, want %d\nwe\n%v\nthe tool\n%s", b, both, least, facts, out)
	}
}

func mustParse(digits string) (n uint64) {
	_, _ = fmt.Sscanf(digits, "%x", &n)
	return n
}

// captured returns what a Linux target has answered to a command with an opcode.
func captured(t *testing.T, opcode string) (all [][2][]byte) {
	t.Helper()
	f, err := os.Open("../../../scsi/testdata/lio.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) < 4 || !strings.HasPrefix(w[1], opcode) || w[2] != "00" || w[3] == "-" {
			continue
		}
		cdb, err1 := hex.DecodeString(w[1])
		data, err2 := hex.DecodeString(w[3])
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		all = append(all, [2][]byte{cdb, data})
	}
	if len(all) == 0 {
		t.Fatalf("nothing was captured of %s", opcode)
	}
	return all
}

// leasts are the pages that sg_vpd decodes field by field, and how many of our facts it has.
var leasts = map[uint8]int{scsi.VPDExtendedInquiry: 25, scsi.VPDBlockLimits: 15, scsi.VPDBlockCharacteristics: 6, scsi.VPDProvisioning: 9}

// Whatever is in a page, sg_vpd finds the same.
func TestPagesLikeTool(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0x86))
	for page, least := range leasts {
		for range 15 {
			v := scsi.VPD{Page: page, Body: make([]byte, 60)}
			if page == scsi.VPDProvisioning {
				v.Body = v.Body[:4]
			}
			for i := range v.Body {
				v.Body[i] = byte(rng.Uint32() >> rng.IntN(9)) // zeros now and then
			}
			if page == scsi.VPDProvisioning {
				v.Body[1] &^= 1 // no descriptor behind it
			}
			if page == scsi.VPDBlockCharacteristics {
				v.Body[3] &= 0xf0 // the tool has inches for form factors
				v.Body[0] |= 4    // a rate, which the tool prints as one
			}
			b := v.Append(nil)
			facts, err := decode.VPD(b, page)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, b, facts, tool(t, b, "sg_vpd", fmt.Sprintf("--page=0x%02x", page)), least)
		}
	}
}

// What a Linux target has sent means the same to us and to the tools.
func TestCapturedLikeTool(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range captured(t, "12") {
		q, err := scsi.ParseInquiry(x[0])
		if err != nil || seen[string(x[1])] {
			continue
		}
		seen[string(x[1])] = true
		switch v, err := scsi.ParseVPD(x[1], q.Page); {
		case !q.EVPD:
			facts, err := decode.Inquiry(x[1])
			if err != nil {
				t.Error(err)
				continue
			}
			out := tool(t, x[1], "sg_inq")
			agree(t, x[1], facts, out, 12)
			for _, f := range facts[:3] {
				if !strings.Contains(out, f.Name+": "+f.Value) {
					t.Errorf("%s is %q, and not in\n%s", f.Name, f.Value, out)
				}
			}
		case err != nil || v.Needed() > len(x[1]):
			continue // just the header
		default:
			facts, err := decode.VPD(x[1], q.Page)
			if err != nil {
				t.Errorf("page %02x: %v", q.Page, err)
				continue
			}
			out := tool(t, x[1], "sg_vpd", fmt.Sprintf("--page=0x%02x", q.Page))
			agree(t, x[1], facts, out, min(leasts[q.Page], 5))
			if q.Page == scsi.VPDIdentification || q.Page == scsi.VPDSerialNumber || q.Page == scsi.VPDSupportedPages {
				sameNames(t, q.Page, facts, out)
			}
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d answers were captured", len(seen))
	}
}

// sameNames checks that a tool has the names of a unit, which it prints in other lines.
func sameNames(t *testing.T, page uint8, facts []decode.Fact, out string) {
	t.Helper()
	for _, f := range facts {
		if f.Name == "Identity" {
			continue
		}
		want := first(f)
		if page == scsi.VPDSupportedPages {
			want = f.Value
		}
		if !strings.Contains(strings.ToLower(out), strings.ToLower(want)) {
			t.Errorf("page %02x: %s is %q, and %q is not in\n%s", page, f.Name, f.Value, want, out)
		}
	}
}

func TestCapacity(t *testing.T) {
	for _, x := range captured(t, "9e10") {
		c, err := scsi.ParseCapacity16(x[1])
		if err != nil {
			t.Fatal(err)
		}
		long, err := decode.Capacity16(x[1])
		if err != nil {
			t.Fatal(err)
		}
		short, err := decode.Capacity10(c.Append10(nil))
		if err != nil {
			t.Fatal(err)
		}
		n, _ := c.Bytes()
		for _, facts := range [][]decode.Fact{long, short} {
			if facts[0].Value != fmt.Sprintf("%d (0x%x)", c.LastLBA, c.LastLBA) || facts[3].Value != fmt.Sprintf("%d bytes", n) {
				t.Errorf("%x: %v", x[1], facts)
			}
		}
	}
}

func TestLUNs(t *testing.T) {
	b := scsi.AppendLUNList(nil, []scsi.LUN{0, scsi.PeripheralLUN(7), scsi.FlatLUN(300)})
	facts, err := decode.LUNs(b)
	if err != nil || len(facts) != 3 || facts[1].Name != "0007000000000000" || facts[2].Name != "412c000000000000" {
		t.Errorf("%v, %v", facts, err)
	}
	if strings.Contains(fmt.Sprint(facts), "%!") {
		t.Error(facts)
	}
}

func TestReservations(t *testing.T) {
	port := [16]byte{7: 1, 15: 2}
	status := scsi.FullStatus{Key: 0xabc, Holder: true, Type: scsi.WriteExclusive, Relative: 1, Initiator: port}
	for want, c := range map[string]struct {
		b  []byte
		fn func([]byte) ([]decode.Fact, error)
	}{
		"[{PR generation 0x5} {Key 0xabc}]":        {scsi.AppendKey(scsi.AppendReserveHeader(nil, 5, 8), 0xabc), decode.Keys},
		"[{PR generation 0x5} {Reservation none}]": {scsi.AppendReserveHeader(nil, 5, 0), decode.Reservation},
		"[{PR generation 0x5} {Key 0x0} {Scope 0 (logical unit)} {Type 7 (write exclusive, all registrants)}]": {
			(&scsi.Reservation{Type: scsi.WriteExclusiveAllRegistrants}).Append(scsi.AppendReserveHeader(nil, 5, scsi.ReservationLength)), decode.Reservation},
		"[{PR generation 0x6} {Initiator port 0x00000000000000010000000000000002} {Key 0xabc} {Relative port 0x1} {Holder 1} {Scope 0 (logical unit)} {Type 1 (write exclusive)}]": {
			status.Append(scsi.AppendReserveHeader(nil, 6, scsi.FullStatusLength)), decode.FullStatus},
	} {
		facts, err := c.fn(c.b)
		if err != nil || fmt.Sprint(facts) != want {
			t.Errorf("%v, %v\nwant %s", facts, err, want)
		}
		if _, err := c.fn(c.b[:7]); err == nil {
			t.Error("data that is cut in its header is taken")
		}
	}
	c := scsi.ReserveCapabilities{PersistCan: true, Types: scsi.AllReservationTypes}
	if facts, err := decode.Capabilities(c.Append(nil)); err != nil || len(facts) != 8+6 || facts[4].Value != "1" {
		t.Errorf("%v, %v", facts, err)
	}
}

func TestParseType(t *testing.T) {
	for s, want := range map[string]scsi.ReservationType{
		"1": 1, "write-exclusive": 1, "Write Exclusive": 1, "we": 1, "EA": 3, "Exclusive Access, registrants only": 6, "wero": 5, "5": 5,
		"Write Exclusive, all registrants": 7, "exclusive_access_all_registrants": 8,
	} {
		if got, err := decode.ParseType(s); got != want || err != nil {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "2", "4", "9", "write", "we2"} {
		if _, err := decode.ParseType(s); err == nil || !strings.Contains(err.Error(), "write-exclusive (we, 1)") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestParsePage(t *testing.T) {
	for s, want := range map[string]uint8{"0": 0, "00": 0, "83": 0x83, "0x83": 0x83, "0XB0": 0xb0, "b0": 0xb0, "di": 0x83, "bl": 0xb0, "lbpv": 0xb2, "ei": 0x86} {
		if got, err := decode.ParsePage(s); got != want || err != nil {
			t.Errorf("%q: %x, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "100", "xy", "-1"} {
		if _, err := decode.ParsePage(s); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
}

// FuzzDecode: nothing that a unit sends panics, or gets to the terminal as it is.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "00000006", "0083000c01030008600140500000000000", "00b0003c01", "0080000461ff0a1b", "0000000100000008", "008600040000000000"} {
		b, _ := hex.DecodeString(s)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		check := func(facts []decode.Fact, err error) {
			if err != nil && len(facts) > 0 {
				t.Errorf("%x: %v, and %v", b, err, facts)
			}
			for _, x := range facts {
				for _, r := range x.Name + x.Value {
					if r < ' ' || r == 0x7f {
						t.Errorf("%x: %q: %q", b, x.Name, x.Value)
					}
				}
			}
		}
		for _, fn := range []func([]byte) ([]decode.Fact, error){decode.Inquiry, decode.Capacity10, decode.Capacity16, decode.LUNs, decode.Keys,
			decode.Reservation, decode.FullStatus, decode.Capabilities} {
			check(fn(b))
		}
		if len(b) > 1 {
			check(decode.VPD(b, b[1]))
		}
		_, _ = decode.Supported(b)
	})
}
