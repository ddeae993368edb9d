package scsi

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// iscsiTrace is a packet file in which a command goes to a disk by iSCSI and data comes back, so that
// tshark's SCSI dissector can be asked what it sees. (It has none for SRP over RDMA.)
type iscsiTrace struct {
	file []byte
	tag  uint32
	seq  [2]uint32
	want [][]string // what tshark is to say about each command
}

func newISCSITrace() *iscsiTrace {
	x := &iscsiTrace{seq: [2]uint32{1, 1}}
	x.file = binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	x.file = append(x.file, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0)
	return x
}

// exchange adds a command with its data-out, and a Data-In PDU with the data-in.
func (x *iscsiTrace) exchange(cdb []byte, out, in []byte) {
	x.tag++
	cmd := make([]byte, 48)
	cmd[0], cmd[1] = 0x01, 0x80|bit(len(in) > 0, 6)|bit(len(out) > 0, 5)
	binary.BigEndian.PutUint32(cmd[4:8], uint32(len(out)))
	binary.BigEndian.PutUint32(cmd[16:20], x.tag)
	binary.BigEndian.PutUint32(cmd[20:24], uint32(max(len(in), len(out))))
	copy(cmd[32:48], cdb)
	x.segment(0, append(cmd, out...))
	if len(in) > 0 {
		rsp := make([]byte, 48)
		rsp[0], rsp[1] = 0x25, 0x81
		binary.BigEndian.PutUint32(rsp[4:8], uint32(len(in)))
		binary.BigEndian.PutUint32(rsp[16:20], x.tag)
		binary.BigEndian.PutUint32(rsp[20:24], 0xffffffff)
		x.segment(1, append(rsp, in...))
	}
}

func (x *iscsiTrace) segment(from int, pdu []byte) {
	for len(pdu)%4 != 0 {
		pdu = append(pdu, 0)
	}
	p := []byte{2, 0, 0, 0, 0, byte(1 - from), 2, 0, 0, 0, 0, byte(from), 8, 0}
	p = append(p, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, byte(1+from), 192, 0, 2, byte(2-from))
	binary.BigEndian.PutUint16(p[16:18], uint16(20+20+len(pdu)))
	ports := [2]uint16{40000, 3260}
	p = binary.BigEndian.AppendUint16(p, ports[from])
	p = binary.BigEndian.AppendUint16(p, ports[1-from])
	p = binary.BigEndian.AppendUint32(p, x.seq[from])
	p = binary.BigEndian.AppendUint32(p, x.seq[1-from])
	p = append(p, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0)
	p = append(p, pdu...)
	x.seq[from] += uint32(len(pdu))
	x.file = append(x.file, 0, 0, 0, 0, 0, 0, 0, 0)
	x.file = binary.LittleEndian.AppendUint32(x.file, uint32(len(p)))
	x.file = binary.LittleEndian.AppendUint32(x.file, uint32(len(p)))
	x.file = append(x.file, p...)
}

// show adds the command in cdb, of n bytes, with its data, and the lines that tshark is to say about it.
func (x *iscsiTrace) show(t *testing.T, cdb *CDB, n int, out, in []byte, lines ...string) {
	t.Helper()
	if m, ok := CDBLength(cdb[:]); !ok || n != m {
		t.Errorf("%x: built %d bytes, the group code says %d", cdb, n, m)
	}
	if again, m, ok := rebuildCDB(cdb[:]); !ok || m != n || again != *cdb {
		t.Errorf("%x: rebuilt as %x, %d bytes, %t", cdb, again, m, ok)
	}
	x.exchange(cdb[:], out, in)
	x.want = append(x.want, lines)
}

