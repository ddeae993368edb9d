package nbd

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"minisrp/verbs/dispatch"
)

// reader is the half of a connection that turns what the socket holds into
// requests.
//
// Ownership: the connection's own goroutine.
type reader struct {
	frame    dispatch.Frame
	free     []*slot
	ring     ring
	pages    pages
	pending  []*slot // decoded and not submitted yet
	answered bool    // something was put on the completed stack without being submitted
	taken    uint64  // slots since the last batch
	parting  bool    // the client has said that it leaves
	wrote    bool    // it has changed the disk

	statuses     []*statuses // not in use
	statusesMade int

	// Requests that are served in pieces, and the one whose pieces are not all made.
	spans     [spans]span
	span      *span
	pieceSize uint32 // bytes, a multiple of every logical block

	// A long write, or a piece of one, whose payload is on its way into memory of its own.
	fill      *slot
	filled    uint32    // bytes of it that are there
	wantSince time.Time // since when the next request waits for a large block; zero: it does not

	due   uint32 // filled when it is to reach this the deadline is put off
	timed bool   // the socket has a deadline for it
	slab  bool   // the last request was one: expect another

	// A refused request is answered when its payload has been read: many clients
	// know a request only when they have sent it.
	refused *slot
	skip    uint32 // bytes of its payload to read over

	head    [extRequestSize]byte // a header that goes round the ring's end
	into    [2][]byte            // where what is read goes
	intos   int
	vec     [2]unix.Iovec // the same, for the kernel
	lookout lookout
	got     int // result of recv
	recvErr error
	recv    func(fd uintptr) bool // c.receive, made once

	count tally
}

// tally counts what one batch read, until it is added to the export's counters.
type tally struct {
	ops [opKinds]uint64
}

func (r *reader) init(c *conn) {
	main := c.mem.main
	buf := main.region.Bytes()
	r.ring = ring{region: main.region, buf: buf[:ringSize:ringSize]}
	r.pages = newPages((len(buf) - ringSize) / pageSize)
	r.pieceSize = uint32(min(pieceSize, r.pages.n*pageSize) &^ (slabFrom - 1))
	r.free = make([]*slot, 0, slots)
	r.pending = make([]*slot, 0, slots)
	r.recv = c.receive
}

// verdict is why parse stopped.
type verdict uint8

const (
	needInput  verdict = iota
	needRoom           // a slot or memory
	needMemory         // that others have
	disconnect
)

func (c *conn) readLoop(ctx context.Context) error {
	for {
		c.recycle(ctx)
		v, err := c.parse(ctx)
		if len(c.pending) > 0 || c.answered {
			c.submit()
		}
		switch {
		case err != nil:
			return err
		case v == disconnect || c.stopping.Load() && !c.readingOn():
			return nil
		case v == needMemory:
			c.exp.counters.Waits.Add(1)
			c.awaitMemory()
			continue
		case v == needRoom || c.fill == nil && c.ring.room() == 0:
			c.exp.counters.Waits.Add(1)
			c.sleep()
			continue
		}
		if !c.hurry() {
			return nil
		}
		if err := c.read(); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) && c.stopping.Load() {
				return nil
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return errStalled
			}
			return err
		}
	}
}

// awaitMemory waits a little for memory that other connections have. It is asked for
// again, and not handed on, since it may come from anywhere.
func (c *conn) awaitMemory() {
	again := time.NewTimer(memoryPoll)
	defer again.Stop()
	select {
	case <-again.C:
	case <-c.room:
	}
}

// hurry bounds the time that a payload may keep memory of its own. It reports false
// when the connection is to end.
func (c *conn) hurry() bool {
	switch {
	case c.fill == nil && !c.timed:
		return true
	case c.fill == nil:
		c.timed = false
		_ = c.nc.SetReadDeadline(time.Time{})
	case c.timed && c.filled < c.due:
		return true
	default:
		c.timed = true
		c.due = c.filled + payloadStep
		_ = c.nc.SetReadDeadline(time.Now().Add(c.payloadTime))
	}
	return !c.stopping.Load() // whose deadline this may have replaced
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
	c.answered = false
	c.submitted.Add(c.taken)
	c.taken = 0
	c.exp.counters.add(&c.count)
	c.flush(false)
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
		size := c.terms.style.requestSize()
		ahead = size - min(c.ring.unparsed(), size)
	}
	c.ring.rewind()
	if n := min(ahead, c.ring.room()); n > 0 && c.intos < len(c.into) {
		a, b := c.ring.space(n)
		c.addInto(a)
		if len(b) > 0 && c.intos < len(c.into) {
			c.addInto(b)
		}
	}
	if c.secure != nil {
		c.got, c.recvErr = c.secure.read(c.into[:c.intos])
	} else if err := c.raw.Read(c.recv); err != nil {
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
	c.into[c.intos] = b
	c.vec[c.intos].Base = unsafe.SliceData(b)
	c.vec[c.intos].SetLen(len(b))
	c.intos++
}

// receive is one try to read, for RawConn.Read.
func (c *conn) receive(fd uintptr) bool {
	for !c.tryReceive(fd) {
		if c.stopping.Load() {
			c.lookout.rest()
			return false
		}
		if !c.lookout.again() {
			return false
		}
	}
	c.lookout.over()
	return true
}

// tryReceive reads what there is. It reports false when there is nothing.
func (c *conn) tryReceive(fd uintptr) bool {
	for {
		n, _, e := unix.RawSyscall(unix.SYS_READV, fd, uintptr(unsafe.Pointer(&c.vec[0])), uintptr(c.intos))
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
