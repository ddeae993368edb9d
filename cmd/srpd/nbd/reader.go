package nbd

import (
	"context"
	"errors"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/verbs/dispatch"
)

// reader is the half of a connection that turns what the socket holds into
// requests.
//
// Ownership: the connection's own goroutine.
type reader struct {
	frame   dispatch.Frame
	free    []*slot
	ring    ring
	pages   pages
	pending []*slot // decoded and not submitted yet
	refused bool    // something was put on the completed stack without being submitted

	// A long write whose payload is on its way into memory of its own.
	fill   *slot
	filled uint32 // bytes of it that are there
	slab   bool   // the last request was one: expect another

	skip uint32 // bytes of a refused payload to read over

	head    [requestSize]byte // a header that goes round the ring's end
	into    [2]unix.Iovec
	intos   int
	got     int // result of recv
	recvErr error
	recv    func(fd uintptr) bool // c.receive, made once

	count tally
}

// tally counts what one batch read, until it is added to the export's counters.
type tally struct {
	ops                     [opKinds]uint64
	bytesRead, bytesWritten uint64
}

func (r *reader) init(c *conn) {
	main := c.mem.main
	buf := main.region.Bytes()
	r.ring = ring{region: main.region, buf: buf[:ringSize:ringSize]}
	r.pages = newPages((len(buf) - ringSize) / pageSize)
	r.free = make([]*slot, 0, slots)
	r.pending = make([]*slot, 0, slots)
	r.recv = c.receive
}

// verdict is why parse stopped.
type verdict uint8

const (
	needInput verdict = iota
	needRoom          // a slot or memory
	disconnect
)

func (c *conn) readLoop(ctx context.Context) error {
	for {
		c.recycle()
		v, err := c.parse(ctx)
		if len(c.pending) > 0 || c.refused {
			c.submit()
		}
		switch {
		case err != nil:
			return err
		case v == disconnect || c.stopping.Load():
			return nil
		case v == needRoom || c.fill == nil && c.ring.room() == 0:
			c.exp.counters.Waits.Add(1)
			c.sleep()
			continue
		}
		if err := c.read(); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) && c.stopping.Load() {
				return nil
			}
			return err
		}
	}
}

// submit hands the batch over and writes what completed on the way out.
func (c *conn) submit() {
	if len(c.pending) > 0 {
		c.proc.Raise(&c.frame)
		for _, s := range c.pending {
			c.backend.Submit(&c.frame, &s.req)
		}
		c.frame.Lower()
		c.pending = c.pending[:0]
	}
	c.refused = false
	c.exp.counters.add(&c.count)
	c.flush(false)
}

// parse decodes requests until it needs something.
func (c *conn) parse(ctx context.Context) (verdict, error) {
	for {
		if c.skip > 0 {
			n := min(int(c.skip), c.ring.unparsed())
			c.ring.parsed += uint64(n)
			if c.skip -= uint32(n); c.skip > 0 {
				return needInput, nil
			}
		}
		if c.fill != nil {
			if c.filled < c.fill.length {
				return needInput, nil
			}
			c.pending = append(c.pending, c.fill)
			c.fill = nil
		}
		if c.ring.unparsed() < requestSize {
			return needInput, nil
		}
		if len(c.free) == 0 {
			return needRoom, nil
		}
		b := c.ring.header(requestSize, c.head[:])
		r, ok := decodeRequest(b)
		switch {
		case !ok:
			return 0, &ProtocolError{"request without its magic number", uint64(b[0])<<24 | uint64(b[1])<<16 | uint64(b[2])<<8 | uint64(b[3])}
		case r.cmd == cmdDisc:
			return disconnect, nil
		case r.cmd == cmdWrite && r.length > MaxRequest:
			return 0, &ProtocolError{"write longer than the maximum block size", uint64(r.length)}
		}
		s := c.free[len(c.free)-1]
		if v, ok := c.decode(ctx, s, r); !ok {
			return v, nil
		}
	}
}

// decode turns a header into the request of s. When it reports false nothing has
// been consumed.
func (c *conn) decode(ctx context.Context, s *slot, r request) (verdict, bool) {
	s.res = c.info.vet(r)
	s.req.Data = nil
	c.slab = false
	toRing := false
	if s.res == resOK {
		switch r.cmd {
		case cmdRead:
			if v, ok := c.place(ctx, s, r.length); !ok {
				return v, false
			}
		case cmdWrite:
			missing := requestSize + int(r.length) - c.ring.unparsed()
			switch {
			case missing <= 0:
				toRing = true
			case r.length < slabFrom && missing > c.ring.room():
				return needRoom, false
			case r.length < slabFrom:
				return needInput, false
			default:
				if v, ok := c.place(ctx, s, r.length); !ok {
					return v, false
				}
			}
		}
	}
	c.free = c.free[:len(c.free)-1]
	c.ring.parsed += requestSize
	s.cookie, s.cmd, s.length = r.cookie, r.cmd, r.length
	if s.res != resOK {
		if r.cmd == cmdWrite {
			c.skip = r.length
		}
		c.refused = true
		c.completed.push(s)
		return 0, true
	}
	s.req.Offset, s.req.Length = r.offset, uint64(r.length)
	s.req.FUA = r.flags&cfFUA != 0
	s.req.MayUnmap = r.cmd == cmdWriteZeroes && r.flags&cfNoHole == 0
	s.req.Err = nil
	s.req.Op = opOf[r.cmd]
	c.count.note(s)
	switch {
	case toRing:
		s.req.Data, s.hold = c.ring.hold(int(r.length), s.segs[:0])
		s.where = inRing
	case r.cmd == cmdWrite:
		c.fill, c.slab = s, true
		c.filled = uint32(c.ring.take(s.payload()))
		return 0, true
	}
	c.pending = append(c.pending, s)
	return 0, true
}

