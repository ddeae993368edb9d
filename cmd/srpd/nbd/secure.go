package nbd

import (
	"net"
	"time"
	"unsafe"
)

// tlsConn is a TLS connection after its handshake.
//
// Ownership: Read is one goroutine's, Write and CloseWrite another's.
type tlsConn interface {
	//level:passive
	Read(b []byte) (int, error)
	//level:passive
	Write(b []byte) (int, error)
	// CloseWrite tells the other side that nothing more comes.
	//
	//level:passive
	CloseWrite() error
}

// secure is a TLS connection under NBD's.
//
// Ownership: read is the connection's reader's; seal and flush that of whoever
// holds the write flag; end comes when both have ended.
type secure struct {
	tls  tlsConn
	wire *wire
	nc   net.Conn

	stage  [sealSize]byte // plain text to become one record
	staged int
}

// read waits for plain text and returns what there is, up to what the pieces hold.
func (s *secure) read(pieces [][]byte) (total int, err error) {
	for _, b := range pieces {
		for len(b) > 0 {
			s.wire.atOnce = total > 0
			n, err := s.tls.Read(b)
			total += n
			b = b[n:]
			if err != nil {
				if total > 0 {
					return total, nil // the next read says it again
				}
				return 0, err
			}
		}
	}
	return total, nil
}

// add takes plain text to be sent, and returns how much of it.
func (s *secure) add(b []byte) (int, error) {
	if s.staged == 0 && len(b) >= sealSize {
		return s.tls.Write(b[:min(len(b)/sealSize, sealMany)*sealSize])
	}
	n := copy(s.stage[s.staged:], b)
	if s.staged += n; s.staged == sealSize {
		return n, s.seal()
	}
	return n, nil
}

// seal makes a record of what was added.
func (s *secure) seal() error {
	if s.staged == 0 {
		return nil
	}
	b := s.stage[:s.staged]
	s.staged = 0
	_, err := s.tls.Write(b)
	return err
}

// end tells the client that nothing more comes, if the socket takes it.
func (s *secure) end() {
	_ = s.nc.SetWriteDeadline(time.Now().Add(partingTime))
	if s.tls.CloseWrite() == nil {
		_, _ = s.wire.flush(true) // the client may have gone, and need not know
	}
}

// writeSecure is writeBatch through TLS. What is encrypted and not sent yet stays
// with the wire, and goes out first.
func (c *conn) writeSecure(wait bool) bool {
	s := c.secure
	for !c.dead.Load() {
		for c.at < c.end && s.wire.collected() < wireBuffer/2 {
			v := &c.iov[c.at]
			n, err := s.add(unsafe.Slice(v.Base, v.Len))
			if err != nil {
				c.broken(err)
				return true
			}
			c.advance(n)
		}
		if c.at == c.end {
			if err := s.seal(); err != nil {
				c.broken(err)
				return true
			}
		}
		since := c.hasten()
		done, err := s.wire.flush(wait)
		c.waited(since)
		c.exp.counters.Full.Add(s.wire.fulls)
		s.wire.fulls = 0
		switch {
		case err != nil:
			c.broken(err)
			return true
		case !done:
			return false
		case c.at == c.end:
			return true
		}
	}
	return true
}
