package scsi

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestOracleTsharkMore shows tshark the commands that change, check and set up a disk.
func TestOracleTsharkMore(t *testing.T) {
	x := newISCSITrace()
	var cdb CDB
	line := fmt.Sprintf
	rng := rand.New(rand.NewPCG(6, 0x2f))
	dpo := func(on bool) string {
		return map[bool]string{true: "DPO: Disable Page Out (don't cache this data)", false: "DPO: Disable page out is DISABLED (cache this data)"}[on]
	}
	fua := func(on bool) string {
		return map[bool]string{true: "FUA: Read from the medium, not cache", false: "FUA: Read from cache if possible"}[on]
	}
	for range 8 {
		v := Verify{Write: flip(rng), Check: uint8(rng.IntN(2)), DPO: flip(rng), Protect: uint8(rng.IntN(8)), Group: uint8(rng.IntN(32)),
			LBA: uint64(rng.IntN(1 << 31)), Blocks: uint32(rng.IntN(65536))}
		name := map[bool]string{false: "Verify", true: "Write & Verify"}[v.Write]
		protect := map[bool]string{false: "VR", true: "WR"}[v.Write]
		length := map[bool]string{false: "Verification Length", true: "Transfer Length"}[v.Write]
		for _, size := range []int{10, 12, 16} {
			if err := v.PutSize(&cdb, size); err != nil {
				t.Fatal(err)
			}
			lines := []string{line("SCSI CDB %s(%d)", name, size), line("%sPROTECT: 0x%x", protect, v.Protect), dpo(v.DPO),
				"BYTCHK: " + map[uint8]string{0: "False", 1: "True"}[v.Check], line("LBA: %d", v.LBA)}
			if size == 12 { // where the group stands behind the length
				lines = append(lines, line("%s: %d", length, v.Blocks), line("Group: 0x%02x", v.Group))
			} else if size == 16 {
				lines = append(lines, line("%s: %d", length, v.Blocks), line("Group: 0x%02x", v.Group))
			} else {
				lines = append(lines, line("Group: 0x%02x", v.Group), line("%s: %d", length, v.Blocks))
			}
			x.show(t, &cdb, size, nil, nil, lines...)
		}
		c := CompareAndWrite{FUA: flip(rng), DPO: flip(rng), Protect: uint8(rng.IntN(8)), Group: uint8(rng.IntN(32)), LBA: rng.Uint64(), Blocks: uint8(rng.Uint32())}
		x.show(t, &cdb, c.Put(&cdb), nil, nil, "SCSI CDB Compare & Write(16)", line("WRPROTECT: 0x%x", c.Protect), dpo(c.DPO), fua(c.FUA),
			line("Logical Block Address (LBA): %016x", c.LBA), line("Transfer Length: %d", c.Blocks), line("Group: 0x%02x", c.Group))
		o := OrWrite{FUA: flip(rng), DPO: flip(rng), Group: uint8(rng.IntN(32)), LBA: rng.Uint64(), Blocks: rng.Uint32()}
		x.show(t, &cdb, o.Put(&cdb), nil, nil, "SCSI CDB OrWrite(16)", dpo(o.DPO), fua(o.FUA),
			line("Logical Block Address (LBA): %016x", o.LBA), line("Transfer Length: %d", o.Blocks), line("Group: 0x%02x", o.Group))
		p := PreFetch{Immediate: flip(rng), Group: uint8(rng.IntN(32)), LBA: uint64(rng.IntN(1 << 31)), Blocks: uint32(rng.IntN(65536))}
		immediate := line("Immediate: %s", map[bool]string{true: "True", false: "False"}[p.Immediate])
		x.show(t, &cdb, p.Put(&cdb), nil, nil, "SCSI CDB Pre-Fetch(10)", immediate, line("Logical Block Address (LBA): %d", p.LBA),
			line("Group: 0x%02x", p.Group), line("Transfer Length: %d", p.Blocks))
		x.show(t, &cdb, p.Put16(&cdb), nil, nil, "SCSI CDB Pre-Fetch(16)", immediate, line("Logical Block Address (LBA): %016x", p.LBA),
			line("Transfer Length: %d", p.Blocks), line("Group: 0x%02x", p.Group))
	}
	x.show(t, &cdb, (&StartStop{Immediate: true, Start: true, LoadEject: true}).Put(&cdb), nil, nil, "SCSI CDB Start Stop Unit",
		"Immediate: True", "Power Conditions: No Change (0x0)", "LOEJ: True", "Start: True")
	x.show(t, &cdb, (&StartStop{Power: 1}).Put(&cdb), nil, nil, "SCSI CDB Start Stop Unit",
		"Immediate: False", "Power Conditions: Place Device In Active Condition (0x1)", "LOEJ: False", "Start: False")

	h := ModeHeader{HasDescriptor: true, Descriptor: ModeBlockDescriptor{1000, 512}}
	e := ExceptionsPage{Performance: true, Warnings: true, Test: true, Method: ExceptionsOnRequest, Interval: 77, Count: 88}
	pages := e.Append((&RecoveryPage{WriteReassign: true, PostErrors: true, ReadRetries: 5, WriteRetries: 6, TimeLimit: 700}).Append(nil))
	lines := []string{"Block Descriptor Length: 8", "No. of Blocks: 1000", "Block Length: 512", "Read/Write Error Recovery Mode Page", "AWRE: True",
		"ARRE: False", "PER: True", "Read Retry Count: 5", "Write Retry Count: 6", "Recovery Time Limit (ms): 700",
		"Informational Exceptions Control Mode Page", "Perf: True", "EBF: False", "EWasc: True", "DExcpt: False", "Test: True", "LogErr: False",
		"MRIE: Only Report Informational Exception Condition on Request (0x6)", "Interval Timer: 77", "Report Count: 88"}
	list := h.AppendModeList(nil, false, pages)
	x.show(t, &cdb, (&ModeSelect{PageFormat: true, ParameterListLength: uint16(len(list))}).Put(&cdb), list, nil,
		append([]string{"SCSI CDB Mode Select(6)", "PF = 16, SP = 0", line("Parameter Length: %d", len(list)), "Mode Data Length: 0"}, lines...)...)
	list = h.AppendModeList(nil, true, pages)
	x.show(t, &cdb, (&ModeSelect{Ten: true, PageFormat: true, Save: true, ParameterListLength: uint16(len(list))}).Put(&cdb), list, nil,
		append([]string{"SCSI CDB Mode Select(10)", "PF = 16, SP = 1", line("Parameter Length: %d", len(list)), "Mode Data Length: 0"}, lines...)...)

	page := LogPage{Page: LogWriteErrors, Body: AppendLogCounter(AppendLogCounter(nil, LogTotalBytes, 1<<40), LogTotalUncorrected, 3)}
	x.show(t, &cdb, (&LogSense{Save: true, Control: LogCumulative, Page: LogWriteErrors, Pointer: 5, AllocationLength: 80}).Put(&cdb), nil, page.Append(nil),
		"SCSI CDB Log Sense", "SP: Device shall save all log parameters", "Page Control: Cumulative Values (1)",
		"Page Code: Error Counter (write) Page (0x02)", "Parameter Pointer: 0x05", "Allocation Length: 80",
		"Page Code: Error Counter (write) Page (0x02)", "Page Length: 24", "Parameter Code: 0x0005", "Parameter Len: 8", "Parameter Data: 0000010000000000",
		"Parameter Code: 0x0006", "Parameter Len: 8", "Parameter Data: 0000000000000003")
	x.show(t, &cdb, (&LogSelect{Reset: true, Control: LogDefaultCumulative, ParameterListLength: 0}).Put(&cdb), nil, nil,
		"SCSI CDB Log Select", "PCR: Reset all parameters to default values", "Page Control: Default Cumulative Values (3)", "Parameter Length: 0")

	s := LBAStatus{LBA: 7, Blocks: 9, Status: LBADeallocated}
	x.show(t, &cdb, (&GetLBAStatus{LBA: 7, AllocationLength: 24}).Put(&cdb), nil, s.Append(AppendLBAStatusHeader(nil, 1)),
		"Service Action: Get LBA Status (0x12)", "Data Length: 20", "LBA: 7", "Num Blocks: 9", "Provisioning Type: The LBA is DEALLOCATED (1)")
	x.compare(t)
}

