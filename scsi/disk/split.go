package disk

import "minisrp/miniport"

// begin checks a request and works out what it covers. It returns how the request ends when there is nothing to
// send: with an error, or with nil and no blocks left. It computes.
func (r *Request) begin(v *view) error {
	w := &r.work
	w.lba, w.left, w.segment, w.at, w.part, w.slots = 0, 0, 0, 0, 0, 0
	w.sync, w.err = false, nil
	switch r.Op {
	case Flush:
		w.left = 1
		return nil
	case Read, Write, Unmap, WriteZeroes, Prefetch:
	case Status:
		if cap(r.Extents) == 0 {
			return ErrInvalid
		}
		r.Extents = r.Extents[:0]
	default:
		return ErrInvalid
	}
	if (r.Offset|r.Length)&uint64(v.info.LogicalBlock-1) != 0 {
		return ErrAlignment
	}
	if r.Offset > v.info.Size || r.Length > v.info.Size-r.Offset {
		return ErrRange
	}
	if r.Op.changes() && v.info.ReadOnly {
		return ErrReadOnly
	}
	if (r.Op == Read || r.Op == Write) && !r.sound() {
		return ErrInvalid
	}
	w.lba, w.left = r.Offset>>v.shift, r.Length>>v.shift
	if r.Op == Unmap {
		w.lba, w.left = v.granules(w.lba, w.left)
	}
	w.part = max(bulkPart>>v.shift, (w.left+bulkParts-1)/bulkParts)
	return nil
}

// changes reports whether an operation changes the disk.
func (o Op) changes() bool { return o == Write || o == Unmap || o == WriteZeroes }

// sound reports whether the segments are in their regions and Length bytes in all.
func (r *Request) sound() bool {
	left := r.Length
	for i := range r.Data {
		s := &r.Data[i]
		if s.Region == nil || s.Length == 0 || uint64(s.Length) > left {
			return false
		}
		if size := s.Region.Size(); s.Offset > size || uint64(s.Length) > size-s.Offset {
			return false
		}
		left -= uint64(s.Length)
	}
	return left == 0
}

// granules narrows a range to whole granules of unmapping (SBC-4 4.7.3.4); the last one of the disk may be
// short. The result may be empty.
func (v *view) granules(lba, count uint64) (uint64, uint64) {
	g, a := uint64(v.info.UnmapGranularity), uint64(v.info.UnmapAlignment)
	if g <= 1 || count == 0 {
		return lba, count
	}
	end := lba + count
	first, last := lba, end
	if lba > a {
		first = a + (lba-a+g-1)/g*g
	} else if lba != 0 {
		first = a
	}
	if end != v.count {
		if last = 0; end >= a {
			last = a + (end-a)/g*g
		}
	}
	if last <= first {
		return lba, 0
	}
	return first, last - first
}

// whole returns how many of left blocks from lba make up a command that takes most: if not all of them, then up to
// the end of a granule.
func (v *view) whole(lba, left, most uint64) uint64 {
	if left <= most {
		return left
	}
	g, a := uint64(v.info.UnmapGranularity), uint64(v.info.UnmapAlignment)
	if end := lba + most; g > 1 && end >= a {
		if over := (end - a) % g; over < most {
			return most - over
		}
	}
	return most
}

// cut takes the next command's blocks and segments off a Read or Write and returns the number of blocks, 0 when
// less than a block is in as many segments as a command can have. It fills in segments.
func (r *Request) cut(v *view, segments []miniport.Segment) (blocks uint32, used int, bytes uint32) {
	w := &r.work
	most := uint32(min(uint64(v.maxBlocks), w.left)) << v.shift
	have := uint32(0)
	for i, at := w.segment, w.at; have < most && used < len(segments); i, at = i+1, 0 {
		s := r.Data[i]
		s.Offset += uint64(at)
		s.Length = min(s.Length-at, most-have)
		segments[used] = s
		used++
		have += s.Length
	}
	blocks = have >> v.shift
	if end := w.lba + uint64(blocks); uint64(blocks) < w.left && v.physical > 1 && end > uint64(v.lowest) {
		// A boundary between commands within a physical block would have it read and written twice.
		if over := uint32((end - uint64(v.lowest)) % uint64(v.physical)); over < blocks {
			blocks -= over
		}
	}
	bytes = blocks << v.shift
	for have > bytes {
		last := &segments[used-1]
		if over := have - bytes; over < last.Length {
			last.Length -= over
			break
		}
		have -= last.Length
		used--
	}
	w.advance(r.Data, bytes)
	w.lba += uint64(blocks)
	w.left -= uint64(blocks)
	return blocks, used, bytes
}

// advance moves the place in the data on.
func (w *work) advance(data []miniport.Segment, n uint32) {
	for n > 0 {
		if rest := data[w.segment].Length - w.at; n < rest {
			w.at += n
			return
		} else {
			n -= rest
		}
		w.segment++
		w.at = 0
	}
}
