package lun

import (
	"context"

	"minisrp/scsi"
)

// preFetch prepares PRE-FETCH (SBC-4 5.13). The answer is CONDITION MET, or GOOD where not all of the blocks are
// fetched. Blocks in memory are there.
func (s *Server) preFetch(t *Task) Verdict {
	c, err := scsi.ParsePreFetch(t.CDB[:])
	if err != nil {
		return t.fail(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	}
	fc := t.unit.facts.Load()
	if !t.blocks(fc, c.LBA, uint64(c.Blocks)) {
		return t.beyondEnd(c.LBA)
	}
	switch {
	case t.length > maxPrefetchBytes:
		return t.badLength()
	case c.Blocks == 0: // all that there are
		t.length = (fc.blocks - c.LBA) << fc.shift
	}
	t.kind, t.soon = kindPreFetch, c.Immediate
	t.met = t.length <= maxPrefetchBytes
	t.length = min(t.length, maxPrefetchBytes)
	if t.unit.memory.Memory != nil {
		t.good()
		return Finished
	}
	return Proceed
}

// workPreFetch has the store fetch the blocks, or reads them.
func (u *Unit) workPreFetch(ctx context.Context, t *Task) scsi.Sense {
	if p, ok := find[Prefetcher](u.store); ok && t.soon {
		return u.senseOf(p.Prefetch(ctx, t.off, t.length), scsi.ASCUnrecoveredRead)
	}
	_, err := u.compare(ctx, nil, t.off, t.length)
	return u.senseOf(err, scsi.ASCUnrecoveredRead)
}
