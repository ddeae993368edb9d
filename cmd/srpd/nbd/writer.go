package nbd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"minisrp/scsi/disk"
)

// writer is the half of a connection that turns completed requests into replies.
//
// Ownership: whoever holds the connection's write flag.
type writer struct {
	iov      [2*slots + 1]unix.Iovec
	at, end  int // what of iov is still to be written
	heads    [slots * headSize]byte
	batch    *slot // whose replies are in iov
	msg      unix.Msghdr
	wait     bool          // send waits until the socket takes more
	full     bool          // the socket takes no more now
	patience time.Duration // how long it may still wait for the socket when the connection is to end
	failure  error         // why the socket takes no more at all
	send     func(fd uintptr) bool
}

func (w *writer) init(c *conn) { w.send = c.transmit }

// writeLoop is the writer goroutine.
func (c *conn) writeLoop() {
	defer close(c.written)
	for {
		select {
		case <-c.wake:
			c.exp.counters.Wakes.Add(1)
			c.flush(true)
		case <-c.quit:
			return
		}
	}
}

// flush writes what has completed, unless somebody else is at it, who will then
// see it. With wait it waits for the socket; without, it leaves what the socket
// does not take to the writer goroutine.
func (c *conn) flush(wait bool) {
	for {
		switch {
		case wait && c.writing.CompareAndSwap(writeHanded, writeBusy):
		case c.completed.empty() || !c.writing.CompareAndSwap(writeIdle, writeBusy):
			return
		}
		for {
			if c.batch == nil && !c.collect() {
				break
			}
			if !c.writeBatch(wait) {
				c.writing.Store(writeHanded)
				c.wakeWriter()
				return
			}
			c.retire()
		}
		c.writing.Store(writeIdle)
		// What completed after collect looked, while the flag was ours.
	}
}

// collect encodes the replies of what has completed.
func (c *conn) collect() bool {
	c.batch = c.completed.take()
	if c.batch == nil {
		return false
	}
	c.at, c.end = 0, 0
	var open []byte // the piece of heads that the last iovec stands for
	used := 0
	var errs, replies, read, written uint64
	for s := c.batch; s != nil; s = s.next {
		res, data := c.result(s)
		length, last := s.length, true
		if u := s.span; u != nil {
			var ok bool
			if res, last, ok = u.collected(res); !ok {
				continue
			}
			if u.cmd == cmdWrite {
				length = u.length
			}
		}
		switch {
		case res != resOK:
			errs++
		case s.cmd == cmdRead:
			read += uint64(length)
		case s.cmd == cmdWrite:
			written += uint64(length)
		}
		h := c.heads[used:]
		n := c.terms.style.putReply(h, s, res, len(data), last)
		replies++
		if open == nil {
			c.end++
			open = h[:0]
			c.iov[c.end-1].Base = unsafe.SliceData(h)
		}
		open = open[:len(open)+n]
		c.iov[c.end-1].SetLen(len(open))
		used += n
		if len(data) > 0 {
			c.iov[c.end].Base = unsafe.SliceData(data)
			c.iov[c.end].SetLen(len(data))
			c.end++
			open = nil
		}
	}
	if replies == 0 {
		return true
	}
	c.exp.counters.Batches.Add(1)
	c.exp.counters.Replies.Add(replies)
	if read > 0 {
		c.exp.counters.BytesRead.Add(read)
	}
	if written > 0 {
		c.exp.counters.BytesWritten.Add(written)
	}
	if errs > 0 {
		c.exp.counters.Errors.Add(errs)
	}
	return true
}

// result returns what became of a request, and the data of its reply.
func (c *conn) result(s *slot) (result, []byte) {
	res := s.res
	if res == resOK {
		res = translate(s.req.Err, s.cmd)
	}
	switch {
	case s.cmd == cmdFlush && res != resOK && errors.Is(s.req.Err, disk.ErrLostWrites):
		c.told.Store(true)
	case res != resOK:
	case s.cmd == cmdRead:
		return res, s.payload()
	case s.cmd == cmdBlockStatus && len(s.req.Extents) == 0:
		return resOther, nil // a disk that tells nothing
	case s.cmd == cmdBlockStatus:
		return res, s.status.encode(c.terms.style, s.req.Extents)
	}
	return res, nil
}

// writeBatch writes the batch. It reports false when the socket takes no more and
// wait was not asked for. On a dead socket it writes nothing.
func (c *conn) writeBatch(wait bool) bool {
	if c.secure != nil {
		return c.writeSecure(wait)
	}
	c.wait = wait
	for c.at < c.end && !c.dead.Load() {
		c.full = false
		since := c.hasten()
		err := c.raw.Write(c.send)
		c.waited(since)
		if c.full {
			return false
		}
		if err == nil {
			err = c.failure
		}
		if err != nil {
			c.broken(err)
		}
	}
	return true
}

// hasten bounds the next wait for the socket when the connection is to end. It
// returns when that wait began; the zero time without a bound.
func (c *conn) hasten() (since time.Time) {
	if !c.stopping.Load() {
		return since
	}
	since = time.Now()
	_ = c.nc.SetWriteDeadline(since.Add(c.patience))
	if c.dead.Load() {
		_ = c.nc.SetDeadline(past)
	}
	return since
}

// waited counts a wait that hasten has bounded.
func (c *conn) waited(since time.Time) {
	if !since.IsZero() {
		c.patience -= time.Since(since)
	}
}

// broken notes that the socket takes no more.
func (c *conn) broken(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) && !c.dead.Load() {
		err = errNotTaken
	}
	if c.failure == nil && !gone(err) {
		c.failure = fmt.Errorf("write replies: %w", err)
	}
	c.kill()
}

// transmit is one try to write, for RawConn.Write.
func (c *conn) transmit(fd uintptr) bool {
	for c.at < c.end {
		c.msg.Iov = &c.iov[c.at]
		c.msg.SetIovlen(c.end - c.at)
		n, _, e := unix.RawSyscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&c.msg)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		switch {
		case e == unix.EINTR:
		case e == unix.EAGAIN:
			c.exp.counters.Full.Add(1)
			c.full = !c.wait
			return c.full
		case e != 0:
			c.failure = fmt.Errorf("write replies: %w", e)
			return true
		default:
			c.advance(int(n))
		}
	}
	return true
}

// advance drops n written bytes from the front of iov.
func (c *conn) advance(n int) {
	for n > 0 {
		v := &c.iov[c.at]
		if n >= int(v.Len) {
			n -= int(v.Len)
			c.at++
			continue
		}
		v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
		v.SetLen(int(v.Len) - n)
		return
	}
}

// retire gives the slots of a written batch back to the reader.
func (c *conn) retire() {
	n := uint64(0)
	for s := c.batch; s != nil; {
		next := s.next
		if s.where == inLarge { // not only when the reader, which may sleep for long, comes by
			c.shrink(context.Background())
			s.where = nowhere
		}
		c.freed.push(s)
		s = next
		n++
	}
	c.batch = nil
	c.retired.Add(n)
	if c.waiting.Load() {
		select {
		case c.room <- struct{}{}:
		default:
		}
	}
}

// ended returns why the socket failed; nil when the peer just went away. To be
// called after run.
func (c *conn) ended() error {
	if c.failure == nil || gone(c.failure) || errors.Is(c.failure, unix.EBADF) {
		return nil
	}
	return c.failure
}
