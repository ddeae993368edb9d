package srp

import (
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// piece is one run of memory: adjacent segments of one region make one piece.
type piece struct {
	addr       uint64
	length     uint32
	lkey, rkey uint32
}

// Start sends a command. Its Done is called once, later, never within Start; on an error nothing has begun.
// Level: Dispatch, on the channel's processor.
// Errors: ErrBusy (Ready follows), ErrDown, ErrTooManySegments, ErrTooLong, ErrInvalidRequest.
//
//level:dispatch noalloc
func (c *Channel) Start(f *dispatch.Frame, r *Request) error {
	c.mustOwn(f)
	if c.state != chanUp {
		return ErrDown
	}
	if c.free.n == 0 || !c.mayCommand() {
		c.wanting = true
		c.stats.Busy++
		return ErrBusy
	}
	if err := c.lay(r); err != nil {
		return err
	}
	s := c.free.head
	n, err := c.build(s, r)
	if err != nil {
		return err
	}
	c.free.pop()
	c.credit.take()
	if _, err := c.res.qp.Post(f, c.wrs[:n]); err != nil {
		// What was accepted binds windows that nobody knows of, on a QP that is about to be flushed.
		c.credit.untake()
		c.free.push(s)
		c.fail(f, DownError{Cause: CauseTransport, Op: verbs.Send, Status: verbs.LocQPOpErr})
		return ErrDown
	}
	s.req, s.state, s.sendDone = r, slotSent, false
	r.ch, r.slot = c, s
	c.stats.Starts++
	if r.Direction == DataOut && c.cmd.DataOut.Format == DataImmediate {
		c.stats.ImmediateOut += uint64(r.Length)
	}
	return nil
}

// mayCommand reports whether the credits allow a command. Functions that wait go first.
func (c *Channel) mayCommand() bool { return c.credit.command() && c.waiting.head == nil }

// lay checks a request, and puts its memory in c.pieces.
func (c *Channel) lay(r *Request) error {
	c.pieces = c.pieces[:0]
	switch n := len(r.CDB); {
	case r.slot != nil, r.Done == nil, n == 0, n > c.sess.cfg.MaxCDB, n > CDBLen && n%4 != 0, r.Direction > DataOut:
		return ErrInvalidRequest
	case (r.Direction == NoData) != (r.Length == 0) || (r.Length == 0) != (len(r.Segments) == 0):
		return ErrInvalidRequest
	case r.Length > c.transfer:
		return ErrTooLong
	}
	var total uint64
	for i := range r.Segments {
		g := &r.Segments[i]
		if g.Length == 0 || g.Addr+uint64(g.Length)-1 < g.Addr {
			return ErrInvalidRequest
		}
		total += uint64(g.Length)
		if c.sess.cfg.Protect == ProtectBounce && uint64(len(g.Mem)) != uint64(g.Length) {
			return ErrInvalidRequest
		}
		if k := len(c.pieces); k > 0 {
			p := &c.pieces[k-1]
			if p.lkey == g.LKey && p.rkey == g.RKey && p.addr+uint64(p.length) == g.Addr && p.length+g.Length > p.length {
				p.length += g.Length
				continue
			}
			if k == c.segments {
				return ErrTooManySegments
			}
		}
		c.pieces = dispatch.Append(c.pieces, piece{g.Addr, g.Length, g.LKey, g.RKey})
	}
	if total != uint64(r.Length) {
		return ErrInvalidRequest
	}
	return nil
}

// build makes the IU and the work requests of a command in a slot, and returns how many requests. Nothing is begun.
func (c *Channel) build(s *slot, r *Request) (int, error) {
	s.gen++
	s.bound = 0
	c.cmd = Command{Tag: tagOf(uint16(c.index), s.index, s.gen), LUN: r.LUN.Bytes(), Attribute: r.Attribute, CDB: r.CDB}
	send := verbs.WR{ID: wrSend | uint64(s.index), Op: verbs.Send, Flags: verbs.Signaled, NumSGE: 1}
	limit := c.iuLen
	switch {
	case r.Direction == NoData:
	case c.isImmediate(r):
		c.cmd.DataOut = ImmediateBuffer(r.Length)
		limit -= int(r.Length)
		for _, p := range c.pieces {
			send.SGE[send.NumSGE] = verbs.SGE{Addr: p.addr, Length: p.length, LKey: p.lkey}
			send.NumSGE++
		}
	case r.Direction == DataIn:
		c.cmd.DataIn = c.describe(s, r)
	default:
		c.cmd.DataOut = c.describe(s, r)
	}
	if s.bound > 0 {
		send.Flags = 0
	}
	n, err := c.cmd.Encode(s.tx, immediateOffset)
	if err != nil || n > limit {
		return 0, ErrInvalidRequest
	}
	send.SGE[0] = verbs.SGE{Addr: s.txAddr, Length: uint32(n), LKey: c.res.mr.LKey()}
	c.wrs[s.bound] = send
	return int(s.bound) + 1, nil
}

// isImmediate reports whether the data goes in the IU.
func (c *Channel) isImmediate(r *Request) bool {
	return r.Direction == DataOut && r.Length <= uint32(c.immediate) && len(c.pieces) < c.res.sges
}

// describe makes the target's way to the memory in c.pieces, with the work requests that it takes.
func (c *Channel) describe(s *slot, r *Request) DataBuffer {
	if c.sess.cfg.Protect == ProtectBounce {
		b := &s.bounce[r.Direction-DataIn]
		if r.Direction == DataOut {
			c.copyOut(b, r)
		}
		return DirectBuffer(Desc{Addr: b.addr, RKey: b.rkey, Len: r.Length})
	}
	if len(c.pieces) == 1 {
		return DirectBuffer(c.expose(s, 0, r.Direction))
	}
	list := s.table
	for i := range c.pieces {
		list, _ = list.Append(c.expose(s, i, r.Direction))
	}
	table := Desc{Addr: s.tableAddr, RKey: c.res.tableKey, Len: uint32(len(list))}
	return IndirectBuffer(table, list[:min(len(c.pieces), c.inline)*DescLen], r.Length)
}

// expose lets the target at piece i.
func (c *Channel) expose(s *slot, i int, d Direction) Desc {
	p := &c.pieces[i]
	if c.sess.cfg.Protect == ProtectRegion {
		return Desc{Addr: p.addr, RKey: p.rkey, Len: p.length}
	}
	w := &s.windows[i]
	w.key = verbs.NextKey(w.key)
	access := verbs.RemoteRead
	if d == DataIn {
		access = verbs.RemoteWrite
	}
	wr := &c.wrs[i]
	*wr = verbs.WR{ID: wrBind | uint64(s.index), Op: verbs.BindWindow, MW: w.handle, Key: w.key, Access: access, NumSGE: 1}
	wr.SGE[0] = verbs.SGE{Addr: p.addr, Length: p.length, LKey: p.lkey}
	s.bound++
	return Desc{Addr: p.addr, RKey: w.key, Len: p.length}
}

// copyOut gathers data into a bounce region.
func (c *Channel) copyOut(b *bounce, r *Request) {
	at := 0
	for i := range r.Segments {
		at += copy(b.mem[at:], r.Segments[i].Mem)
	}
	c.stats.Copied += uint64(at)
}

// copyIn scatters n bytes of a bounce region. What the target did not send, which may be another command's, stays.
func (c *Channel) copyIn(b *bounce, r *Request, n int) {
	from := b.mem[:n]
	for i := range r.Segments {
		k := copy(r.Segments[i].Mem, from)
		from = from[k:]
	}
	c.stats.Copied += uint64(n)
}

// Abandon gives up a command that the target does not have any more, as a task management function said: its memory is
// taken from the target's reach, then it ends with Aborted, unless a response came before. It does nothing to a
// request that is not outstanding on the channel. Done is called once, later, never within Abandon.
// Level: Dispatch, on the channel's processor.
//
//level:dispatch noalloc
func (c *Channel) Abandon(f *dispatch.Frame, r *Request) {
	c.mustOwn(f)
	s := r.slot
	if s == nil || r.ch != c || s.state != slotSent {
		return
	}
	s.state = slotGivenUp
	c.credit.ended()
	c.stats.Aborted++
	switch {
	case c.state == chanFailing || c.state == chanDown: // ends with the channel
	case s.bound > 0:
		c.invalidate(f, s)
		c.postInv(f)
	case s.sendDone:
		c.ending.push(s)
		c.later.Queue(f)
	}
}

// invalidate takes a slot's memory from the target's reach. The requests are collected, and posted by postInv.
func (c *Channel) invalidate(f *dispatch.Frame, s *slot) {
	for i := range s.bound {
		if len(c.inv) == cap(c.inv) {
			c.postInv(f)
		}
		wr := verbs.WR{ID: wrInv | uint64(s.index), Op: verbs.LocalInv, Key: s.windows[i].key}
		if i == s.bound-1 {
			wr.Flags = verbs.Signaled
		}
		c.inv = dispatch.Append(c.inv, wr)
	}
}

func (c *Channel) postInv(f *dispatch.Frame) {
	if len(c.inv) == 0 {
		return
	}
	_, err := c.res.qp.Post(f, c.inv)
	c.inv = c.inv[:0]
	if err != nil {
		c.fail(f, DownError{Cause: CauseTransport, Op: verbs.LocalInv, Status: verbs.LocQPOpErr})
	}
}
