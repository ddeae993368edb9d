package nbd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"minisrp/verbs/dispatch"
)

// conn is a connection in transmission.
//
//	        reader (Passive)                                 other frames (Dispatch)
//	socket → ring, slab ─ parse ─ Raise, Submit…, Lower ┐     Done
//	          ▲                        Done (in Lower) ─┴─ completed ──┐ wake, if not the reader's frame
//	          │                                                       ▼
//	         freed ◄──────────── write flag: encode, one sendmsg ◄─ reader, or the writer goroutine
//
// The reader writes what completed on its own frame, without a hop. What
// completes elsewhere is written by the writer goroutine. When the socket takes no
// more the reader leaves the rest to the writer and goes on reading, so that a
// client that sends before it receives does not lock up with us.
//
// Ownership: made and run by Server.serveConn, whose goroutine is the reader; the
// writer goroutine is started and awaited by run. The memory goes back to the pool
// after run, when every slot is free again.
type conn struct {
	// Fixed after construction.
	nc     net.Conn
	raw    syscall.RawConn
	secure *secure       // nil: the socket carries plain text
	grace  time.Duration // Config.PartingTime

	payloadTime time.Duration // Config.PayloadTimeout

	exp     *export
	backend Backend
	proc    *dispatch.Processor
	mem     *memory
	quota   *quota // of the client
	terms   terms
	log     *slog.Logger

	reader

	// Between reader, frames and writer.
	completed slotStack
	freed     slotStack
	writing   atomic.Uint32 // the write flag: writeIdle, writeBusy or writeHanded
	waiting   atomic.Bool   // the reader is about to sleep on room; stale: one wake too many
	dead      atomic.Bool   // the socket takes no more replies; stale: one more try
	stopping  atomic.Bool   // the reader is to stop; it is also woken by a deadline
	submitted atomic.Uint64 // requests, a batch at a time; stale: a little less
	retired   atomic.Uint64 // of them, those whose replies are written; stale: a little less
	told      atomic.Bool   // a flush was answered with the loss of writes
	room      chan struct{} // capacity 1: slots have been freed
	wake      chan struct{} // capacity 1: there is something for the writer
	quit      chan struct{} // ends the writer
	written   chan struct{} // the writer has ended

	writer // of whoever holds the write flag

	slots [slots]slot
}

const (
	writeIdle uint32 = iota
	writeBusy
	writeHanded // busy, and the holder is now the writer goroutine
)

func newConn(nc net.Conn, cfg *Config, raw syscall.RawConn, sec *secure, e *export, m *memory, q *quota, looks *lookers, t terms, log *slog.Logger) *conn {
	c := &conn{
		nc: nc, grace: cfg.PartingTime, payloadTime: cfg.PayloadTimeout, raw: raw, secure: sec, exp: e, backend: e.backend, proc: e.backend.Processor(), mem: m,
		quota: q, terms: t, log: log,
		room: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		quit: make(chan struct{}), written: make(chan struct{}),
	}
	c.reader.init(c)
	c.lookout = lookout{limit: cfg.PollTime, all: looks, clock: sinceStart}
	c.writer.init(c)
	c.patience = cfg.PartingTime
	for i := range c.slots {
		s := &c.slots[i]
		s.conn = c
		s.req.Done = s.done
		c.free = append(c.free, s)
	}
	return c
}

// run serves the connection until the client leaves, breaks the protocol, or stop
// is called. It returns when every request is complete and every reply is written
// or known to be undeliverable. The error is why it ended; nil for NBD_CMD_DISC
// and for stop.
func (c *conn) run(ctx context.Context) error {
	go c.writeLoop()
	err := c.readLoop(ctx)
	// Requests point into our memory: wait for all of them, whoever left.
	for _, s := range []*slot{c.fill, c.refused} {
		if s != nil {
			c.release(ctx, s)
		}
	}
	c.fill, c.refused = nil, nil
	for c.recycle(ctx); len(c.free) < slots; c.recycle(ctx) {
		c.sleep()
	}
	close(c.quit)
	<-c.written
	if c.secure != nil && !c.dead.Load() {
		c.secure.end()
	}
	return errors.Join(err, c.ended())
}

// stop makes the reader stop reading. What is in flight completes. It does not
// wait.
//
// From here on the writer waits for the socket no longer than the parting time.
func (c *conn) stop() {
	c.stopping.Store(true)
	_ = c.nc.SetReadDeadline(past)
	_ = c.nc.SetWriteDeadline(time.Now().Add(c.grace))
	if c.dead.Load() {
		_ = c.nc.SetDeadline(past)
	}
}

// kill makes the socket fail at once, so that a client that does not take its
// replies does not hold up the end.
func (c *conn) kill() {
	c.dead.Store(true)
	c.stopping.Store(true)
	_ = c.nc.SetDeadline(past)
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// wakeWriter makes the writer goroutine look. Level: Dispatch.
func (c *conn) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// recycle takes back what has been written. Reader only.
func (c *conn) recycle(ctx context.Context) {
	for s := c.freed.take(); s != nil; {
		next := s.next
		c.release(ctx, s)
		s = next
	}
}

// sleep waits until something has been freed. Reader only.
func (c *conn) sleep() {
	c.waiting.Store(true)
	if c.freed.empty() {
		<-c.room
	}
	c.waiting.Store(false)
}
