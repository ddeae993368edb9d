package disk

import (
	"math"

	"minisrp/miniport"
	"minisrp/scsi"
)

// buildStatus asks how the blocks that are left are provisioned. It reports false, and says that they are all kept,
// when the unit knows no command for it.
func (s *slot) buildStatus(can caps) bool {
	if can&canStatus == 0 {
		s.tell(s.left, 0)
		return false
	}
	s.form = canStatus
	s.count = 0 // known when it is answered
	c := scsi.GetLBAStatus{LBA: s.lba, AllocationLength: s.list.Length}
	s.srb.CDBLength = uint8(c.Put(&s.srb.CDB))
	s.segments[0] = s.list
	s.srb.Direction, s.srb.Data, s.srb.Length = miniport.DataIn, s.segments[:1], s.list.Length
	return true
}

// learn takes what the unit has answered, and leaves in count how many of the blocks it was about, which is all that
// are left when nothing more is to be asked.
func (s *slot) learn(v *view) {
	list, err := scsi.ParseLBAStatus(s.list.Bytes()[:min(s.srb.Transferred, s.list.Length)])
	told := uint64(0)
	for i := 0; err == nil && i < list.Len() && told < s.left; i++ {
		d := list.At(i)
		at := s.lba + told
		if d.LBA > at || at-d.LBA >= uint64(d.Blocks) {
			break // not what comes next
		}
		n := min(uint64(d.Blocks)-(at-d.LBA), s.left-told)
		if !s.tell(n, extentOf(d.Status, v.info.LBPRZ)) {
			s.count = s.left
			return
		}
		told += n
	}
	if told == 0 { // an answer without a use: what is not known is kept
		s.tell(s.left, 0)
		told = s.left
	}
	s.count = told
}

// kept says how the unit keeps blocks.
type kept uint8

const (
	keptHole kept = 1 << iota
	keptZero
)

// extentOf translates a provisioning status (SBC-4 4.7.4). Blocks that the unit keeps space for, and has not been
// given data for, read as those it keeps no space for.
func extentOf(p scsi.ProvisioningStatus, readsZeros bool) kept {
	var k kept
	switch p {
	case scsi.LBADeallocated:
		k = keptHole
	case scsi.LBAAnchored:
	default:
		return 0
	}
	if readsZeros {
		k |= keptZero
	}
	return k
}

// tell adds blocks to the request's extents. It reports false when there is no room.
func (s *slot) tell(blocks uint64, k kept) bool {
	r := s.request
	e := Extent{Length: blocks << s.lane.disk.view.Load().shift, Hole: k&keptHole != 0, Zero: k&keptZero != 0}
	n := len(r.Extents)
	if n > 0 && r.Extents[n-1].Hole == e.Hole && r.Extents[n-1].Zero == e.Zero {
		r.Extents[n-1].Length += e.Length
		return true
	}
	if n == cap(r.Extents) {
		return false
	}
	r.Extents = r.Extents[:n+1]
	r.Extents[n] = e
	return true
}

// buildPrefetch reports false when the unit knows no command for it: prefetching is a hint.
func (s *slot) buildPrefetch(v *view, can caps) bool {
	if can&canPrefetch == 0 {
		return false
	}
	s.form = canPrefetch
	s.count = min(s.left, v.prefetch, math.MaxUint32)
	c := scsi.PreFetch{Immediate: true, LBA: s.lba, Blocks: uint32(s.count)}
	s.srb.CDBLength = uint8(c.Put16(&s.srb.CDB))
	s.noData()
	return true
}
