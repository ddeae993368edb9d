package nbd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// session is an accepted connection.
//
// Ownership: its goroutine's, but what Server.mu guards.
type session struct {
	nc     net.Conn // fixed
	quota  *quota   // fixed
	client Client
	secure *secure // nil without TLS
	extra  int64   // bytes that secure takes of the limits

	// Guarded by Server.mu.
	conn  *conn   // nil while it negotiates
	exp   *export // set when it is attached
	seen  uint64  // of watchIdle: replies, and since when they are as many
	since time.Time
}

// Serve accepts clients from l until Shutdown, also one that came before, and
// returns nil then. It closes l.
//
//level:passive
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return l.Close()
	}
	s.serving[l] = struct{}{}
	if s.cfg.IdleTimeout > 0 && !s.watching {
		s.watching = true
		s.wg.Add(1)
		go s.watchIdle()
	}
	s.mu.Unlock()
	defer func() {
		_ = l.Close()
		s.mu.Lock()
		delete(s.serving, l)
		s.mu.Unlock()
	}()
	var failures int
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			if failures > 0 {
				s.cfg.Log.Info("nbd clients are accepted again", keyAddress, l.Addr().String(), keyCount, failures)
				failures = 0
			}
			s.admit(nc)
		case s.closing():
			return nil
		case !passing(err):
			return fmt.Errorf("accept on %v: %w", l.Addr(), err)
		default:
			if failures++; failures == 1 {
				s.cfg.Log.Warn("nbd client not accepted; trying again every 100 ms", keyAddress, l.Addr().String(), keyError, err)
			}
			select {
			case <-time.After(acceptPause):
			case <-s.done:
				return nil
			}
		}
	}
}

