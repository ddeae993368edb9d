package nbdclient

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"syscall"
)

const (
	magicRequest = 0x25609513
	magicSimple  = 0x67446698
)

// Command is a request's type.
type Command uint16

const (
	Read        Command = 0
	Write       Command = 1
	Disconnect  Command = 2
	Flush       Command = 3
	Trim        Command = 4
	WriteZeroes Command = 6
)

// CommandFlags are a request's flags.
type CommandFlags uint16

const (
	FUA    CommandFlags = 1 << 0
	NoHole CommandFlags = 1 << 1 // of WriteZeroes
)

// Request is a request to send.
type Request struct {
	Cookie uint64
	Cmd    Command
	Flags  CommandFlags
	Offset uint64
	Length uint32
	Data   []byte // of Write, Length bytes
}

// Reply is a simple reply. The data of a read follows it: read it with ReadData before the next Receive.
type Reply struct {
	Cookie uint64
	Errno  syscall.Errno // 0 for success; NBD's numbers are Linux's
}

// Conn is a connection in the transmission phase.
//
// Ownership: Send, and Receive with ReadData, belong to one goroutine each. Export does not change.
type Conn struct {
	Export Export

	nc     net.Conn
	r      *bufio.Reader
	header [28]byte
	answer [16]byte
	cookie uint64
}

func newConn(nc net.Conn) *Conn { return &Conn{nc: nc, r: bufio.NewReaderSize(nc, 64<<10)} }

// Close ends the connection without a word to the server.
func (c *Conn) Close() error { return c.nc.Close() }

// Send sends a request. An error leaves open how much of it the server has got.
func (c *Conn) Send(q *Request) error {
	b := c.header[:]
	binary.BigEndian.PutUint32(b, magicRequest)
	binary.BigEndian.PutUint16(b[4:], uint16(q.Flags))
	binary.BigEndian.PutUint16(b[6:], uint16(q.Cmd))
	binary.BigEndian.PutUint64(b[8:], q.Cookie)
	binary.BigEndian.PutUint64(b[16:], q.Offset)
	binary.BigEndian.PutUint32(b[24:], q.Length)
	if q.Cmd != Write {
		_, err := c.nc.Write(b)
		return err
	}
	bufs := net.Buffers{b, q.Data}
	_, err := bufs.WriteTo(c.nc)
	return err
}

// Receive waits for the next reply. Errors: io.EOF when the connection has ended before it, ErrProtocol, the network's.
func (c *Conn) Receive() (Reply, error) {
	if _, err := io.ReadFull(c.r, c.answer[:]); err != nil {
		return Reply{}, err
	}
	if binary.BigEndian.Uint32(c.answer[:]) != magicSimple {
		return Reply{}, broken("not a simple reply: % x", c.answer)
	}
	return Reply{
		Errno:  syscall.Errno(binary.BigEndian.Uint32(c.answer[4:])),
		Cookie: binary.BigEndian.Uint64(c.answer[8:]),
	}, nil
}

// ReadData fills b with the data that follow the reply of a successful read.
func (c *Conn) ReadData(b []byte) error {
	_, err := io.ReadFull(c.r, b)
	return err
}

// Do sends a request, under a cookie of its own, and waits for its reply; the data of a read are put into into. The
// server's refusal is returned as its errno.
func (c *Conn) Do(q Request, into []byte) error {
	c.cookie++
	q.Cookie = c.cookie
	if err := c.Send(&q); err != nil {
		return err
	}
	reply, err := c.Receive()
	switch {
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	case reply.Cookie != q.Cookie:
		return broken("a reply with cookie %d to request %d", reply.Cookie, q.Cookie)
	case reply.Errno != 0:
		return reply.Errno
	}
	if q.Cmd == Read {
		return c.ReadData(into)
	}
	return nil
}