// sg_logs reads log pages built here.
func TestOracleLogPages(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0x4d))
	for range 10 {
		n, bad := rng.Uint64()>>rng.UintN(64), rng.Uint64()>>rng.UintN(64)
		for page, name := range map[uint8]string{LogWriteErrors: "Write", LogReadErrors: "Read", LogVerifyErrors: "Verify"} {
			p := LogPage{Page: page, DisableSave: flip(rng), Body: AppendLogCounter(AppendLogCounter(nil, LogTotalBytes, n), LogTotalUncorrected, bad)}
			out := tool(t, p.Append(nil), "sg_logs", "--in=FILE", "--raw")
			for _, want := range []string{name + " error counter page", fmt.Sprintf("Total bytes processed = %d", n), fmt.Sprintf("Total uncorrected errors = %d", bad)} {
				if !strings.Contains(out, want) {
					t.Errorf("the tool does not say %q:\n%s", want, out)
				}
			}
		}
		free, used := LogResource{rng.Uint32(), uint8(rng.IntN(3))}, LogResource{rng.Uint32(), uint8(rng.IntN(3))}
		p := LogPage{Page: LogProvisioning, Body: used.Append(free.Append(nil, LogAvailableResource), LogUsedResource)}
		out := oneSpaced(tool(t, p.Append(nil), "sg_logs", "--in=FILE", "--raw"))
		for name, r := range map[string]LogResource{"Available": free, "Used": used} {
			scope := map[uint8]string{0: "not reported", 1: "dedicated to lu", 2: "not dedicated to lu"}[r.Scope]
			want := fmt.Sprintf("%s LBA mapping threshold resource count: %d Scope: %s", name, r.Count, scope)
			if !strings.Contains(out, want) {
				t.Errorf("the tool does not say %q:\n%s", want, out)
			}
		}
	}
}

