package scsi

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// fields reads lines of "name: number …" and pairs of "NAME=number".
func fields(text string) map[string]string {
	m := map[string]string{}
	for _, f := range regexp.MustCompile(`\[?([A-Za-z0-9]+)=(0x[0-9a-f]+|\d+)`).FindAllStringSubmatch(text, -1) {
		m[f[1]] = f[2]
	}
	for _, f := range regexp.MustCompile(`(?m)^ *([^:=\n]+): *(0x[0-9a-f]+|\d+|true|false)`).FindAllStringSubmatch(text, -1) {
		m[f[1]] = f[2]
	}
	return m
}

func expect(t *testing.T, out string, want map[string]any) {
	t.Helper()
	got := fields(out)
	for name, v := range want {
		w := fmt.Sprint(v)
		if b, ok := v.(bool); ok && got[name] != "true" && got[name] != "false" {
			w = fmt.Sprint(bit(b, 0))
		}
		if got[name] != w {
			t.Errorf("%s: the tool says %q, want %s\n%s", name, got[name], w, out)
		}
	}
}

func flip(rng *rand.Rand) bool { return rng.IntN(2) == 0 }

func TestOracleStandardInquiry(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0x12))
	for range 30 {
		q := StandardInquiry{
			Qualifier: PeripheralQualifier(rng.IntN(4)), Device: []DeviceType{0, 5, 0xc, 0x1f}[rng.IntN(4)],
			Removable: flip(rng), Version: uint8(3 + rng.IntN(5)), NormACA: flip(rng), HiSup: flip(rng),
			ResponseFormat: 2, SCCS: flip(rng), TPGS: uint8(rng.IntN(4)), ThirdPartyCopy: flip(rng),
			Protect: flip(rng), MultiPort: flip(rng), CmdQue: flip(rng),
			VersionDescriptors: [8]uint16{VersionSAM5, VersionSRP, VersionSPC4, VersionSBC3},
		}
		q.SetText("MINISRP", "SOFTWARE DISK", "0001")
		b := q.Append(nil)
		if back, err := ParseStandardInquiry(b); err != nil || back != q {
			t.Fatalf("%x: parsed as %+v, %v; want %+v", b, back, err, q)
		}
		out := tool(t, b, "sg_inq", "--inhex=FILE", "--raw", "-d")
		expect(t, out, map[string]any{
			"PQual": q.Qualifier, "PDT": uint8(q.Device), "RMB": q.Removable, "version": fmt.Sprintf("0x%02x", q.Version),
			"NormACA": q.NormACA, "HiSUP": q.HiSup, "SCCS": q.SCCS, "TPGS": q.TPGS, "3PC": q.ThirdPartyCopy,
			"Protect": q.Protect, "MultiP": q.MultiPort, "CmdQue": q.CmdQue, "length": 96,
		})
		for _, want := range []string{"Vendor identification: MINISRP \n", "Product identification: SOFTWARE DISK   \n",
			"Product revision level: 0001\n", "SAM-5 (no version", "SRP (no version", "SPC-4 (no version", "SBC-3 (no version"} {
			if !strings.Contains(out, want) {
				t.Errorf("the tool does not say %q\n%s", want, out)
			}
		}
	}
}