// compare asks tshark, and wants to read the lines of each command in their order, without the bits that it draws
// before a field.
func (x *iscsiTrace) compare(t *testing.T) {
	t.Helper()
	text := tool(t, x.file, "tshark", "-n", "-r", "FILE", "-d", "tcp.port==3260,iscsi", "-O", "scsi,scsi_sbc")
	parts := strings.Split(text, "SCSI CDB ")[1:]
	if len(parts) != len(x.want) {
		t.Fatalf("tshark sees %d commands, want %d\n%s", len(parts), len(x.want), text)
	}
	for i, lines := range x.want {
		rest := "SCSI CDB " + parts[i]
		for _, l := range lines {
			at := strings.Index(rest, l+"\n")
			if at < 0 {
				t.Errorf("tshark does not say %q in its turn:\nSCSI CDB %s", l, parts[i])
				break
			}
			rest = rest[at+len(l):]
		}
	}
}

// TestOracleTshark shows commands and data built here to tshark.
func TestOracleTshark(t *testing.T) {
	x := newISCSITrace()
	var cdb CDB
	show := func(n int, out, in []byte, lines ...string) {
		t.Helper()
		x.show(t, &cdb, n, out, in, lines...)
	}
	line := fmt.Sprintf
	rng := rand.New(rand.NewPCG(5, 0x28))

	for range 8 {
		r := RW{Write: flip(rng), FUA: flip(rng), DPO: flip(rng), Protect: uint8(rng.IntN(8)), Group: uint8(rng.IntN(32)),
			LBA: uint64(rng.Uint32()), Blocks: uint32(rng.IntN(65536))}
		verb := map[bool]string{false: "Read", true: "Write"}[r.Write]
		protect := line("%sPROTECT: 0x%x", map[bool]string{false: "RD", true: "WR"}[r.Write], r.Protect)
		flags := func(name string) []string {
			l := []string{"SCSI CDB " + name, protect}
			for _, f := range []struct {
				set      bool
				yes, not string
			}{
				{r.DPO, "DPO: Disable Page Out (don't cache this data)", "DPO: Disable page out is DISABLED (cache this data)"},
				{r.FUA, "FUA: Read from the medium, not cache", "FUA: Read from cache if possible"},
			} {
				l = append(l, map[bool]string{true: f.yes, false: f.not}[f.set])
			}
			return l
		}
		lba, blocks, group := line("Logical Block Address (LBA): %d", r.LBA), line("Transfer Length: %d", r.Blocks), line("Group: 0x%02x", r.Group)
		show(r.Put(&cdb), nil, nil, append(flags(verb+"(10)"), lba, group, blocks)...)
		r.Blocks = rng.Uint32()
		blocks = line("Transfer Length: %d", r.Blocks)
		if err := r.PutSize(&cdb, 12); err != nil {
			t.Error(err)
		}
		show(12, nil, nil, append(flags(verb+"(12)"), lba, blocks, group)...)
		r.LBA = rng.Uint64()
		show(r.Put(&cdb), nil, nil, append(flags(verb+"(16)"), line("Logical Block Address (LBA): %016x", r.LBA), blocks, group)...)
		// tshark shows 20 of the 21 bits of this LBA.
		small := RW{Write: r.Write, LBA: uint64(rng.IntN(1 << 20)), Blocks: uint32(1 + rng.IntN(255))}
		if err := small.PutSize(&cdb, 6); err != nil {
			t.Error(err)
		}
		show(6, nil, nil, "SCSI CDB "+verb+"(6)", line("Logical Block Address (LBA): %d", small.LBA), line("Transfer Length: %d", small.Blocks))
	}

	show((&SyncCache{Immediate: true, LBA: 77, Blocks: 88, Group: 9}).Put(&cdb), nil, nil,
		"SCSI CDB Synchronize Cache(10)", "Immediate: True", "Logical Block Address (LBA): 77", "Group: 0x09", "Transfer Length: 88")
	show((&SyncCache{LBA: 1 << 33, Blocks: 88}).Put(&cdb), nil, nil,
		"SCSI CDB Synchronize Cache(16)", "Immediate: False", "Logical Block Address (LBA): 0000000200000000", "Transfer Length: 88")
	show((&WriteSame{Unmap: true, Protect: 2, LBA: 77, Blocks: 88}).Put(&cdb), nil, nil,
		"SCSI CDB Write Same(10)", "WRPROTECT: 0x2", "ANCHOR: False", "UNMAP: True", "Logical Block Address (LBA): 77", "Allocation Length: 88")
	show((&WriteSame{Anchor: true, Unmap: true, LBA: 77, Blocks: 1 << 20}).Put(&cdb), nil, nil,
		"SCSI CDB Write Same(16)", "ANCHOR: True", "UNMAP: True", "Logical Block Address (LBA): 000000000000004d", "Transfer Length: 1048576")
	var buf [64]byte
	n, err := PutUnmapList(buf[:], []Extent{{1 << 40, 7}, {3, 4}})
	if err != nil {
		t.Error(err)
	}
	show((&Unmap{Anchor: true, Group: 3, ParameterListLength: uint16(n)}).Put(&cdb), buf[:n], nil,
		"SCSI CDB Unmap", "ANCHOR: True", "Group: 0x03", "Allocation Length: 40", "Data Length: 38", "Block Descriptor Data Length: 32",
		"LBA: 1099511627776", "Num Blocks: 7", "LBA: 3", "Num Blocks: 4")

	c := Capacity{LastLBA: 0x123456, BlockSize: 4096, Protected: true, ProtectionType: 2, PIExponent: 3, PhysicalExponent: 4,
		Provisioned: true, ReadsZeros: true, LowestAligned: 9}
	show(PutReadCapacity10(&cdb), nil, c.Append10(nil), "SCSI CDB Read Capacity(10)", "LBA: 1193046 (4660 MB)", "Block size in bytes: 4096")
	show((&ReadCapacity16{32}).Put(&cdb), nil, c.Append16(nil), "Service Action: Read Capacity(16) (0x10)", "Allocation Length: 32",
		"Logical Block Address: 1193046 (4660 MB)", "Block size in bytes: 4096", "PROT_EN: True", "PTYPE: Type 3 protection (2)", "P_I_EXPONENT: 3",
		"LOGICAL_BLOCKS_PER_PHYSICAL_BLOCK_EXPONENT: 4", "LBPME (logical block provisioning management enabled) / TPE: True",
		"LBPRZ (logical block provisioning read zeros) / TPRZ: True", "LOWEST_ALIGNED_LBA: 9")
	show((&ReportLUNs{ReportAll, 4096}).Put(&cdb), nil, AppendLUNList(nil, []LUN{0, FlatLUN(300), PeripheralLUN(7)}),
		"SCSI CDB Report LUNs", "Select Report: Select All LUNs accessible to this I_T nexus (0x02)", "Allocation Length: 4096",
		"LUN List Length: 24", "LUN: 0x0000", "Address Mode: Flat Space Addressing Method (0x1)", "LUN: 0x012c", "LUN: 0x0007")
	show((&RequestSense{true, 96}).Put(&cdb), nil, nil, "SCSI CDB Request Sense", "Allocation Length: 96")
	show((&Inquiry{EVPD: true, Page: 0x83, AllocationLength: 252}).Put(&cdb), nil, nil, "SCSI CDB Inquiry", "CMDT = 0, EVPD = 1",
		"EVPD Page Code: Device Identification Page (0x83)", "Allocation Length: 252")
	show(PutTestUnitReady(&cdb), nil, nil, "SCSI CDB Test Unit Ready")

	h := ModeHeader{WriteProtected: true, DPOFUA: true, HasDescriptor: true, Descriptor: ModeBlockDescriptor{1000, 512}}
	pages := (&CachingPage{WriteCache: true, NoReadAhead: true}).Append(nil)
	// TAS and QERR have moved since the version of the standard that tshark reads the control page by.
	pages = (&ControlPage{TaskSetType: 1, GlobalLogOff: true, QueueAlgorithm: 1, SoftwareProtect: true, BusyTimeout: 30, SelfTestTime: 40}).Append(pages)
	pageLines := []string{"Caching Mode Page", "Disc: False", "WCE: True", "RCD: False", "FSW: False", "DRA: True", "Control Mode Page",
		"Task Set Type: Task Set Per Initiator Per LU (1)", "Global Logging Target Save Disable: True",
		"Queue Algorithm Modifier: Unrestricted reordering (0x1)", "SWP: True", "Busy Timeout Period (ms): 3000", "Extended Self-Test Completion Time: 40"}
	show((&ModeSense{Page: ModePageAll, AllocationLength: 200}).Put(&cdb), nil, h.AppendModeData(nil, false, pages),
		append([]string{"SCSI CDB Mode Sense(6)", "DBD = 0", "Page Control: Current Values (0)", "SPC-2 Page Code: Return All Mode Pages (0x3f)",
			"Allocation Length: 200", "Mode Data Length: 43", "Device-Specific Parameter: 0x90", "Block Descriptor Length: 8", "No. of Blocks: 1000",
			"Block Length: 512"}, pageLines...)...)
	ten := ModeSense{Ten: true, LLBAA: true, DBD: true, Control: PageDefault, Page: ModePageAll, AllocationLength: 2000}
	tenLines := []string{"SCSI CDB Mode Sense(10)", "LLBAA = 16, DBD = 8", "Page Control: Default Values (2)", "Allocation Length: 2000"}
	show(ten.Put(&cdb), nil, h.AppendModeData(nil, true, pages), append(append(tenLines, "Mode Data Length: 46", "Device-Specific Parameter: 0x90",
		"LongLBA: 0", "Block Descriptor Length: 8", "No. of Blocks: 1000", "Block Length: 512"), pageLines...)...)
	h.LongLBA = true
	show(ten.Put(&cdb), nil, h.AppendModeData(nil, true, pages), append(append(tenLines, "Mode Data Length: 54", "LongLBA: 1",
		"Block Descriptor Length: 16", "No. of Blocks: 1000", "Block Length: 512"), pageLines...)...)

	e := (&SupportedCommand{Opcode: OpServiceActionIn, HasServiceAction: true, ServiceAction: 0x10, Length: 16}).Append(nil)
	e = (&SupportedCommand{Opcode: OpRead10, Length: 10, HasTimeouts: true, Timeouts: Timeouts{0, 3, 60}}).Append(e)
	show((&ReportSupported{Timeouts: true, AllocationLength: 999}).Put(&cdb), nil, append(AppendSupportedHeader(nil, uint32(len(e))), e...),
		"Service Action: Report Supported Opcodes (0x0c)", "RCTD: True", "Reporting Options: Report ALL opcodes (0x0)", "Allocation Length: 999",
		"Command Data Length: 28", "Service Action: 16", "CTDP: False", "SERVACTV: True", "CDB Length: 16",
		"SBC Opcode: Read(10) (0x28)", "CTDP: True", "SERVACTV: False", "CDB Length: 10", "Timeout Descriptor Length: 10",
		"Nominal Command Processing Timeout: 3", "Recommended Command Timeout: 60")
	read16, _ := LookupCommand(OpServiceActionIn, SAReadCapacity16)
	show((&ReportSupported{Options: ReportByAction, Opcode: OpServiceActionIn, ServiceAction: 0x10, AllocationLength: 999}).Put(&cdb), nil,
		(&OneCommand{Support: SupportStandard, Usage: read16.Usage[:read16.Length]}).Append(nil),
		"Requested Operation Code: 0x9e", "Requested Service Action: 0x0010", "Allocation Length: 999", "CTDP: False",
		"Support: 3", "CDB Length: 16", "CDB Usage Data: 9e100000000000000000ffffffff0000")

	x.compare(t)
}
