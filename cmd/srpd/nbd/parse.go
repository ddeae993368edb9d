package nbd

import (
	"context"
	"errors"
	"time"

	"minisrp/miniport"
	"minisrp/scsi/disk"
)

// parse decodes requests until it needs something.
func (c *conn) parse(ctx context.Context) (verdict, error) {
	size := c.terms.style.requestSize()
	for {
		if c.skip > 0 {
			n := min(int(c.skip), c.ring.unparsed())
			c.ring.parsed += uint64(n)
			if c.skip -= uint32(n); c.skip > 0 {
				return needInput, nil
			}
		}
		if c.refused != nil {
			c.answer(c.refused)
			c.refused = nil
		}
		if c.fill != nil {
			if c.filled < c.fill.length {
				return needInput, nil
			}
			c.pending = append(c.pending, c.fill)
			c.fill = nil
		}
		if c.span != nil {
			if !c.nextPiece() {
				return needRoom, nil
			}
			continue
		}
		if c.ring.unparsed() < size {
			return needInput, nil
		}
		if len(c.free) == 0 {
			return needRoom, nil
		}
		b := c.ring.header(size, c.head[:])
		r, ok := decodeRequest(b, c.terms.style)
		switch {
		case !ok:
			return 0, &ProtocolError{"request without its magic number", uint64(b[0])<<24 | uint64(b[1])<<16 | uint64(b[2])<<8 | uint64(b[3])}
		case r.payload > MaxRequest:
			return 0, &ProtocolError{"payload longer than the maximum", r.payload}
		case r.cmd == cmdDisc:
			c.parting = true
			return disconnect, nil
		}
		s := c.free[len(c.free)-1]
		if v, ok := c.decode(ctx, s, &r); !ok {
			return v, nil
		}
	}
}

// decode turns a header into the request of s. When it reports false nothing has
// been consumed.
func (c *conn) decode(ctx context.Context, s *slot, r *request) (verdict, bool) {
	s.res = c.terms.vet(r)
	s.req.Data = nil
	c.slab = false
	toRing, inPieces := false, false
	size := c.terms.style.requestSize()
	if s.res == resOK {
		switch r.cmd {
		case cmdRead:
			if inPieces = c.pieceable(r); inPieces {
				break
			}
			if v, ok := c.place(ctx, s, uint32(r.length)); !ok {
				return v, false
			}
		case cmdBlockStatus:
			if s.status = c.takeStatuses(); s.status == nil {
				return needRoom, false
			}
		case cmdWrite:
			missing := size + int(r.payload) - c.ring.unparsed()
			switch {
			case missing <= 0:
				toRing = true
			case r.payload < slabFrom && missing > c.ring.room():
				return needRoom, false
			case r.payload < slabFrom:
				return needInput, false
			case c.pieceable(r):
				inPieces = true
			default:
				if v, ok := c.place(ctx, s, uint32(r.payload)); !ok {
					return v, false
				}
			}
		}
	}
	if inPieces {
		if !c.beginSpan(r) {
			return needRoom, false
		}
		c.ring.parsed += uint64(size)
		c.count.ops[opOf[r.cmd]]++
		c.wrote = c.wrote || r.cmd == cmdWrite
		return 0, true
	}
	c.free = c.free[:len(c.free)-1]
	c.taken++
	c.ring.parsed += uint64(size)
	s.cookie, s.cmd, s.offset, s.length = r.cookie, r.cmd, r.offset, 0
	if s.res != resOK {
		c.skip, c.refused = uint32(r.payload), s
		return 0, true
	}
	q := &s.req
	q.Offset, q.Length = r.offset, r.length
	q.FUA = r.flags&cfFUA != 0 && r.cmd != cmdRead && r.cmd != cmdFlush
	q.MayUnmap = r.cmd == cmdWriteZeroes && r.flags&cfNoHole == 0
	q.Fast = r.cmd == cmdWriteZeroes && r.flags&cfFastZero != 0
	q.Err = nil
	q.Op = opOf[r.cmd]
	if r.cmd == cmdRead || r.cmd == cmdWrite {
		s.length = uint32(r.length)
	}
	c.wrote = c.wrote || q.Op == disk.Write || q.Op == disk.Unmap || q.Op == disk.WriteZeroes
	c.count.ops[q.Op]++
	switch {
	case toRing:
		q.Data, s.hold = c.ring.hold(int(r.payload), s.segs[:0])
		s.where = inRing
	case r.cmd == cmdWrite:
		c.startFill(s)
		return 0, true
	case r.cmd == cmdBlockStatus:
		most := statusExtents
		if r.flags&cfReqOne != 0 {
			most = 1
		}
		q.Extents = s.status.extents[:0:most]
		if !c.terms.info.Extents {
			q.Extents = q.Extents[:1]
			q.Extents[0].Length, q.Extents[0].Hole, q.Extents[0].Zero = r.length, false, false
			c.answer(s)
			return 0, true
		}
	}
	c.pending = append(c.pending, s)
	return 0, true
}

// answer completes a request without the disk.
func (c *conn) answer(s *slot) {
	s.req.Err = nil
	c.answered = true
	c.completed.push(s)
}

// takeStatuses returns a buffer, or nil when all are in flight.
func (c *conn) takeStatuses() *statuses {
	if n := len(c.statuses); n > 0 {
		u := c.statuses[n-1]
		c.statuses = c.statuses[:n-1]
		return u
	}
	if c.statusesMade == statusBuffers {
		return nil
	}
	c.statusesMade++
	return new(statuses)
}

// place finds memory for the n bytes of a read or a long write.
func (c *conn) place(ctx context.Context, s *slot, n uint32) (verdict, bool) {
	if int(n) <= c.pages.n*pageSize {
		return needRoom, c.takePages(s, n)
	}
	if c.mem.taken.Load() {
		return needRoom, false
	}
	err := c.exp.pool.grow(ctx, c.mem, c.quota)
	if err != nil && c.exp.pool.mayGrow(c.quota) && (errors.Is(err, ErrMemory) || errors.Is(err, ErrClientMemory)) {
		if c.wantSince.IsZero() {
			c.wantSince = time.Now()
		}
		if time.Since(c.wantSince) < c.payloadTime+memoryPoll {
			return needMemory, false
		}
	}
	c.wantSince = time.Time{}
	if err != nil {
		c.log.Warn("nbd request refused", keyLength, n, keyError, err)
		s.res = resMemory
		return 0, true
	}
	s.where = inLarge
	s.segs[0] = miniport.Segment{Region: c.mem.large.region, Length: n}
	s.req.Data = s.segs[:1]
	return 0, true
}

// payload returns the memory of a request that has one piece.
func (s *slot) payload() []byte { return s.segs[0].Bytes() }

// shrink gives the large block back, for others.
func (c *conn) shrink(ctx context.Context) {
	if err := c.exp.pool.shrink(ctx, c.mem, c.quota); err != nil {
		c.log.Error("nbd memory not released", keyError, err)
	}
}

// release takes a slot and its memory back.
func (c *conn) release(ctx context.Context, s *slot) {
	switch s.where {
	case inRing:
		c.ring.release(s.hold)
	case inPages:
		c.pages.put(s.page, s.pages)
	case inLarge:
		c.shrink(ctx)
	}
	s.where = nowhere
	if s.span != nil {
		s.span.held--
		s.span = nil
	}
	if s.status != nil {
		c.statuses = append(c.statuses, s.status)
		s.status = nil
	}
	c.free = append(c.free, s)
}
