package psk

import (
	"errors"
	"io"
	"net"
)

// Conn is a TLS connection.
//
// Ownership: made by Server; Read is one goroutine's at a time, Write and CloseWrite
// another's. The socket is the caller's.
type Conn struct {
	identity string // fixed after the handshake

	in    inbound
	plain []byte // read and not handed out; a piece of in.buf
	hand  []byte // of a handshake message that goes on in the next record
	ended error  // of Read

	out outbound
}

func newConn(nc net.Conn) *Conn {
	c := &Conn{}
	c.in.src, c.out.dst = nc, nc
	c.out.buf = make([]byte, 0, headerSize+maxSealed)
	return c
}

// Identity returns whose key the client has shown that it has.
func (c *Conn) Identity() string { return c.identity }

// failed tells the client what is wrong, if it is that, and returns the error.
func (c *Conn) failed(err error) error {
	var e *Error
	if errors.As(err, &e) {
		_ = c.out.alert(e.Alert) // the client need not be there any more
	}
	return err
}

// Read waits for data and returns some. The error is io.EOF when the client has said
// that nothing more comes, and io.ErrUnexpectedEOF when it is gone without a word.
//
//level:passive
func (c *Conn) Read(b []byte) (int, error) {
	for len(c.plain) == 0 && len(b) > 0 {
		if c.ended != nil {
			return 0, c.ended
		}
		if err := c.next(); err != nil {
			if e, ok := err.(net.Error); ok && e.Timeout() {
				return 0, err // and goes on where it was
			}
			c.ended = c.failed(err)
		}
	}
	n := copy(b, c.plain)
	c.plain = c.plain[n:]
	return n, nil
}

// next takes a record.
func (c *Conn) next() error {
	k, body, err := c.in.record()
	switch {
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	case k == kindAlert && len(c.hand) == 0:
		return alertOf(body)
	case k == kindHandshake && len(body) > 0:
		return c.handshake(body)
	case k == kindData && len(c.hand) == 0:
		c.plain = body
		return nil
	}
	return wrong(alertUnexpectedMessage, "record of type %d and %d bytes where there can be none", k, len(body))
}

// handshake takes what comes of handshake messages, of which there is one: KeyUpdate, the last of its record (4.6.3).
func (c *Conn) handshake(body []byte) error {
	c.hand = append(c.hand, body...)
	const size = messageHeader + 1
	switch {
	case c.hand[0] != typeKeyUpdate, len(c.hand) > size:
		return wrong(alertUnexpectedMessage, "handshake message of type %d and %d bytes after the handshake", c.hand[0], len(c.hand))
	case len(c.hand) < size:
		return nil
	case c.hand[1] != 0 || c.hand[2] != 0 || c.hand[3] != 1:
		return wrong(alertDecodeError, "length of a key update is wrong")
	case c.hand[4] > 1:
		return wrong(alertIllegalParameter, "key update of kind %d", c.hand[4])
	}
	if c.hand[4] == 1 {
		c.out.owed.Store(true)
	}
	c.hand = c.hand[:0]
	c.in.keys.update()
	return nil
}

// alertOf returns the error that an alert is; nil if it is none.
func alertOf(body []byte) error {
	if len(body) != 2 {
		return wrong(alertDecodeError, "alert of %d bytes", len(body))
	}
	switch a := Alert(body[1]); a {
	case alertCloseNotify:
		return io.EOF
	case alertUserCanceled:
		return nil // a close_notify follows (6.1)
	default:
		return &RemoteError{a}
	}
}

// Write sends data. After an error nothing is sent any more.
//
//level:passive
func (c *Conn) Write(b []byte) (n int, err error) {
	o := &c.out
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(b) > 0 {
		if o.closed != nil {
			return n, o.closed
		}
		// A client that asks for other keys gets them before the next data.
		if o.owed.Swap(false) || o.keys.seq >= rekeyAfter {
			o.sealLocked(kindHandshake, []byte{typeKeyUpdate, 0, 0, 1, 0})
			if err := o.flushLocked(); err != nil {
				return n, err
			}
			o.keys.update()
		}
		k := min(len(b), maxPlain)
		o.sealLocked(kindData, b[:k])
		if err := o.flushLocked(); err != nil {
			return n, err
		}
		n += k
		b = b[k:]
	}
	return n, nil
}

// CloseWrite tells the client that nothing more comes.
//
//level:passive
func (c *Conn) CloseWrite() error { return c.out.alert(alertCloseNotify) }