func TestOracleBlockPages(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0xb0))
	u32 := func() uint32 { return 1 + rng.Uint32N(0xfffffff0) }
	for range 30 {
		l := BlockLimits{
			WriteSameNonZero: flip(rng), MaxCompareAndWrite: uint8(1 + rng.IntN(255)), TransferGranularity: uint16(1 + rng.IntN(65535)),
			MaxTransfer: u32(), OptimalTransfer: u32(), MaxPrefetch: u32(), MaxUnmapBlocks: u32(), MaxUnmapDescriptors: u32(),
			UnmapGranularity: u32(), UnmapAligned: flip(rng), UnmapAlignment: u32() >> 1, MaxWriteSame: 1 + rng.Uint64(),
			MaxAtomicTransfer: u32(), AtomicAlignment: u32(), AtomicGranularity: u32(), MaxAtomicBoundedXfer: u32(), MaxAtomicBoundary: u32(),
		}
		v := VPD{Page: VPDBlockLimits, Body: l.Append(nil)}
		if back, err := ParseBlockLimits(v.Body); err != nil || back != l {
			t.Fatalf("%x: parsed as %+v, %v; want %+v", v.Body, back, err, l)
		}
		want := map[string]any{
			"Write same non-zero (WSNZ)": l.WriteSameNonZero, "Maximum compare and write length": l.MaxCompareAndWrite,
			"Optimal transfer length granularity": l.TransferGranularity, "Maximum transfer length": l.MaxTransfer,
			"Optimal transfer length": l.OptimalTransfer, "Maximum prefetch transfer length": l.MaxPrefetch,
			"Maximum unmap LBA count": l.MaxUnmapBlocks, "Maximum unmap block descriptor count": l.MaxUnmapDescriptors,
			"Optimal unmap granularity": l.UnmapGranularity, "Unmap granularity alignment valid": l.UnmapAligned,
			"Maximum write same length": fmt.Sprintf("0x%x", l.MaxWriteSame), "Maximum atomic transfer length": l.MaxAtomicTransfer,
			"Atomic alignment": l.AtomicAlignment, "Atomic transfer length granularity": l.AtomicGranularity,
			"Maximum atomic transfer length with atomic boundary": l.MaxAtomicBoundedXfer, "Maximum atomic boundary size": l.MaxAtomicBoundary,
		}
		if l.UnmapAligned {
			want["Unmap granularity alignment"] = l.UnmapAlignment
		}
		expect(t, tool(t, v.Append(nil), "sg_vpd", "--inhex=FILE", "--raw", "--page=0xb0"), want)

		c := BlockCharacteristics{
			RotationRate: uint16(0x401 + rng.IntN(0xf000)), ProductType: uint8(rng.IntN(6)), WriteAfterErase: uint8(rng.IntN(4)),
			WriteAfterSanitize: uint8(rng.IntN(4)), FormFactor: 3, Zoned: uint8(rng.IntN(3)), FUAB: flip(rng), VBULS: flip(rng),
		}
		v = VPD{Page: VPDBlockCharacteristics, Body: c.Append(nil)}
		if back, err := ParseBlockCharacteristics(v.Body); err != nil || back != c {
			t.Fatalf("%x: parsed as %+v, %v; want %+v", v.Body, back, err, c)
		}
		expect(t, tool(t, v.Append(nil), "sg_vpd", "--inhex=FILE", "--raw", "--page=0xb1"), map[string]any{
			"Nominal rotation rate": c.RotationRate, "WABEREQ": c.WriteAfterErase, "WACEREQ": c.WriteAfterSanitize,
			"Nominal form factor": 2, "ZONED": c.Zoned, "FUAB": c.FUAB, "VBULS": c.VBULS,
		})

		p := Provisioning{
			Unmap: flip(rng), UnmapByWriteSame: flip(rng), UnmapByWriteSame10: flip(rng), ReadZeros: uint8(rng.IntN(3)),
			AnchorSupported: flip(rng), Type: uint8(rng.IntN(3)), ThresholdExponent: uint8(1 + rng.IntN(30)),
			MinimumPercentage: uint8(1 + rng.IntN(31)), ThresholdPercentage: uint8(1 + rng.IntN(100)),
		}
		v = VPD{Page: VPDProvisioning, Body: p.Append(nil)}
		if back, err := ParseProvisioning(v.Body); err != nil || back != p {
			t.Fatalf("%x: parsed as %+v, %v; want %+v", v.Body, back, err, p)
		}
		expect(t, tool(t, v.Append(nil), "sg_vpd", "--inhex=FILE", "--raw", "--page=0xb2"), map[string]any{
			"Unmap command supported (LBPU)": p.Unmap, "Write same (16) with unmap bit supported (LBPWS)": p.UnmapByWriteSame,
			"Write same (10) with unmap bit supported (LBPWS10)": p.UnmapByWriteSame10,
			"Logical block provisioning read zeros (LBPRZ)":      p.ReadZeros, "Anchored LBAs supported (ANC_SUP)": p.AnchorSupported,
			"Threshold exponent": p.ThresholdExponent, "Minimum percentage": p.MinimumPercentage,
			"Provisioning type": p.Type, "Threshold percentage": p.ThresholdPercentage,
		})
	}
}

