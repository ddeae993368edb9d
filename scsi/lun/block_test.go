package lun_test

import (
	"bytes"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
)

// What was written with any WRITE is read back with any READ, and nothing beside it has changed.
func TestReadBack(t *testing.T) {
	withUnit(t, func(t *testing.T, x *initiator) {
		x.write(0, pattern(1, 512*testBlock)).good()
		disk := x.read(0, 512*testBlock)
		for i, size := range []int{6, 10, 12, 16, 32} {
			for j, blocks := range []uint32{1, 7, 64} {
				rw := scsi.RW{Write: true, LBA: uint64(3 + 70*i), Blocks: blocks}
				data := pattern(uint64(100+10*i+j), int(blocks)*testBlock)
				var c scsi.CDB
				if err := rw.PutSize(&c, size); err != nil {
					t.Fatal(err)
				}
				x.do(0, c[:], data, 0).good()
				copy(disk[rw.LBA*testBlock:], data)
				if rw.Write = false; rw.PutSize(&c, size) != nil {
					t.Fatal("no READ of this size")
				}
				if got := x.do(0, c[:], nil, len(data)).good().got; !bytes.Equal(got, data) {
					t.Fatalf("READ(%d) after WRITE(%d) of %d blocks differs", size, size, blocks)
				}
			}
		}
		x.expect(0, disk)
	})
}

func TestLargestTransfer(t *testing.T) {
	withUnit(t, func(t *testing.T, x *initiator) {
		data := pattern(7, lun.MaxTransfer)
		x.write(testBlocks-lun.MaxTransfer/testBlock, data).good()
		x.expect(testBlocks-lun.MaxTransfer/testBlock, data)

		c := x.do(0, cdb(&scsi.RW{Blocks: lun.MaxTransfer/testBlock + 1}), nil, lun.MaxTransfer+testBlock)
		c.check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
		if s, _ := scsi.ParseSense(c.Sense()); s.SKS[2] != 10-3 && s.SKS[2] != 7 {
			t.Errorf("field pointer %v, want that of TRANSFER LENGTH", s)
		}
	})
}

func TestBeyondTheEnd(t *testing.T) {
	withUnit(t, func(t *testing.T, x *initiator) {
		last := pattern(3, testBlock)
		x.write(testBlocks-1, last).good()
		for _, rw := range []scsi.RW{
			{LBA: testBlocks, Blocks: 1}, {LBA: testBlocks - 1, Blocks: 2}, {LBA: testBlocks + 1},
			{LBA: 1<<64 - 1, Blocks: 1}, {LBA: 1<<64 - 1, Blocks: 1<<32 - 1}, {LBA: 1 << 55, Blocks: 8},
		} {
			for _, rw.Write = range []bool{false, true} {
				n := int(min(rw.Blocks, 2)) * testBlock
				c := x.do(0, cdb(&rw), make([]byte, n), n).check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
				if s, _ := scsi.ParseSense(c.Sense()); rw.LBA < 1<<32 && (!s.InformationValid || s.Information != rw.LBA) {
					t.Errorf("%+v: information %v", rw, s)
				}
			}
		}
		x.expect(testBlocks-1, last)
		x.do(0, cdb(&scsi.RW{LBA: testBlocks}), nil, 0).good() // nothing, at the end
	})
}

