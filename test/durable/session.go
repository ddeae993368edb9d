package durable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"

	"minisrp/test/durable/nbdclient"
)

// session is the load on one life of the server.
//
// Ownership: made by run.load, which waits for its goroutines; two for each connection, one sends and one receives.
type session struct {
	run   *run
	flags nbdclient.Flags
	round uint32

	// killAt is the number of replies at which reached is closed.
	killAt  int
	reached chan struct{}
	failed  chan struct{} // closed at the first failure

	mu      sync.Mutex // guards what follows, and the run's record and report
	rng     *rand.Rand
	replies int
	killed  bool // the end of connections is no failure any more
	err     error
	pending []map[uint64]*request // by connection and cookie
}

// request is a request under way.
type request struct {
	op      *op   // nil for a flush
	covered []*op // by the flush
}

// depth is how many requests a connection has under way.
const depth = 8

// start starts the goroutines on the connections; they end when the connections do.
func (s *session) start(conns []*nbdclient.Conn) *sync.WaitGroup {
	var wg sync.WaitGroup
	for range conns {
		s.pending = append(s.pending, make(map[uint64]*request))
	}
	for i, c := range conns {
		slots := make(chan struct{}, depth)
		over := make(chan struct{})
		wg.Go(func() { s.send(i, c, slots, over) })
		wg.Go(func() {
			defer close(over)
			s.receive(i, c, slots)
		})
	}
	return &wg
}

// fail notes why the server cannot be judged any further. Called with mu held.
func (s *session) failLocked(err error) {
	if s.err != nil {
		return
	}
	s.err = err
	close(s.failed)
}

// send sends requests on a connection until it ends.
func (s *session) send(conn int, c *nbdclient.Conn, slots chan<- struct{}, over <-chan struct{}) {
	data := make([]byte, largeRequest)
	for {
		select {
		case slots <- struct{}{}:
		case <-over:
			return
		}
		s.mu.Lock()
		q := s.chooseLocked(conn, data)
		s.mu.Unlock()
		if err := c.Send(&q); err != nil {
			return // the receiver sees why
		}
	}
}

// chooseLocked makes up the next request and notes it in the record.
func (s *session) chooseLocked(conn int, data []byte) nbdclient.Request {
	r := s.run
	r.seq++
	q := nbdclient.Request{Cookie: r.seq}
	k, fua := s.draw()
	at, found := span{}, false
	for range 16 {
		if at = r.record.area.pick(s.rng); r.record.free(at) {
			found = true
			break
		}
	}
	if k == initial || !found { // a flush
		q.Cmd = nbdclient.Flush
		all := s.flags&nbdclient.CanMultiple != 0
		s.pending[conn][r.seq] = &request{covered: r.record.flushing(conn, all)}
		return q
	}

	o := &op{kind: k, version: version{r.record.area.run, s.round, r.seq}, fua: fua, conn: conn, span: at}
	r.record.issue(o)
	s.pending[conn][r.seq] = &request{op: o}
	q.Offset, q.Length = r.record.area.number(at.first)*blockSize, uint32(at.count*blockSize)
	if fua {
		q.Flags |= nbdclient.FUA
	}
	switch k {
	case written:
		q.Cmd, q.Data = nbdclient.Write, data[:q.Length]
		for i := range at.count {
			o.version.fill(data[i*blockSize:][:blockSize], r.record.area.number(at.first+i))
		}
	case zeroed:
		q.Cmd = nbdclient.WriteZeroes
		if s.rng.IntN(2) == 0 {
			q.Flags |= nbdclient.NoHole
		}
	case trimmed:
		q.Cmd = nbdclient.Trim
	case reading:
		q.Cmd = nbdclient.Read
	}
	return q
}

// draw chooses what a request does, among what the server can; initial stands for a flush.
func (s *session) draw() (k kind, fua bool) {
	fua = s.flags&nbdclient.CanFUA != 0 && s.rng.IntN(5) == 0
	switch n := s.rng.IntN(100); {
	case n < 8:
		return initial, false
	case n < 16 && s.flags&nbdclient.CanZeroes != 0:
		return zeroed, fua
	case n < 22 && s.flags&nbdclient.CanTrim != 0:
		return trimmed, fua
	case n < 28:
		return reading, false
	}
	return written, fua
}

// receive takes replies on a connection until it ends.
func (s *session) receive(conn int, c *nbdclient.Conn, slots <-chan struct{}) {
	data, scratch := make([]byte, largeRequest), make([]byte, blockSize)
	for {
		reply, err := c.Receive()
		if err == nil {
			err = s.reply(conn, c, reply, data, scratch)
		}
		if err == nil {
			<-slots
			continue
		}
		s.mu.Lock()
		s.run.report.InFlight += len(s.pending[conn])
		if !s.killed || errors.Is(err, nbdclient.ErrProtocol) {
			s.failLocked(fmt.Errorf("connection %d ended before the kill: %w", conn, err))
		}
		s.mu.Unlock()
		return
	}
}

// reply acts on a reply.
func (s *session) reply(conn int, c *nbdclient.Conn, reply nbdclient.Reply, data, scratch []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.pending[conn][reply.Cookie]
	if q == nil {
		return fmt.Errorf("%w: a reply with cookie %d, which no request has", nbdclient.ErrProtocol, reply.Cookie)
	}
	if reply.Errno != 0 {
		s.failLocked(refusal(q, reply.Errno))
		return s.err
	}
	report, rec := s.run.report, s.run.record
	switch {
	case q.op == nil:
		report.Hardened += rec.flushed(q.covered)
		report.Requests["flush"]++
	case q.op.kind == reading:
		data = data[:q.op.span.count*blockSize]
		s.mu.Unlock() // the blocks are busy: nobody else touches them
		err := c.ReadData(data)
		s.mu.Lock()
		if err != nil {
			return err
		}
		s.verifyLocked(q.op, data, scratch)
	default:
		rec.answer(q.op)
		report.Requests[q.op.kind.String()]++
		if q.op.fua {
			report.FUA++
		}
		if q.op.kind == written {
			report.Written += q.op.span.count * blockSize
		}
	}
	delete(s.pending[conn], reply.Cookie)
	if s.replies++; s.replies == s.killAt {
		close(s.reached)
	}
	return nil
}

// verifyLocked checks what a read returned while nothing else was under way for its blocks.
func (s *session) verifyLocked(o *op, data, scratch []byte) {
	rec, report := s.run.record, s.run.report
	for i := range o.span.count {
		if v := rec.current(o.span.first+i, data[i*blockSize:][:blockSize], scratch); v != nil {
			v.Round = int(s.round)
			report.violation(v)
		}
	}
	rec.answer(o)
	report.ReadsVerified++
	report.Requests["read"]++
}

func refusal(q *request, errno syscall.Errno) error {
	what := "flush"
	if q.op != nil {
		what = fmt.Sprintf("%v of %d bytes", q.op.kind, q.op.span.count*blockSize)
	}
	return fmt.Errorf("the server refused a %s: %w", what, errno)
}

// expectEnd tells the receivers that the connections end by our doing from now on.
func (s *session) expectEnd() {
	s.mu.Lock()
	s.killed = true
	s.mu.Unlock()
}