func TestOracleIdentification(t *testing.T) {
	naa6 := NAA6(0x001405, 0xf1a2b3c4d, 0x5e6f708192a3b4c5)
	naa5, naa3 := NAA5(0x001405, 0x123456789), NAA3(0xabcdef0123456)
	var b []byte
	for _, id := range [][]byte{naa3[:], naa5[:], naa6[:]} {
		d := Designator{Type: DesignatorNAA, CodeSet: CodeBinary, ID: id}
		b = d.Append(b)
	}
	eui := Designator{Type: DesignatorEUI64, CodeSet: CodeBinary, ID: []byte{0, 0x14, 5, 1, 2, 3, 4, 5}}
	b = eui.Append(b)
	uuid := Designator{Type: DesignatorUUID, CodeSet: CodeBinary, ID: append([]byte{0x10, 0}, naa6[:]...)}
	b = uuid.Append(b)
	b = AppendT10Designator(b, "MINISRP", "disk-0")
	b = AppendNumberDesignator(b, DesignatorRelativePort, ProtocolSRP, 3)
	b = AppendNumberDesignator(b, DesignatorPortGroup, ProtocolSRP, 0x102)
	b = AppendNumberDesignator(b, DesignatorUnitGroup, 0, 7)
	b = AppendNameDesignator(b, NamesPort, ProtocolSRP, "naa.5001405123456789")
	b = AppendNameDesignator(b, NamesTarget, ProtocolSRP, "eui.00140501")
	v := VPD{Page: VPDIdentification, Body: b}
	if id, ok := UnitIdentity(b); !ok || id != "naa.6001405f1a2b3c4d5e6f708192a3b4c5" {
		t.Errorf("identity %q, %t", id, ok)
	}
	out := tool(t, v.Append(nil), "sg_vpd", "--inhex=FILE", "--raw", "--page=0x83")
	at := 0
	for _, want := range []string{
		"Addressed logical unit:", "0x300abcdef0123456", "0x5001405123456789", "0x6001405f1a2b3c4d5e6f708192a3b4c5",
		"EUI-64 based", "0x0014050102030405",
		"Locally assigned UUID: 6001405f-1a2b-3c4d-5e6f-708192a3b4c5", "vendor id: MINISRP", "vendor specific: disk-0", "Logical unit group: 0x7",
		"Target port:", "SCSI RDMA Protocol (SRP)", "Relative target port: 0x3", "Target port group: 0x102", "naa.5001405123456789",
		"Target device that contains addressed lu:", "eui.00140501",
	} {
		i := strings.Index(out[at:], want)
		if i < 0 {
			t.Fatalf("the tool does not say %q in its turn\n%s", want, out)
		}
		at += i
	}
	// udev's own choice of names, which users know from /dev/disk/by-id.
	export := tool(t, v.Append(nil), "sg_inq", "--inhex=FILE", "--raw", "--page=0x83", "--export")
	for _, want := range []string{"SCSI_IDENT_LUN_NAA_REGEXT=6001405f1a2b3c4d5e6f708192a3b4c5", "SCSI_IDENT_LUN_NAA_LOCAL=300abcdef0123456",
		"SCSI_IDENT_LUN_T10=MINISRP_disk-0", "SCSI_IDENT_PORT_RELATIVE=3"} {
		if !strings.Contains(export, want) {
			t.Errorf("the tool does not say %q\n%s", want, export)
		}
	}
}

func TestOracleCommandNames(t *testing.T) {
	for op := range 256 {
		name := opcodeNames[op]
		var cdb CDB
		cdb[0] = byte(op)
		switch Opcode(op) {
		case OpVariableLength, OpServiceActionIn, OpMaintenanceIn, OpMaintenanceOut:
			continue // several commands
		}
		out := strings.TrimSpace(tool(t, nil, "sg_decode_sense", append([]string{"--cdb"}, hexArgs(cdb[:16])...)...))
		out, _, _ = strings.Cut(out, ",")
		if name != "" && !strings.EqualFold(name, out) && !strings.HasPrefix(name, "THIRD-PARTY COPY") {
			t.Errorf("opcode %02x: %q, the tool says %q", op, name, out)
		}
	}
	for cdb, want := range map[CDB]string{
		{0: 0x9e, 1: 0x10}: "Read capacity(16)", {0: 0x9e, 1: 0x12}: "Get LBA status(16)",
		{0: 0xa3, 1: 0x0a}: "Report target port groups", {0: 0xa3, 1: 0x0c}: "Report supported operation codes",
		{0: 0xa3, 1: 0x0d}:          "Report supported task management functions",
		{0: 0x7f, 7: 0x18, 9: 0x09}: "Read(32)", {0: 0x7f, 7: 0x18, 9: 0x0b}: "Write(32)",
		{0: 0x7f, 7: 0x18, 9: 0x0e}: "Orwrite(32)", {0: 0xa4, 1: 0x0a}: "Set target port groups",
		{0: 0x83, 1: 0x00}: "Extended copy(LID1)", {0: 0x83, 1: 0x10}: "Populate token",
		{0: 0x83, 1: 0x11}: "Write using token", {0: 0x83, 1: 0x1c}: "Copy operation abort", {0: 0x84, 1: 0x00}: "Receive copy status(LID1)",
		{0: 0x84, 1: 0x01}: "Receive copy data(LID1)", {0: 0x84, 1: 0x03}: "Receive copy operating parameters",
		{0: 0x84, 1: 0x04}: "Receive copy failure details(LID1)",
		{0: 0x84, 1: 0x07}: "Receive ROD token information", {0: 0x84, 1: 0x08}: "Report all ROD tokens",
	} {
		n, _ := CDBLength(cdb[:])
		out := strings.TrimSpace(tool(t, nil, "sg_decode_sense", append([]string{"--cdb"}, hexArgs(cdb[:n])...)...))
		if got := CommandName(cdb[:]); !strings.EqualFold(got, want) || !strings.EqualFold(out, want) {
			t.Errorf("%x: %q, the tool says %q", cdb, got, out)
		}
	}
}
