package scsi

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"minisrp/test/need"
)

// tool runs a standard tool on data, whose name replaces FILE in args, and returns what it prints. A missing
// tool skips the test, but fails it when CI is set.
func tool(t *testing.T, data []byte, name string, args ...string) string {
	t.Helper()
	path := need.Tool(t, name)
	if data != nil {
		file := t.TempDir() + "/data"
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for i := range args {
			args[i] = strings.Replace(args[i], "FILE", file, 1)
		}
	}
	var stderr bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatalf("%s: %v %s", name, err, &stderr)
	}
	return string(out)
}

func hexArgs(b []byte) []string {
	var a []string
	for _, c := range b {
		a = append(a, hex2(c))
	}
	return a
}

// submatch returns the first group of pattern in text, "" when there is none.
func submatch(text, pattern string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

func TestOracleSenseBuilt(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 70))
	codes := []ASC{0x0000, 0x1100, 0x2400, 0x2700, 0x2900, 0x3f0e, 0x4481, 0x4085, 0x4d07, 0x7012, 0x9001, 0x2107, 0x5dff}
	for range 200 {
		s := Sense{
			Key: SenseKey(rng.UintN(16)), ASC: codes[rng.IntN(len(codes))],
			Deferred: rng.IntN(4) == 0, Descriptor: rng.IntN(2) == 0,
			Filemark: rng.IntN(8) == 0, EOM: rng.IntN(8) == 0, ILI: rng.IntN(4) == 0, Overflow: rng.IntN(6) == 0,
			InformationValid: rng.IntN(2) == 0, FRU: uint8(rng.UintN(3)),
		}
		if s.InformationValid {
			if s.Information = rng.Uint64(); !s.Descriptor {
				s.Information >>= 32
			}
		}
		if s.Descriptor && rng.IntN(2) == 0 {
			s.CommandSpecific = rng.Uint64()
		}
		if rng.IntN(2) == 0 && s.Key == KeyIllegalRequest {
			s.SetField(FieldPointer{Data: rng.IntN(2) == 0, Byte: uint16(rng.UintN(300)), Bit: int8(rng.IntN(9)) - 1})
		}
		b := make([]byte, MaxSenseSize)
		b = b[:s.Put(b)]
		if back, err := ParseSense(b); err != nil || back != s {
			t.Fatalf("%x: parsed as %+v, %v; want %+v", b, back, err, s)
		}
		compareSense(t, s, tool(t, nil, "sg_decode_sense", hexArgs(b)...))
	}
}

func TestOracleSenseRandomBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 70))
	for range 200 {
		b := make([]byte, 18+rng.IntN(30))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		b[0] = byte(0x70+rng.IntN(4)) | b[0]&0x80
		if b[0]&2 != 0 {
			b[0] &= 0x7f
		}
		b[7] = byte(len(b) - 8)
		s, err := ParseSense(b)
		if err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		compareSense(t, Sense{Key: s.Key, ASC: s.ASC, Deferred: s.Deferred, Descriptor: s.Descriptor},
			tool(t, nil, "sg_decode_sense", hexArgs(b)...))
	}
}

// compareSense checks what sg_decode_sense says against s. What s does not claim is not compared, save the
// first lines, which are always there.
func compareSense(t *testing.T, s Sense, out string) {
	t.Helper()
	bad := func(what, got, want string) {
		t.Helper()
		t.Errorf("%+v: %s %q, the tool says %q\n%s", s, what, got, want, out)
	}
	if desc := strings.HasPrefix(out, "Descriptor format"); desc != s.Descriptor {
		bad("descriptor", fmt.Sprint(s.Descriptor), fmt.Sprint(desc))
	}
	if d := strings.Contains(out, "<<<deferred>>>"); d != s.Deferred {
		bad("deferred", fmt.Sprint(s.Deferred), fmt.Sprint(d))
	}
	if key := submatch(out, `Sense key: (.*)`); !strings.EqualFold(key, toolKey(s.Key)) {
		bad("key", s.Key.String(), key)
	}
	compareASC(t, s.ASC, out)
	if s.Overflow != strings.Contains(out, "SDAT_OVFL") && s.Overflow {
		bad("overflow", "true", "")
	}
	if s.InformationValid {
		want := submatch(out, `Info fld=0x([0-9a-f]+)`)
		if s.Descriptor {
			want = strings.TrimLeft(submatch(out, `Information: 0x([0-9a-f]+)`), "0")
		}
		if got := fmt.Sprintf("%x", s.Information); got != want {
			bad("information", got, want)
		}
	}
	if s.CommandSpecific != 0 {
		if got, want := fmt.Sprintf("%016x", s.CommandSpecific), submatch(out, `Command specific: 0x([0-9a-f]+)`); got != want {
			bad("command specific", got, want)
		}
	}
	if s.FRU != 0 {
		if got, want := fmt.Sprint(s.FRU), submatch(out, `Field replaceable unit code: (?:0x)?([0-9a-f]+)`); got != want {
			bad("field replaceable unit", got, want)
		}
	}
	if s.ILI && !regexp.MustCompile(`ILI|Incorrect Length`).MatchString(out) {
		bad("ILI", "true", "")
	}
	if p, ok := s.FieldPointer(); ok {
		where := "Command"
		if p.Data {
			where = "Data parameters"
		}
		got := fmt.Sprintf("%s: byte %d", where, p.Byte)
		if p.Bit >= 0 {
			got += fmt.Sprintf(" bit %d", p.Bit)
		}
		if want := strings.TrimSpace(submatch(out, `Error in (.*)`)); got != want {
			bad("field pointer", got, want)
		}
	}
}

