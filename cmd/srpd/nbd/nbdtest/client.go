package nbdtest

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// Client is a client of an NBD server for tests: one request at a time, in the oldest form of the protocol.
//
// Ownership: one goroutine's.
type Client struct {
	nc     net.Conn
	Size   uint64
	Flags  uint16 // transmission flags
	cookie uint64
}

// Errno is an error that the server answered with.
type Errno uint32

func (e Errno) Error() string { return fmt.Sprintf("NBD error %d", uint32(e)) }

// Commands and flags of Client.Do.
const (
	Read        = 0
	Write       = 1
	Flush       = 3
	Trim        = 4
	WriteZeroes = 6
	FUA         = 1
	NoHole      = 2
)

// Dial connects to an export at a unix socket.
func Dial(socket, export string) (*Client, error) {
	nc, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	c := &Client{nc: nc}
	if err := c.negotiate(export); err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("negotiation: %w", err)
	}
	return c, nil
}

func (c *Client) negotiate(export string) error {
	b := make([]byte, 18)
	if _, err := io.ReadFull(c.nc, b); err != nil {
		return err
	}
	b = append([]byte("\x00\x00\x00\x03IHAVEOPT\x00\x00\x00\x01"), 0, 0, 0, byte(len(export))) // EXPORT_NAME
	if _, err := c.nc.Write(append(b, export...)); err != nil {
		return err
	}
	b = make([]byte, 10)
	if _, err := io.ReadFull(c.nc, b); err != nil {
		return err
	}
	c.Size, c.Flags = binary.BigEndian.Uint64(b), binary.BigEndian.Uint16(b[8:])
	return nil
}

// Do sends a request and waits for the reply. p is what Write sends, or where Read puts what comes; of the others n is
// the length. Errors: Errno; those of the socket.
func (c *Client) Do(cmd, flags uint16, offset uint64, p []byte, n uint32) error {
	c.cookie++
	if cmd == Read || cmd == Write {
		n = uint32(len(p))
	}
	b := make([]byte, 0, 28+len(p))
	for _, v := range []any{uint32(0x25609513), flags, cmd, c.cookie, offset, n} {
		b, _ = binary.Append(b, binary.BigEndian, v) // never fails: all are numbers
	}
	if cmd == Write {
		b = append(b, p...)
	}
	if _, err := c.nc.Write(b); err != nil {
		return err
	}
	var h [16]byte
	if _, err := io.ReadFull(c.nc, h[:]); err != nil {
		return err
	}
	switch e := binary.BigEndian.Uint32(h[4:]); {
	case binary.BigEndian.Uint32(h[:]) != 0x67446698 || binary.BigEndian.Uint64(h[8:]) != c.cookie:
		return fmt.Errorf("reply %x to request %d", h, c.cookie)
	case e != 0:
		return Errno(e)
	case cmd == Read:
		_, err := io.ReadFull(c.nc, p)
		return err
	}
	return nil
}

// Close says goodbye.
func (c *Client) Close() error {
	b := make([]byte, 28)
	copy(b, "\x25\x60\x95\x13\x00\x00\x00\x02") // DISC
	_, err := c.nc.Write(b)
	if cerr := c.nc.Close(); err == nil {
		err = cerr
	}
	return err
}
