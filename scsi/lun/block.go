package lun

import "minisrp/scsi"

// blocks checks a range of blocks, and makes it bytes.
func (t *Task) blocks(fc *facts, lba, n uint64) bool {
	if lba > fc.blocks || n > fc.blocks-lba {
		return false
	}
	t.off, t.length = lba<<fc.shift, n<<fc.shift
	return true
}

// beyondEnd refuses blocks that the unit does not have.
func (t *Task) beyondEnd(lba uint64) Verdict {
	s := scsi.MakeSense(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
	s.InformationValid, s.Information = true, lba
	return t.check(s)
}

// lengthField is where the length of a block command is in its CDB, by the group of its operation code.
var lengthField = [8]uint8{0: 4, 1: 7, 2: 7, 3: 28, 4: 10, 5: 6}

// badLength refuses the number of blocks.
func (t *Task) badLength() Verdict {
	at := lengthField[t.CDB[0]>>5]
	if t.CDB[0] == byte(scsi.OpCompareAndWrite) {
		at = 13
	}
	return t.badField(int(at), -1)
}

// span takes over the blocks of a command that moves or checks them all at a time. Verdict is Finished if there is
// nothing to do, be it that they cannot be had.
func (t *Task) span(fc *facts, lba uint64, blocks uint32) Verdict {
	switch {
	case !t.blocks(fc, lba, uint64(blocks)):
		return t.beyondEnd(lba)
	case t.length > MaxTransfer:
		return t.badLength()
	case t.length == 0:
		return t.end(scsi.StatusGood)
	}
	return Proceed
}

// through says whether a command goes through to the medium: FUA does so, and so does a write without write cache.
func (t *Task) through(fc *facts, fua, write bool) bool {
	return fc.info.Volatile && (fua || write && !t.unit.modes.means.writeCache)
}

// take makes n bytes of data from the initiator a part of the plan. A command that the initiator has not given enough
// data for is refused as a whole: part of it would be a block of unknown content.
func (t *Task) take(n uint32) Verdict {
	t.Out, t.wanted = n, int64(n)
	if t.OutLength < n {
		return t.badLength()
	}
	return Proceed
}

// readWrite prepares READ and WRITE of 6 to 32 bytes (SBC-4 5.15, 5.40).
func (s *Server) readWrite(t *Task) Verdict {
	c, err := scsi.ParseRW(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	fc := t.unit.facts.Load()
	if v := t.span(fc, c.LBA, c.Blocks); v == Finished {
		return v
	}
	n := uint32(t.length)
	t.wanted, t.fua = int64(n), t.through(fc, c.FUA, c.Write)
	m := &t.unit.memory
	w := m.Load
	if c.Write {
		t.kind, w = kindWrite, m.Save
		if v := t.take(n); v == Finished {
			return v
		}
	} else {
		t.kind = kindRead
		if t.In = min(n, t.InLength); t.In == 0 {
			return t.end(scsi.StatusGood)
		}
	}
	if m.Memory != nil {
		t.Mapped, t.Window = true, w.At(t.off)
	}
	return Proceed
}

// worked says whether a worker would change blocks of a memory that READ and WRITE move at Dispatch: they would then
// see parts of a block.
func (t *Task) worked() bool { return t.unit.memory.Memory != nil }

// syncCache prepares SYNCHRONIZE CACHE (SBC-4 5.33). All of the cache is written, not the blocks named only, and the
// answer comes after that also with IMMED: that is later than it could be, and says more.
func (s *Server) syncCache(t *Task) Verdict {
	c, err := scsi.ParseSyncCache(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	fc := t.unit.facts.Load()
	if !t.blocks(fc, c.LBA, uint64(c.Blocks)) {
		return t.beyondEnd(c.LBA)
	}
	t.kind = kindFlush
	if !fc.info.Volatile {
		t.good()
		return Finished
	}
	return Proceed
}

// unmap prepares UNMAP (SBC-4 5.37). The worker reads the list.
func (s *Server) unmap(t *Task) Verdict {
	c, err := scsi.ParseUnmap(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	t.kind = kindUnmap
	n := uint32(c.ParameterListLength)
	t.wanted = int64(n)
	switch {
	case n == 0:
		t.good()
		return Finished
	case n < 8 || n > MinBuffer:
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCParameterListLength)
	}
	t.whole, t.exclusive = true, t.worked() // whole, as the worker reads the list
	t.fua = t.through(t.unit.facts.Load(), false, true)
	return t.take(n)
}

// writeSame prepares WRITE SAME (SBC-4 5.49). Zero blocks do not mean all that are left: WSNZ is 1.
func (s *Server) writeSame(t *Task) Verdict {
	c, err := scsi.ParseWriteSame(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	fc := t.unit.facts.Load()
	if !t.blocks(fc, c.LBA, uint64(c.Blocks)) {
		return t.beyondEnd(c.LBA)
	}
	if c.Blocks == 0 || t.length > maxWriteSameBytes {
		return t.badLength()
	}
	t.kind, t.exclusive, t.hole, t.noData = kindWriteSame, t.worked(), c.Unmap, c.NoData
	t.fua = t.through(fc, false, true)
	if c.NoData {
		return Proceed
	}
	return t.take(fc.info.BlockSize)
}

// readCapacity10 prepares READ CAPACITY(10) (SBC-4 5.19).
func (s *Server) readCapacity10(t *Task) Verdict {
	return t.answer(t.unit.facts.Load().capacity10, scsi.Capacity10Size)
}

// readCapacity16 prepares READ CAPACITY(16) (SBC-4 5.20).
func (s *Server) readCapacity16(t *Task) Verdict {
	c, err := scsi.ParseReadCapacity16(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	return t.answer(t.unit.facts.Load().capacity16, c.AllocationLength)
}