// The residual is the initiator's memory less what the command moves (SPC-5 and SRP r16a 5.3).
func TestResiduals(t *testing.T) {
	withUnit(t, func(t *testing.T, x *initiator) {
		data := pattern(9, 8*testBlock)
		x.write(0, data).good()

		c := x.do(0, cdb(&scsi.RW{Blocks: 8}), nil, testBlock).good() // room for one block of eight
		if !bytes.Equal(c.got, data[:testBlock]) || c.InResidual != -7*testBlock {
			t.Errorf("short room: got %d bytes, residual %d", len(c.got), c.InResidual)
		}
		c = x.do(0, cdb(&scsi.RW{Blocks: 2}), nil, 5*testBlock).good()
		if len(c.got) != 2*testBlock || c.InResidual != 3*testBlock {
			t.Errorf("long room: got %d bytes, residual %d", len(c.got), c.InResidual)
		}
		c = x.do(0, cdb(&scsi.RW{Write: true, Blocks: 1}), data[:3*testBlock], 0).good()
		if c.OutResidual != 2*testBlock {
			t.Errorf("more data than wanted: residual %d", c.OutResidual)
		}
		c = x.do(0, cdb(&scsi.RW{Write: true, Blocks: 8}), pattern(10, testBlock), 0)
		c.check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
		if c.OutResidual != testBlock {
			t.Errorf("less data than wanted: residual %d", c.OutResidual)
		}
		x.expect(0, data) // a write that was refused wrote nothing
		c = x.do(0, cdb(&scsi.Inquiry{AllocationLength: 36}), nil, 96).good()
		if len(c.got) != 36 || c.InResidual != 60 {
			t.Errorf("INQUIRY of 36 into 96: %d bytes, residual %d", len(c.got), c.InResidual)
		}
		c = x.do(0, cdb(&scsi.RW{Blocks: 1}), nil, 0).good()
		if c.InResidual != -testBlock {
			t.Errorf("no room: residual %d", c.InResidual)
		}
	})
}

func TestWriteProtected(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: ram(testSize), ReadOnly: true})
	x := newInitiator(t, s)
	x.attentions(0)
	for _, c := range [][]byte{
		cdb(&scsi.RW{Write: true, Blocks: 1}), cdb(&scsi.WriteSame{Blocks: 1}), cdb(&scsi.Unmap{ParameterListLength: 24}),
	} {
		x.do(0, c, pattern(1, testBlock), 0).check(scsi.KeyDataProtect, scsi.ASCWriteProtected)
	}
	x.expect(0, make([]byte, testBlock))
	h, _, err := scsi.ParseModeData(x.do(0, cdb(&scsi.ModeSense{Page: scsi.ModePageAll, AllocationLength: 255}), nil, 255).good().got, false)
	if err != nil || !h.WriteProtected {
		t.Errorf("mode data %+v, %v, want WP", h, err)
	}
}

func TestNullForgets(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: must(lun.NewNull(1<<50, 4096))})
	for _, immediate := range []bool{false, true} {
		x := newInitiator(t, s)
		x.immediate = immediate
		x.attentions(0)
		x.do(0, cdb(&scsi.RW{Write: true, LBA: 1 << 37, Blocks: 2}), pattern(1, 8192), 0).good()
		if got := x.do(0, cdb(&scsi.RW{LBA: 1 << 37, Blocks: 2}), nil, 8192).good().got; !bytes.Equal(got, make([]byte, 8192)) {
			t.Error("a null unit gave back something")
		}
		x.do(0, cdb(&scsi.SyncCache{}), nil, 0).good()
	}
}

// A variable length CDB is refused when its length is not the command's, or when part of it has not come.
func TestVariableLengthCDB(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: ram(testSize)})
	x := newInitiator(t, s)
	x.attentions(0)
	for name, c := range map[string]struct {
		sent uint8
		at   int
		set  byte
		byte uint16 // that the sense data points at
	}{
		"cut":                    {sent: 16, at: 7, set: 24, byte: 7},
		"too short":              {at: 7, set: 20, byte: 7},
		"too long":               {at: 7, set: 28, byte: 7},
		"unknown service action": {at: 9, set: 0x77, byte: 8},
		"CONTROL":                {at: 1, set: scsi.ControlNACA, byte: 1},
		"protection information": {at: 10, set: 0x20, byte: 10},
		"reserved":               {at: 11, set: 1, byte: 11},
		"reference tag":          {at: 23, set: 1, byte: 23},
	} {
		k := x.command(0, cdb32(&scsi.RW{LBA: 1, Blocks: 1}), nil, testBlock)
		k.CDBLength, k.CDB[c.at] = c.sent, c.set
		s, _ := scsi.ParseSense(k.run().check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB).Sense())
		if p, ok := s.FieldPointer(); !ok || p.Byte != c.byte {
			t.Errorf("%s: %v", name, s)
		}
	}
	k := x.command(0, cdb32(&scsi.RW{LBA: 1, Blocks: 1}), nil, testBlock)
	k.CDBLength = 32
	k.run().good()
}