// passing reports whether an error of accept may be gone at the next try: the
// limits on descriptors and memory, and clients that have left already.
func passing(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// admit starts the goroutine of a connection, unless there are too many.
func (s *Server) admit(nc net.Conn) {
	c := &session{nc: nc, client: clientOf(nc)}
	s.mu.Lock()
	s.accepted++
	limit := 0
	switch {
	case s.closed:
	case len(s.conns) >= s.cfg.MaxConns:
		limit = s.cfg.MaxConns
	default:
		if c.quota = s.quotas.enter(c.client.key()); c.quota == nil {
			limit = s.cfg.MaxClientConns
		}
	}
	if c.quota == nil {
		s.refused++
		s.mu.Unlock()
		_ = nc.Close()
		if limit == 0 {
			return
		}
		if n, ok := s.full.ask(time.Now()); ok {
			s.cfg.Log.Warn("nbd client refused: too many connections", keyClient, c.client, keyLimit, limit, keyCount, n+1)
		}
		return
	}
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.wg.Done()
		s.serveConn(context.Background(), c)
		_ = nc.Close()
		c.quota.leave()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
}

// serveConn negotiates and transmits.
func (s *Server) serveConn(ctx context.Context, c *session) {
	log := s.cfg.Log.With(keyClient, c.client)
	sc, ok := c.nc.(syscall.Conn)
	if !ok {
		log.Error("nbd client refused: its socket has no descriptor")
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		log.Error("nbd client refused", keyError, err)
		return
	}
	if err := keepAlive(c.nc, s.cfg.KeepAlive); err != nil {
		log.Warn("nbd client's socket takes no keep-alive", keyError, err)
	}
	if c.client.Unix {
		if err := sendBuffer(raw); err != nil {
			log.Warn("nbd client's socket takes no larger buffer", keyError, err)
		}
	}
	var mem *memory
	n := &negotiation{rw: c.nc, catalog: visible{s, &c.client}, tls: s.tlsMode(&c.client)}
	n.attach = func(e *export) (err error) {
		mem, err = s.attach(ctx, c, e)
		return err
	}
	n.startTLS = func() (io.ReadWriter, error) {
		if err := s.startTLS(ctx, c, raw); err != nil {
			return nil, err
		}
		log = s.cfg.Log.With(keyClient, c.client)
		return c.secure.tls, nil
	}
	defer func() {
		if c.exp != nil {
			s.ended(c.exp, c.conn, log)
			c.quota.put(mem.size())
			if err := c.exp.pool.put(ctx, mem); err != nil {
				log.Error("nbd memory not released", keyError, err)
			}
			c.exp.users.Done()
		}
		c.quota.put(c.extra)
		s.budget.put(c.extra)
	}()
	_ = c.nc.SetDeadline(time.Now().Add(s.cfg.NegotiateTimeout))
	if _, err := n.run(); err != nil {
		s.failed(log, err)
		return
	}
	conn := newConn(c.nc, &s.cfg, raw, c.secure, c.exp, mem, c.quota, &s.lookers, n.terms(c.exp), log.With(keyExport, c.exp.name))
	if !s.begin(c, conn) {
		return
	}
	conn.log.Info("nbd client connected")
	c.exp.counters.Accepted.Add(1)
	c.exp.counters.Connections.Add(1)
	err = conn.run(ctx)
	c.exp.counters.Connections.Add(-1)
	var broken *ProtocolError
	switch {
	case err == nil:
		conn.log.Info("nbd client disconnected")
	case errors.As(err, &broken):
		c.exp.counters.Broken.Add(1)
		conn.log.Warn("nbd connection closed", keyError, err)
	case errors.Is(err, errStalled):
		c.exp.counters.Cut.Add(1)
		conn.log.Warn("nbd connection cut off", keyError, err, keyLimit, s.cfg.PayloadTimeout)
	case errors.Is(err, errNotTaken):
		c.exp.counters.Cut.Add(1)
		conn.log.Warn("nbd connection cut off at the end", keyError, err, keyLimit, s.cfg.PartingTime)
	case gone(err):
		conn.log.Info("nbd client went away without a disconnect")
	default:
		conn.log.Warn("nbd connection failed", keyError, err)
	}
}

// tlsMode returns the mode of a connection.
func (s *Server) tlsMode(c *Client) TLSMode {
	if c.Unix && s.cfg.TLS == TLSRequire {
		return TLSOn // nobody is in between
	}
	return s.cfg.TLS
}

// startTLS makes the connection one over TLS.
func (s *Server) startTLS(ctx context.Context, c *session, raw syscall.RawConn) error {
	if !c.quota.take(secureMemory) {
		return fmt.Errorf("TLS: %w", ErrClientMemory)
	}
	if !s.budget.take(secureMemory) {
		c.quota.put(secureMemory)
		return fmt.Errorf("TLS: %w", ErrMemory)
	}
	c.extra = secureMemory
	w := newWire(c.nc, raw)
	conn, name, stale, err := s.cfg.Credentials.handshake(ctx, w)
	if stale != nil {
		if n, ok := s.stale.ask(time.Now()); ok {
			s.cfg.Log.Error("TLS goes on with what was read before", keyError, stale, keyCount, n+1)
		}
	}
	if err != nil {
		return &handshakeError{err}
	}
	c.secure = &secure{tls: conn, wire: w, nc: c.nc}
	c.client.TLS, c.client.Name = true, name
	return nil
}

// attach takes memory for a connection and counts it as a user of the export.
func (s *Server) attach(ctx context.Context, c *session, e *export) (*memory, error) {
	if !c.quota.take(int64(s.cfg.ConnMemory)) {
		return nil, ErrClientMemory
	}
	m, err := s.getMemory(ctx, e)
	if err != nil {
		c.quota.put(int64(s.cfg.ConnMemory))
		return nil, err
	}
	s.mu.Lock()
	c.exp = e
	e.backing.conns++
	s.mu.Unlock()
	return m, nil
}

// getMemory takes memory for a connection and counts it as a user of the export.
func (s *Server) getMemory(ctx context.Context, e *export) (*memory, error) {
	s.mu.Lock()
	if e.removed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	e.users.Add(1)
	s.mu.Unlock()
	m, err := e.pool.get(ctx)
	if err != nil {
		e.users.Done()
		return nil, err
	}
	return m, nil
}

// reclaim frees the memory that is kept for connections to come.
func (s *Server) reclaim(ctx context.Context) {
	for _, x := range s.exports() {
		if err := x.pool.trim(ctx); err != nil {
			s.cfg.Log.Error("idle nbd memory not released", keyExport, x.name, keyError, err)
		}
	}
}

// begin ends the negotiation: from here on the connection is stopped, not closed.
// It reports false when it is too late.
func (s *Server) begin(c *session, conn *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || c.exp.removed {
		return false
	}
	c.conn = conn
	_ = c.nc.SetDeadline(time.Time{})
	if c.secure != nil {
		c.secure.wire.begin()
	}
	return true
}

// failed counts and logs a negotiation that came to nothing.
func (s *Server) failed(log *slog.Logger, err error) {
	var broken *ProtocolError
	var shake *handshakeError
	switch {
	case errors.Is(err, errAborted) || gone(err) && !errors.Is(err, io.ErrUnexpectedEOF) || s.closing():
		log.Debug("nbd negotiation ended", keyError, err)
	case errors.As(err, &shake) && !errors.Is(err, os.ErrDeadlineExceeded):
		s.bump(&s.untrusted)
		log.Warn("nbd connection closed: no TLS with this client", keyError, err)
	case errors.As(err, &broken):
		s.bump(&s.broken)
		log.Warn("nbd connection closed in negotiation", keyError, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.bump(&s.timedOut)
		log.Warn("nbd connection closed: negotiation took too long", keyLimit, s.cfg.NegotiateTimeout)
	default:
		log.Warn("nbd negotiation failed", keyError, err)
	}
}

func (s *Server) bump(n *uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}
