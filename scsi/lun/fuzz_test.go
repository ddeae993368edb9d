package lun_test

import (
	"bytes"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
)

// FuzzCommand sends any CDB to any LUN with any memory. Whatever it is, it ends once, moves no more than the initiator
// gave, and a refused one changes nothing.
func FuzzCommand(f *testing.F) {
	for _, c := range [][]byte{
		make([]byte, 16), cdb32(&scsi.RW{Write: true, LBA: 9, Blocks: 2}), cdb(&scsi.Inquiry{EVPD: true, Page: 0x83, AllocationLength: 255}), cdb(&scsi.RW{LBA: 1, Blocks: 2}),
		cdb(&scsi.RW{Write: true, LBA: 9, Blocks: 2, FUA: true}), cdb(&scsi.RW{Write: true, LBA: 1 << 40, Blocks: 2}),
		cdb(&scsi.Unmap{ParameterListLength: 40}), cdb(&scsi.WriteSame{LBA: 3, Blocks: 5}), cdb(&scsi.WriteSame{NoData: true, Blocks: 64}),
		cdb(&scsi.ModeSense{Ten: true, Page: 63, AllocationLength: 255}), cdb(&scsi.ReportLUNs{AllocationLength: 64}),
		cdb(&scsi.ReportSupported{AllocationLength: 999}), cdb(&scsi.SyncCache{}), cdb(&scsi.RequestSense{AllocationLength: 18}),
		cdb(&scsi.Verify{LBA: 2, Blocks: 2}), cdb(&scsi.Verify{Check: scsi.CheckSame, LBA: 2, Blocks: 9}), cdb(&scsi.Verify{Write: true, LBA: 5, Blocks: 2}),
		cdb(&scsi.ModeSelect{PageFormat: true, ParameterListLength: 24}), cdb(&scsi.StartStop{}), cdb(&scsi.LogSense{Control: 1, Page: 2, AllocationLength: 99}),
		cdb(&scsi.LogSelect{Reset: true}), cdb(&scsi.ReportGroups{AllocationLength: 64}), cdb(&scsi.SetGroups{ParameterListLength: 8}),
		cdb(&scsi.ReportFunctions{Extended: true, AllocationLength: 64}),
		cdb(&scsi.GetLBAStatus{LBA: 7, AllocationLength: 100}), cdb(&scsi.PreFetch{LBA: 7, Blocks: 9}),
		cdb(&scsi.CompareAndWrite{LBA: 7, Blocks: 1}), cdb(&scsi.OrWrite{LBA: 3, Blocks: 2}),
		cdb(&scsi.OrWrite{Wide: true, Operation: scsi.OrClear, LBA: 3, Blocks: 2, New: 9}),
	} {
		f.Add(append(c, make([]byte, scsi.CDBSize-len(c))...), uint64(0), uint16(1024), uint16(1024), uint8(0), unmapList(scsi.Extent{LBA: 4, Blocks: 3}))
	}
	const size = 64 << 10
	f.Fuzz(func(t *testing.T, c []byte, l uint64, in, out uint16, attr uint8, data []byte) {
		if len(c) != scsi.CDBSize {
			return
		}
		for _, over := range []func(lun.Store) lun.Store{
			func(s lun.Store) lun.Store { return s },
			func(s lun.Store) lun.Store { return luntest.Count(&volatile{s}) },
		} {
			store := ram(size)
			disk := pattern(1, size)
			if err := store.Write(t.Context(), [][]byte{disk}, 0, false); err != nil {
				t.Fatal(err)
			}
			s := newServer()
			attach(t, s, 0, lun.Config{Store: over(store)})
			x := newInitiator(t, s)
			x.piece = 4096
			x.attentions(0)
			k := x.command(0, c, append(bytes.Clone(data), make([]byte, max(0, int(out)-len(data)))...)[:out], int(in))
			k.LUN, k.Attribute = scsi.LUN(l), scsi.TaskAttribute(attr)
			k.run()
			if k.In > uint32(in) || k.Out > uint32(out) || len(k.got) > int(in) || k.ended > 1 || k.Quiet {
				t.Fatalf("moved %d and %d of %d and %d, done %d times", k.In, k.Out, in, out, k.ended)
			}
			after := make([]byte, size)
			if err := store.Read(t.Context(), [][]byte{after}, 0); err != nil {
				t.Fatal(err)
			}
			switch k.Status {
			case scsi.StatusGood, scsi.StatusConditionMet:
				if int64(in)-k.InResidual < int64(len(k.got)) {
					t.Fatalf("%d bytes of %d and a residual of %d", len(k.got), in, k.InResidual)
				}
			case scsi.StatusCheckCondition:
				sense, err := scsi.ParseSense(k.Sense())
				if err != nil || sense.Key == scsi.KeyNoSense || len(k.got) != 0 || k.InResidual != int64(in) || k.OutResidual != int64(out) {
					t.Fatalf("sense %v, %v, residuals %d and %d", sense, err, k.InResidual, k.OutResidual)
				}
				if !bytes.Equal(disk, after) {
					t.Fatalf("%v, and the disk has changed", sense)
				}
			default:
				t.Fatalf("status %v", k.Status)
			}
			if !mayWrite(c) && !bytes.Equal(disk, after) {
				t.Fatalf("%v has changed the disk", scsi.CommandName(c))
			}
		}
	})
}

// mayWrite says whether the command may change the blocks.
func mayWrite(cdb []byte) bool {
	switch scsi.Opcode(cdb[0]) {
	case scsi.OpWriteSame10, scsi.OpWriteSame16, scsi.OpUnmap, scsi.OpWriteVerify10, scsi.OpWriteVerify12, scsi.OpWriteVerify16,
		scsi.OpCompareAndWrite:
		return true
	}
	if _, err := scsi.ParseOrWrite(cdb); err == nil {
		return true
	}
	rw, err := scsi.ParseRW(cdb)
	return err == nil && rw.Write
}
