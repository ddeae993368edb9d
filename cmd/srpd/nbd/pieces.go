package nbd

import (
	"minisrp/miniport"
	"minisrp/scsi/disk"
)

// span is a READ or a WRITE that is served in pieces, so that it needs no more memory than shorter ones and the disk
// works on one piece while the socket takes or brings another.
//
//	WRITE  the payload fills piece after piece; the last to complete answers for all, with the first error
//	READ   each piece is a chunk of the reply; the last to be written ends it
//
// Ownership: the reader's; left and res, from the first piece's Submit on, that of whoever holds the write flag.
type span struct {
	cmd    uint16
	fua    bool
	cookie uint64
	offset uint64 // as the client said it, and so length
	length uint32

	next uint64 // where the next piece begins
	rest uint32 // bytes that are in no piece yet
	held int    // pieces whose slots are not back

	left int // pieces that are not collected
	res  result
}

// pieceable reports whether a request is to be served in pieces. Replies without chunks, and those that must be one,
// cannot be.
func (c *conn) pieceable(r *request) bool {
	return r.length > uint64(c.pieceSize) && (r.cmd == cmdWrite || c.terms.style != styleSimple && r.flags&cfDF == 0)
}

// beginSpan makes the request the one whose pieces come next. It reports false when there are as many as there may be.
func (c *conn) beginSpan(r *request) bool {
	for i := range c.spans {
		u := &c.spans[i]
		if u.rest > 0 || u.held > 0 {
			continue
		}
		pieces := (r.length + uint64(c.pieceSize) - 1) / uint64(c.pieceSize)
		*u = span{
			cmd: r.cmd, fua: r.cmd == cmdWrite && r.flags&cfFUA != 0, cookie: r.cookie, offset: r.offset,
			length: uint32(r.length), next: r.offset, rest: uint32(r.length), left: int(pieces),
		}
		c.span = u
		return true
	}
	return false
}

// nextPiece makes a request of the next piece, or has it filled. It reports false when there is no slot or no memory
// for it.
func (c *conn) nextPiece() bool {
	u := c.span
	n := min(u.rest, c.pieceSize)
	if len(c.free) == 0 {
		return false
	}
	s := c.free[len(c.free)-1]
	if !c.takePages(s, n) {
		return false
	}
	c.free = c.free[:len(c.free)-1]
	c.taken++
	s.span, s.res, s.cmd, s.cookie, s.offset, s.length = u, resOK, u.cmd, u.cookie, u.offset, n
	q := &s.req
	q.Op, q.Offset, q.Length, q.FUA = opOf[u.cmd], u.next, uint64(n), u.fua
	q.MayUnmap, q.Fast, q.Err = false, false, nil
	u.held++
	u.next += uint64(n)
	if u.rest -= n; u.rest == 0 {
		c.span = nil
	}
	if u.cmd == cmdWrite {
		c.startFill(s)
	} else {
		c.pending = append(c.pending, s)
	}
	return true
}

// collected takes the result of a piece into account, and tells what of the reply is to be written: nothing of it
// (ok is false), or res, and whether the reply ends with it.
func (u *span) collected(res result) (_ result, last, ok bool) {
	u.left--
	last = u.left == 0
	if u.cmd == cmdRead {
		return res, last, true
	}
	if u.res == resOK {
		u.res = res
	}
	return u.res, last, last
}

// takePages gives a request n bytes of payload memory. It reports false when there are none now.
func (c *conn) takePages(s *slot, n uint32) bool {
	k := (int(n) + pageSize - 1) / pageSize
	first, ok := c.pages.take(k)
	if !ok {
		return false
	}
	s.where, s.page, s.pages = inPages, first, k
	s.segs[0] = miniport.Segment{Region: c.mem.main.region, Offset: uint64(ringSize + first*pageSize), Length: n}
	s.req.Data = s.segs[:1]
	return true
}

// startFill has the payload of a write, or of a piece of one, read into the memory of its own.
func (c *conn) startFill(s *slot) {
	c.fill, c.slab = s, true
	c.due = 0 // the time begins anew
	c.filled = uint32(c.ring.take(s.payload()))
}

// readingOn reports whether the reply to a READ is to be gone on with.
func (c *conn) readingOn() bool { return c.span != nil && opOf[c.span.cmd] == disk.Read }
