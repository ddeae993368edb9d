package disk

import (
	"math"
	"sync/atomic"
	"time"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// kind is what a slot does.
type kind uint8

const (
	kindRead kind = iota
	kindWrite
	kindUnmap
	kindZero
	kindSync
	kindStatus
	kindPrefetch
	kindControl // a command of the identification
)

// slot is a command at the unit: one SRB with its memory, and the range of its request that it works off. A read or
// write is one command; an unmap or zeroing may be several, one after the other, and change their form when
// the unit refuses one.
//
// Ownership: of the lane's processor. The SRB is the port's while it is at the unit.
type slot struct {
	// Fixed after construction.
	list   miniport.Segment // memory for UNMAP's parameter list
	answer chan struct{}    // of the control slot: capacity 1

	lane     *lane // that has it
	srb      miniport.SRB
	segments [MaxSegments]miniport.Segment
	next     *slot // in a list, or on the way from another processor

	request *Request // nil for kindControl
	kind    kind
	lba     uint64 // what is left: from here,
	left    uint64 // so many blocks
	count   uint64 // blocks of the command
	form    caps   // what the command relies on

	sense    scsi.Sense
	hasSense bool
	since    time.Duration // first try of this command
	tried    uint8         // times, 0: not yet
	tries    [classes]uint8

	// The control slot's, valid when answer says so.
	asked   atomic.Bool // to be started
	failed  bool
	failure Error
}

// Link is where the queue between processors keeps its link.
func (s *slot) Link() **slot { return &s.next }

// slotList is a FIFO of slots.
type slotList struct{ head, tail *slot }

func (q *slotList) push(s *slot) {
	s.next = nil
	if q.tail == nil {
		q.head = s
	} else {
		q.tail.next = s
	}
	q.tail = s
}

func (q *slotList) pop() *slot {
	s := q.head
	if s == nil {
		return nil
	}
	if q.head = s.next; q.head == nil {
		q.tail = nil
	}
	s.next = nil
	return s
}

// take empties the list into another.
func (q *slotList) take() slotList {
	all := *q
	*q = slotList{}
	return all
}

// init makes a slot. list is its memory.
func (s *slot) init(list miniport.Segment) {
	s.list = list
	s.srb.Owner = s
	s.srb.Done = srbDone
}

// begin gives the slot the next part of a request. It reports false when its data cannot be sent.
func (s *slot) begin(v *view, r *Request) bool {
	w := &r.work
	s.request = r
	s.fresh()
	switch r.Op {
	case Read, Write:
		s.kind = kindRead
		if r.Op == Write {
			s.kind = kindWrite
		}
		s.lba = w.lba
		blocks, used, bytes := r.cut(v, s.segments[:s.lane.disk.options.MaxSegments])
		s.left, s.count = uint64(blocks), uint64(blocks)
		s.srb.Data, s.srb.Length = s.segments[:used], bytes
		return blocks != 0
	case Flush:
		s.sync()
		w.left = 0
		return true
	case Status, Prefetch: // one after the other: each tells where the next begins, or there is no hurry
		s.kind = kindStatus
		if r.Op == Prefetch {
			s.kind = kindPrefetch
		}
		s.lba, s.left = w.lba, w.left
		w.left = 0
		return true
	}
	s.kind = kindUnmap
	if r.Op == WriteZeroes {
		s.kind = kindZero
	}
	s.lba, s.left = w.lba, v.whole(w.lba, w.left, w.part)
	w.lba += s.left
	w.left -= s.left
	return true
}

// sync makes the slot flush the unit.
func (s *slot) sync() {
	s.kind = kindSync
	s.lba, s.left = 0, 1
	s.fresh()
}

// fresh is for a new command: what there was to retry is over.
func (s *slot) fresh() {
	s.tried = 0
	s.tries = [classes]uint8{}
}

// build says to the SRB what comes next. It reports false when there is nothing to send, and why.
func (s *slot) build(v *view, can caps) (send bool, meaning error) {
	b := &s.srb
	s.form = 0
	b.Timeout = 0
	switch s.kind {
	case kindRead, kindWrite:
		s.buildRW(v, can)
		return true, nil
	case kindSync:
		return s.buildSync(v, can)
	case kindUnmap:
		return s.buildUnmap(v, can), nil
	case kindZero:
		if s.request.Fast && !s.leavesHole(v, can) {
			return false, ErrSlow
		}
		s.buildZero(v, can)
		return true, nil
	case kindStatus:
		return s.buildStatus(can), nil
	case kindPrefetch:
		return s.buildPrefetch(v, can), nil
	}
	return true, nil
}

// buildRW writes the CDB for the data that the SRB has already.
func (s *slot) buildRW(v *view, can caps) {
	b := &s.srb
	rw := scsi.RW{Write: s.kind != kindRead, LBA: s.lba, Blocks: uint32(s.count)}
	b.Direction = miniport.DataIn
	if rw.Write {
		b.Direction = miniport.DataOut
		s.durable(v, can)
		rw.FUA = s.form&canFUA != 0
	}
	b.CDBLength = uint8(rw.Put(&b.CDB))
}

// durable chooses how a write becomes durable, if it is to: by the FUA bit, else by a flush after the last one.
func (s *slot) durable(v *view, can caps) {
	if !s.request.FUA || !v.cached() {
		return
	}
	if can&canFUA != 0 {
		s.form |= canFUA
	} else {
		s.request.work.sync = true
	}
}

// buildSync flushes all of the unit: that is the form that every initiator uses, and so every unit gets right.
// A unit that does not say whether it has a cache, and has no command to flush one, has none.
func (s *slot) buildSync(v *view, can caps) (send bool, meaning error) {
	b := &s.srb
	var c scsi.SyncCache
	switch {
	case can&canSync10 != 0:
		s.form = canSync10
		b.CDBLength = uint8(c.Put(&b.CDB))
	case can&canSync16 != 0:
		s.form = canSync16
		b.CDBLength = uint8(c.Put16(&b.CDB))
	case v.info.WriteCache == CacheOn:
		return false, ErrUnsupported
	default:
		return false, nil
	}
	s.count = 1
	s.noData()
	b.Timeout = flushTimeout
	return true, nil
}

func (s *slot) noData() {
	s.srb.Direction, s.srb.Data, s.srb.Length = miniport.NoData, nil, 0
}

// buildUnmap reports false when the unit knows no command for it: unmapping is a hint.
func (s *slot) buildUnmap(v *view, can caps) bool {
	b := &s.srb
	b.Timeout = bulkTimeout
	switch {
	case can&canUnmap != 0:
		s.form = canUnmap
		s.count = v.whole(s.lba, s.left, v.unmapBlocks)
		var extents [unmapDescriptors]scsi.Extent
		n := 0
		for lba, left := s.lba, s.count; left > 0 && n < len(extents); n++ {
			each := min(left, uint64(v.unmapEach))
			extents[n] = scsi.Extent{LBA: lba, Blocks: uint32(each)}
			lba += each
			left -= each
		}
		size, _ := scsi.PutUnmapList(s.list.Bytes(), extents[:n])
		c := scsi.Unmap{ParameterListLength: uint16(size)}
		b.CDBLength = uint8(c.Put(&b.CDB))
		s.data(miniport.Segment{Region: s.list.Region, Offset: s.list.Offset, Length: uint32(size)})
	case can&canUnmapBySame16 != 0:
		s.buildSame16(v, can, canUnmapBySame16)
	case can&canUnmapBySame10 != 0 && s.fits10(v):
		s.buildSame10(v, canUnmapBySame10)
	default:
		return false
	}
	if s.request.FUA && v.cached() {
		s.request.work.sync = true
	}
	return true
}

// leavesHole says whether buildZero takes a form that unmaps: the only one that is known to write nothing.
func (s *slot) leavesHole(v *view, can caps) bool {
	if !s.request.MayUnmap || !v.info.LBPRZ {
		return false
	}
	return can&canUnmapBySame16 != 0 || can&canUnmapBySame10 != 0 && s.fits10(v)
}

// buildZero takes the form that costs least and still zeros for certain. Unmapped blocks read as zeros only on a
// unit with LBPRZ.
func (s *slot) buildZero(v *view, can caps) {
	hole := s.request.MayUnmap && v.info.LBPRZ
	switch {
	case hole && can&canUnmapBySame16 != 0:
		s.buildSame16(v, can, canUnmapBySame16)
	case hole && can&canUnmapBySame10 != 0 && s.fits10(v):
		s.buildSame10(v, canUnmapBySame10)
	case can&canSame16 != 0:
		s.buildSame16(v, can, 0)
	case can&canSame10 != 0 && s.fits10(v):
		s.buildSame10(v, 0)
	default:
		s.buildZeroWrite(v, can)
		return
	}
	s.srb.Timeout = bulkTimeout
	if s.request.FUA && v.cached() {
		s.request.work.sync = true
	}
}

// buildSame16 writes WRITE SAME(16), without data where the unit knows that.
func (s *slot) buildSame16(v *view, can caps, unmap caps) {
	s.form = canSame16 | unmap
	s.count = v.whole(s.lba, s.left, v.same16)
	c := scsi.WriteSame{Unmap: unmap != 0, LBA: s.lba, Blocks: uint32(s.count)}
	if can&canNoData != 0 {
		s.form |= canNoData
		c.NoData = true
		s.noData()
	} else {
		s.zeroBlock(v)
	}
	s.srb.CDBLength = uint8(c.Put16(&s.srb.CDB))
}

func (s *slot) buildSame10(v *view, unmap caps) {
	s.form = canSame10 | unmap
	s.count = v.whole(s.lba, s.left, v.same10)
	c := scsi.WriteSame{Unmap: unmap != 0, LBA: s.lba, Blocks: uint32(s.count)}
	s.zeroBlock(v)
	s.srb.CDBLength = uint8(c.Put(&s.srb.CDB))
}

// fits10 says whether the next WRITE SAME(10) can name its blocks.
func (s *slot) fits10(v *view) bool {
	return s.lba+min(s.left, v.same10) <= math.MaxUint32
}

// zeroBlock makes a block of zeros the SRB's data.
func (s *slot) zeroBlock(v *view) {
	z := s.lane.disk.stock.memory.zeros
	z.Length = v.info.LogicalBlock
	s.data(z)
}

// data makes one segment all of the SRB's data, to the unit.
func (s *slot) data(d miniport.Segment) {
	s.segments[0] = d
	s.srb.Direction, s.srb.Data, s.srb.Length = miniport.DataOut, s.segments[:1], d.Length
}

// buildZeroWrite writes zeros as data: each segment is the same memory.
func (s *slot) buildZeroWrite(v *view, can caps) {
	zeros := s.lane.disk.stock.memory.zeros
	most := uint64(s.lane.disk.options.MaxSegments) * uint64(zeros.Length) >> v.shift
	s.count = min(s.left, uint64(v.maxBlocks), most)
	left := uint32(s.count << v.shift)
	s.srb.Length = left
	n := 0
	for ; left > 0; n++ {
		s.segments[n] = zeros
		s.segments[n].Length = min(left, zeros.Length)
		left -= s.segments[n].Length
	}
	s.srb.Data = s.segments[:n]
	s.buildRW(v, can)
}

// refused returns which form of the command a unit that does not take it does not know, 0 when it is not the form.
// A code says which field it is about at best, so what is least common is given up first.
func (s *slot) refused() caps {
	if s.sense.ASC == scsi.ASCInvalidOpcode {
		if s.kind == kindRead || s.form == canFUA {
			return 0
		}
		return s.form
	}
	for _, c := range [...]caps{canNoData, canUnmapBySame16, canUnmapBySame10} {
		if s.form&c != 0 {
			return c
		}
	}
	return s.form
}

// verdict judges how the SRB ended.
func (s *slot) verdict() verdict {
	b := &s.srb
	s.hasSense = false
	if b.Status == miniport.StatusError {
		sense, err := scsi.ParseSense(b.Sense())
		s.sense, s.hasSense = sense, err == nil
	}
	v := judge(b.Status, b.SCSIStatus, &s.sense, s.hasSense)
	if v.class == classGood && b.Transferred < b.Length && s.moves() {
		// SRP counts what was moved, and a READ or WRITE has nothing to leave out.
		v.class, v.meaning = classUnclear, ErrIO
	}
	return v
}

// moves says whether the command is a READ or WRITE.
func (s *slot) moves() bool {
	switch s.kind {
	case kindRead, kindWrite:
		return true
	case kindZero:
		return s.form&(canSame16|canSame10) == 0
	}
	return false
}

// describe fills in an error.
func (s *slot) describe(e *Error, meaning error) {
	b := &s.srb
	*e = Error{
		Op: opControl, CDB: b.CDB, Status: b.Status, SCSIStatus: b.SCSIStatus,
		HasSense: s.hasSense, Sense: s.sense, meaning: meaning,
	}
	if s.tried != 0 {
		e.Retries = s.tried - 1
	}
	if s.request == nil {
		return
	}
	e.Op = s.request.Op
	if s.kind == kindSync {
		return
	}
	e.LBA, e.Blocks = s.lba, uint32(min(s.count, math.MaxUint32))
	if s.hasSense && s.sense.InformationValid {
		if at := s.sense.Information; at >= s.lba && at-s.lba < s.count {
			e.LBA = at
		}
	}
}

// srbDone is told that an SRB is complete.
//
//level:dispatch noalloc
func srbDone(f *dispatch.Frame, b *miniport.SRB) {
	s := b.Owner.(*slot)
	l := s.lane
	if !f.On(l.proc) {
		l.returned.Push(s)
		l.dpc.Queue(f)
		return
	}
	l.back(f, s)
	l.turn(f)
}
