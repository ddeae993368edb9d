package lun

import (
	"context"
	"math"

	"minisrp/scsi"
)

// getLBAStatus prepares GET LBA STATUS(16) (SBC-4 5.6). All kinds of status are told, whatever the report type.
func (s *Server) getLBAStatus(t *Task) Verdict {
	c, err := scsi.ParseGetLBAStatus(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	fc := t.unit.facts.Load()
	if c.LBA >= fc.blocks {
		return t.beyondEnd(c.LBA)
	}
	t.off = c.LBA << fc.shift
	return t.reportTo(kindLBAStatus, c.AllocationLength)
}

// reportTo plans to hand out what the worker will find, MinBuffer bytes at most, cut to the allocation length.
func (t *Task) reportTo(k kind, allocation uint32) Verdict {
	t.kind = k
	t.wanted = int64(min(allocation, MinBuffer))
	if t.In = min(uint32(t.wanted), t.InLength); t.In == 0 {
		t.wanted = 0
		return t.end(scsi.StatusGood)
	}
	return Proceed
}

// tell hands out what the worker has found.
func (t *Task) tell(b []byte) {
	t.wanted = min(t.wanted, int64(len(b)))
	t.In = min(t.In, uint32(t.wanted))
	scatter(t.Data, b[:t.In])
}

// workLBAStatus tells how the blocks are provisioned, as far as the initiator has room for it.
func (u *Unit) workLBAStatus(ctx context.Context, t *Task) scsi.Sense {
	fc := u.facts.Load()
	size := fc.blocks << fc.shift
	most := max(1, (int(t.wanted)-scsi.LBAStatusHeaderSize)/scsi.LBAStatusSize)
	sparse, isSparse := find[Sparse](u.store)
	var entries []scsi.LBAStatus
	for off := t.off; off < size; {
		hole, n := false, size-off
		if isSparse {
			var err error
			if hole, n, err = sparse.Extent(ctx, off); err != nil {
				return u.senseOf(err, scsi.ASCUnrecoveredRead)
			}
			hole, n = wholeBlocks(hole, n, size-off, uint64(fc.info.BlockSize))
		}
		status := scsi.LBAMappedOrUnknown
		if hole {
			status = scsi.LBADeallocated
		}
		blocks := min(n>>fc.shift, math.MaxUint32)
		last := len(entries) - 1
		switch {
		case last >= 0 && entries[last].Status == status && uint64(entries[last].Blocks)+blocks <= math.MaxUint32:
			entries[last].Blocks += uint32(blocks)
		case len(entries) == most:
			off = size
			continue
		default:
			entries = append(entries, scsi.LBAStatus{LBA: off >> fc.shift, Blocks: uint32(blocks), Status: status})
		}
		off += blocks << fc.shift
	}
	b := scsi.AppendLBAStatusHeader(nil, len(entries))
	for i := range entries {
		b = entries[i].Append(b)
	}
	t.tell(b)
	return scsi.Sense{}
}

// wholeBlocks makes n bytes blocks, within the left ones: a block of which a part takes space takes space.
func wholeBlocks(hole bool, n, left, block uint64) (bool, uint64) {
	n = min(max(n, 1), left)
	if hole && n >= block {
		return true, n / block * block
	}
	return false, (n + block - 1) / block * block
}