func TestPortGroups(t *testing.T) {
	ports := []uint16{1, 300}
	g := PortGroup{State: AccessNonOptimized, Preferred: true, Supported: SupportsOptimized | SupportsNonOptimized, ID: 0x0203, Status: GroupStatusImplicit}
	b := (&PortGroup{State: AccessStandby, ID: 9}).Append(g.Append(nil, ports), []uint16{2})
	for _, extended := range []bool{false, true} {
		data := AppendPortGroups(nil, extended, b)
		groups, err := ParsePortGroups(data)
		if err != nil {
			t.Fatal(err)
		}
		first, groups, ok := NextPortGroup(groups)
		if !ok || first.State != g.State || !first.Preferred || first.Supported != 3 || first.ID != g.ID || first.Status != g.Status ||
			first.Ports() != 2 || first.Port(0) != 1 || first.Port(1) != 300 {
			t.Errorf("extended %v: %+v, %t", extended, first, ok)
		}
		second, groups, ok := NextPortGroup(groups)
		if !ok || second.State != AccessStandby || second.ID != 9 || second.Port(0) != 2 || len(groups) != 0 {
			t.Errorf("extended %v: %+v, %t, %x", extended, second, ok, groups)
		}
	}
	// SPC-5 table 306.
	if want := "\x81\x03\x02\x03\x00\x02\x00\x02\x00\x00\x00\x01\x00\x00\x01\x2c"; string(b[:16]) != want {
		t.Errorf("% x, want % x", b[:16], want)
	}
	if AccessStandby.String() != "standby" || AccessState(9).String() != "access state 9" {
		t.Error("names of access states")
	}
}