// opOf translates commands that vet has let pass.
var opOf = [...]disk.Op{
	cmdRead: disk.Read, cmdWrite: disk.Write, cmdFlush: disk.Flush,
	cmdTrim: disk.Unmap, cmdWriteZeroes: disk.WriteZeroes,
}

// vet checks a request against what the client has been told.
func (i *Info) vet(r request) result {
	allowed := uint16(0)
	switch r.cmd {
	case cmdRead:
		allowed = cfDF
	case cmdFlush:
		if r.flags != 0 {
			return resFlags
		}
		if r.offset != 0 || r.length != 0 {
			return resFlushArgs
		}
		return resOK
	case cmdWrite, cmdTrim, cmdWriteZeroes:
		if r.cmd == cmdTrim && !i.CanUnmap || r.cmd == cmdWriteZeroes && !i.CanWriteZeroes {
			return resCommand
		}
		if i.ReadOnly {
			return resReadOnly
		}
		if i.CanFUA {
			allowed |= cfFUA
		}
		if r.cmd == cmdWriteZeroes {
			allowed |= cfNoHole
		}
	default:
		return resCommand
	}
	mask := uint64(i.LogicalBlock) - 1
	switch {
	case r.flags&^allowed != 0:
		return resFlags
	case r.length == 0:
		return resZero
	case r.cmd == cmdRead && r.length > MaxRequest:
		return resTooLong
	case r.offset > i.Size || uint64(r.length) > i.Size-r.offset:
		if r.cmd == cmdRead || r.cmd == cmdTrim {
			return resRange
		}
		return resNoSpace
	case r.offset&mask != 0 || uint64(r.length)&mask != 0:
		return resAlign
	}
	return resOK
}

// place finds memory for the n bytes of a read or a long write.
func (c *conn) place(ctx context.Context, s *slot, n uint32) (verdict, bool) {
	k := (int(n) + pageSize - 1) / pageSize
	if k <= c.pages.n {
		first, ok := c.pages.take(k)
		if !ok {
			return needRoom, false
		}
		s.where, s.page, s.pages = inPages, first, k
		s.segs[0] = miniport.Segment{Region: c.mem.main.region, Offset: uint64(ringSize + first*pageSize), Length: n}
		s.req.Data = s.segs[:1]
		return 0, true
	}
	if c.mem.used {
		return needRoom, false
	}
	if c.mem.large.arena == nil {
		if err := c.exp.pool.grow(ctx, c.mem); err != nil {
			c.log.Warn("nbd request refused", keyLength, n, keyError, err)
			s.res = resMemory
			return 0, true
		}
	}
	c.mem.used = true
	s.where = inLarge
	s.segs[0] = miniport.Segment{Region: c.mem.large.region, Length: n}
	s.req.Data = s.segs[:1]
	return 0, true
}

// payload returns the memory of a request that has one piece.
func (s *slot) payload() []byte { return s.segs[0].Bytes() }

// release takes a slot and its memory back.
func (c *conn) release(s *slot) {
	switch s.where {
	case inRing:
		c.ring.release(s.hold)
	case inPages:
		c.pages.put(s.page, s.pages)
	case inLarge:
		c.mem.used = false
	}
	s.where = nowhere
	c.free = append(c.free, s)
}

// read waits for input and reads what there is: into the slab that is being
// filled, and into the ring.
func (c *conn) read() error {
	c.intos = 0
	ahead := readAhead
	if c.fill != nil {
		c.addInto(c.fill.payload()[c.filled:])
	}
	if c.slab {
		// The next is likely a long write as well: no more than its header, so that
		// its payload need not be copied.
		ahead = requestSize - min(c.ring.unparsed(), requestSize)
	}
	if n := min(ahead, c.ring.room()); n > 0 && c.intos < len(c.into) {
		a, b := c.ring.space(n)
		c.addInto(a)
		if len(b) > 0 && c.intos < len(c.into) {
			c.addInto(b)
		}
	}
	if err := c.raw.Read(c.recv); err != nil {
		return err
	}
	if c.recvErr != nil {
		return c.recvErr
	}
	n := c.got
	if c.fill != nil {
		k := min(n, int(c.fill.length-c.filled))
		c.filled += uint32(k)
		n -= k
	}
	c.ring.head += uint64(n)
	return nil
}

func (c *conn) addInto(b []byte) {
	c.into[c.intos].Base = unsafe.SliceData(b)
	c.into[c.intos].SetLen(len(b))
	c.intos++
}

// receive is one try to read, for RawConn.Read.
func (c *conn) receive(fd uintptr) bool {
	for {
		n, _, e := unix.Syscall(unix.SYS_READV, fd, uintptr(unsafe.Pointer(&c.into[0])), uintptr(c.intos))
		switch {
		case e == unix.EINTR:
			continue
		case e == unix.EAGAIN:
			return false
		case e != 0:
			c.got, c.recvErr = 0, e
		case n == 0:
			c.got, c.recvErr = 0, io.EOF
		default:
			c.got, c.recvErr = int(n), nil
		}
		return true
	}
}
