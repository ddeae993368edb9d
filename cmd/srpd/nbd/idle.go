package nbd

import (
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watchIdle ends connections that have done nothing for the time that
// Config.IdleTimeout says. It is a goroutine of Server, which Shutdown awaits.
func (s *Server) watchIdle() {
	defer s.wg.Done()
	tick := time.NewTicker(max(s.cfg.IdleTimeout/idleTicks, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.endIdle(time.Now())
		case <-s.done:
			return
		}
	}
}

// endIdle stops the connections that are idle at a time. Those with a request under
// way are not.
func (s *Server) endIdle(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.conn == nil {
			continue
		}
		retired := c.conn.retired.Load()
		busy := c.conn.submitted.Load() != retired
		switch {
		case busy || retired != c.seen || c.since.IsZero():
			c.seen, c.since = retired, now
		case now.Sub(c.since) >= s.cfg.IdleTimeout:
			c.conn.log.Info("nbd client ended: idle", keyLimit, s.cfg.IdleTimeout)
			c.conn.stop()
			c.since = now
		}
	}
}

// keepAlive has the kernel find out when a TCP peer is no longer there, also when
// it only takes no replies.
func keepAlive(nc net.Conn, d time.Duration) error {
	t, ok := nc.(*net.TCPConn)
	if !ok || d < 0 {
		return nil
	}
	err := t.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: true, Idle: d, Interval: max(d/keepAliveProbes, time.Second), Count: keepAliveProbes,
	})
	if err != nil {
		return err
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return err
	}
	cerr := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int((2 * d).Milliseconds()))
	})
	if cerr != nil {
		return cerr
	}
	return err
}

// sendBuffer has a unix socket hold replies of sendSize bytes, or as many as the system lets this process have. What a
// client sends is in buffers of its own.
func sendBuffer(raw syscall.RawConn) error {
	var err error
	cerr := raw.Control(func(fd uintptr) {
		// The first needs CAP_NET_ADMIN. Both count twice what is asked for, for the kernel's own needs.
		if err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendSize); err != nil {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, sendSize)
		}
	})
	return errors.Join(cerr, err)
}
