package scsi

import "testing"

// TestDataPathDoesNotAllocate holds the codecs that run for every command, or for its sense data, to zero
// allocations, their errors included.
func TestDataPathDoesNotAllocate(t *testing.T) {
	var cdb CDB
	var buf [MaxSenseSize]byte
	var extents [4]Extent
	rw := RW{Write: true, LBA: 1 << 33, Blocks: 8, FUA: true}
	sense := Sense{Descriptor: true, Key: KeyIllegalRequest, ASC: ASCLBAOutOfRange, InformationValid: true, Information: 1 << 40}
	sense.SetField(FieldPointer{Byte: FieldRWLBA, Bit: -1})
	err := &SenseError{Status: StatusCheckCondition, HasSense: true, Sense: sense}
	var sink error
	for name, f := range map[string]func(){
		"RW.Put":         func() { rw.Put(&cdb) },
		"RW.PutSize":     func() { sink = rw.PutSize(&cdb, 10) },
		"ParseRW":        func() { _, sink = ParseRW(cdb[:]) },
		"ParseRW short":  func() { _, sink = ParseRW(cdb[:5]) },
		"Sense.Put":      func() { sense.Put(buf[:]) },
		"ParseSense":     func() { _, sink = ParseSense(buf[:]) },
		"ParseSense bad": func() { _, sink = ParseSense(buf[8:]) },
		"SyncCache":      func() { (&SyncCache{}).Put(&cdb); _, sink = ParseSyncCache(cdb[:]) },
		"WriteSame":      func() { (&WriteSame{NoData: true}).Put(&cdb); _, sink = ParseWriteSame(cdb[:]) },
		"Unmap":          func() { (&Unmap{}).Put(&cdb); _, sink = ParseUnmap(cdb[:]) },
		"UNMAP list": func() {
			n, _ := PutUnmapList(buf[:], extents[:])
			l, _ := ParseUnmapList(buf[:n])
			extents[0] = l.At(l.Len() - 1)
		},
		"LUN":             func() { l := LUNFromBytes([8]byte(buf[:8])); l.Unit(); l.Number() },
		"Verify":          func() { (&Verify{}).Put(&cdb); _, sink = ParseVerify(cdb[:]) },
		"CompareAndWrite": func() { (&CompareAndWrite{}).Put(&cdb); _, sink = ParseCompareAndWrite(cdb[:]) },
		"OrWrite":         func() { (&OrWrite{Wide: true}).Put(&cdb); _, sink = ParseOrWrite(cdb[:]) },
		"mode pages": func() {
			b := (&ExceptionsPage{}).Append((&RecoveryPage{}).Append((&ControlPage{}).Append((&CachingPage{}).Append(buf[:0]))))
			h := ModeHeader{LongLBA: true, HasDescriptor: true}
			h.AppendModeData(buf[128:128], true, b)
			_, _, sink = ParseModeList(buf[128:], true)
		},
		"log page": func() {
			b := AppendLogCounter(buf[128:128], LogTotalBytes, 9)
			(&LogPage{Body: b}).Append(buf[:0])
		},
		"LookupCommand": func() { c, _ := LookupCommand(OpRead10, 0); c.Refused(cdb[:]) },
		"SenseError":    func() { sink = err.Unwrap(); err.Is(ErrNoSpace) },
		"Capacity":      func() { c := Capacity{LastLBA: 99}; c.Append16(buf[:0]); _, sink = ParseCapacity16(buf[:32]) },
		"StandardInquiry": func() {
			q := StandardInquiry{Version: 6}
			q.SetText("A", "B", "C")
			q.Append(buf[:0])
		},
		"BlockLimits": func() {
			l := BlockLimits{MaxTransfer: 8}
			v := VPD{Page: VPDBlockLimits, Body: l.Append(buf[100:100])}
			v.Append(buf[:0])
		},
		"designators": func() {
			b := AppendNumberDesignator(buf[:0], DesignatorRelativePort, ProtocolSRP, 1)
			b = AppendNameDesignator(b, NamesPort, ProtocolSRP, "naa.5000")
			AppendT10Designator(b, "MINISRP", "disk0")
		},
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
	_ = sink
}
