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

// readWrite prepares READ and WRITE of 6 to 32 bytes (SBC-4 5.15, 5.40).
func (s *Server) readWrite(t *Task) Verdict {
	c, err := scsi.ParseRW(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	fc := t.unit.facts.Load()
	if !t.blocks(fc, c.LBA, uint64(c.Blocks)) {
		return t.beyondEnd(c.LBA)
	}
	if t.length > MaxTransfer {
		return t.badField(scsi.RWLengthField(scsi.Opcode(t.CDB[0])), -1)
	}
	if t.length == 0 {
		return t.end(scsi.StatusGood)
	}
	n := uint32(t.length)
	t.wanted, t.fua = int64(n), c.FUA && fc.info.Volatile
	m := &t.unit.memory
	w := m.Load
	if c.Write {
		// A write that the initiator has not given enough data for is refused as a whole: part of it would be a
		// block of unknown content.
		t.kind = kindWrite
		if t.OutLength < n {
			return t.badField(scsi.RWLengthField(scsi.Opcode(t.CDB[0])), -1)
		}
		t.Out, w = n, m.Save
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
	case t.OutLength < n:
		return t.badField(7, -1)
	}
	t.Out = n
	return Proceed
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
	at := 7
	if scsi.Opcode(t.CDB[0]) == scsi.OpWriteSame16 {
		at = 10
	}
	if c.Blocks == 0 || t.length > maxWriteSameBytes {
		return t.badField(at, -1)
	}
	t.kind, t.hole, t.noData = kindWriteSame, c.Unmap, c.NoData
	if !c.NoData {
		t.Out = fc.info.BlockSize
		t.wanted = int64(t.Out)
		if t.OutLength < t.Out {
			return t.badField(at, -1)
		}
	}
	return Proceed
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