// toolKey returns the tool's name of the key.
func toolKey(k SenseKey) string {
	if k == KeyVendorSpecific {
		return "Vendor specific(9)"
	}
	return k.String()
}

func compareASC(t *testing.T, a ASC, out string) {
	t.Helper()
	got, want := a.String(), submatch(out, `Additional sense: (.*)`)
	switch {
	case want == "":
		// Not assigned, says the tool.
		if got != "vendor specific" && got != "unknown additional sense code" && a.Code() != 0x40 {
			t.Errorf("%04x: %q, the tool has no text\n%s", uint16(a), got, out)
		}
	case !strings.EqualFold(got, want):
		// The tool has texts for every qualifier of 40h–42h, of which only those of 80h and up are T10's.
		if c := a.Code(); c < 0x40 || c > 0x42 {
			t.Errorf("%04x: %q, the tool says %q", uint16(a), got, want)
		}
	}
}

func TestOracleAdditionalSenseTexts(t *testing.T) {
	for _, table := range [][]ascText{ascTexts00[:], ascTexts30[:]} {
		for i, row := range table {
			if i > 0 && table[i-1].code >= row.code {
				t.Errorf("table is not sorted at %04x", uint16(row.code))
			}
			out := tool(t, nil, "sg_decode_sense", "72", "00", hex2(row.code.Code()), hex2(row.code.Qualifier()), "0", "0", "0", "0")
			if want := submatch(out, `Additional sense: (.*)`); !strings.EqualFold(row.text, want) {
				t.Errorf("%04x: %q, the tool says %q", uint16(row.code), row.text, want)
			}
			if got := row.code.String(); got != row.text {
				t.Errorf("%04x: String gives %q, want %q", uint16(row.code), got, row.text)
			}
		}
	}
}

func TestOracleLUN(t *testing.T) {
	for l, want := range map[LUN]string{
		PeripheralLUN(0):          "Peripheral device addressing: lun=0",
		PeripheralLUN(255):        "Peripheral device addressing: lun=255",
		FlatLUN(256):              "Flat space addressing: lun=256",
		FlatLUN(16383):            "Flat space addressing: lun=16383",
		LogicalUnitLUN(5, 63, 31): "Logical unit addressing: bus_id=5, target=63, lun=31",
		ExtendedFlatLUN(0x123456): "Extended flat space addressing: lun=1193046",
		0xe200010203040000:        "Long extended flat space addressing: lun=16909060",
		LUNReportLUNs:             "REPORT LUNS well known logical unit",
		0xffffffffffffffff:        "Logical unit _not_ specified",
		0x0104000200000000:        "Peripheral device addressing: bus_id=1, target=4\nPeripheral device addressing: lun=2",
		LUNFromNumber(0x00024103): "Flat space addressing: lun=259",
		LUNFromNumber(7):          "Peripheral device addressing: lun=7",
		0x0104014583e1_0000:       "Peripheral device addressing: bus_id=1, target=4\nPeripheral device addressing: bus_id=1, target=69\nLogical unit addressing: bus_id=7, target=3, lun=1",
		LUN(0xc1<<56 | 0x02<<48):  "ACCESS CONTROLS well known logical unit",
		LogicalUnitLUN(0, 0, 9):   "Logical unit addressing: bus_id=0, target=0, lun=9",
		0xd30001020000_0000:       "",
	} {
		out := tool(t, nil, "sg_luns", "-t", fmt.Sprintf("%016x", uint64(l)))
		var lines []string
		for line := range strings.Lines(out) {
			if line = strings.TrimSpace(line); !strings.HasSuffix(line, ":") {
				lines = append(lines, line)
			}
		}
		if got := strings.Join(lines, "\n"); got != want && want != "" {
			t.Errorf("%016x: the tool says %q, want %q", uint64(l), got, want)
		}
		var ours []string
		for i := 0; ; i++ {
			v, ok := l.Level(i)
			if !ok {
				break
			}
			ours = append(ours, toolLevel(v))
		}
		if got := strings.Join(ours, "\n"); got != strings.Join(lines, "\n") {
			t.Errorf("%016x: %q, the tool says %q", uint64(l), got, lines)
		}
	}
}

// toolLevel words a level as sg_luns does.
func toolLevel(v LUNLevel) string {
	switch v.Method {
	case MethodPeripheral:
		if v.Bus != 0 {
			return fmt.Sprintf("Peripheral device addressing: bus_id=%d, target=%d", v.Bus, v.Target)
		}
		return fmt.Sprintf("Peripheral device addressing: lun=%d", v.Unit)
	case MethodFlat:
		return fmt.Sprintf("Flat space addressing: lun=%d", v.Unit)
	case MethodLogicalUnit:
		return fmt.Sprintf("Logical unit addressing: bus_id=%d, target=%d, lun=%d", v.Bus, v.Target, v.Unit)
	case MethodWellKnown:
		return map[uint64]string{1: "REPORT LUNS", 2: "ACCESS CONTROLS"}[v.Unit] + " well known logical unit"
	case MethodExtendedFlat:
		if v.Size == 6 {
			return fmt.Sprintf("Long extended flat space addressing: lun=%d", v.Unit)
		}
		return fmt.Sprintf("Extended flat space addressing: lun=%d", v.Unit)
	case MethodNotSpecified:
		return "Logical unit _not_ specified"
	}
	return fmt.Sprintf("Extended logical unit addressing: length=%d, e.a. method=3, value=%d", v.Size/2-1, v.Unit)
}
