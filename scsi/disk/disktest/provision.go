package disktest

import (
	"minisrp/miniport"
	"minisrp/scsi"
)

// lbaStatus tells runs of blocks that are deallocated or not, as many as fit the answer.
func (u *Unit) lbaStatus(s *miniport.SRB, cdb []byte) scsi.Sense {
	c, err := scsi.ParseGetLBAStatus(cdb)
	switch {
	case !u.Config.LBAStatus:
		return illegal(scsi.ASCInvalidOpcode)
	case err != nil || c.ReportType != 0:
		return illegal(scsi.ASCInvalidFieldInCDB)
	case !u.within(c.LBA, 1):
		return illegal(scsi.ASCLBAOutOfRange)
	}
	n := (int(min(c.AllocationLength, s.Length)) - scsi.LBAStatusHeaderSize) / scsi.LBAStatusSize
	count, _ := u.Config.Capacity.Blocks()
	var runs []scsi.LBAStatus
	for lba := c.LBA; lba < count && len(runs) < n; {
		run := scsi.LBAStatus{LBA: lba}
		hole := u.hole(lba)
		if hole {
			run.Status = scsi.LBADeallocated
		}
		for ; lba < count && u.hole(lba) == hole; lba++ {
			run.Blocks++
		}
		runs = append(runs, run)
	}
	b := scsi.AppendLBAStatusHeader(u.answer[:0], len(runs))
	for i := range runs {
		b = runs[i].Append(b)
	}
	scatter(s, b, uint64(c.AllocationLength))
	return good
}

// hole reports whether a block is deallocated.
func (u *Unit) hole(lba uint64) bool { return lba < uint64(len(u.Unmapped)) && u.Unmapped[lba] }

// mark notes which blocks are deallocated.
func (u *Unit) mark(lba, blocks uint64, hole bool) {
	for ; blocks > 0 && lba < uint64(len(u.Unmapped)); lba, blocks = lba+1, blocks-1 {
		u.Unmapped[lba] = hole
	}
}

// prefetch has everything in the cache already.
func (u *Unit) prefetch(cdb []byte) scsi.Sense {
	c, err := scsi.ParsePreFetch(cdb)
	l := u.Config.Limits
	switch {
	case !u.Config.Prefetch:
		return illegal(scsi.ASCInvalidOpcode)
	case err != nil || l != nil && l.MaxPrefetch != 0 && c.Blocks > l.MaxPrefetch:
		return illegal(scsi.ASCInvalidFieldInCDB)
	case !u.within(c.LBA, uint64(c.Blocks)):
		return illegal(scsi.ASCLBAOutOfRange)
	}
	return good
}
