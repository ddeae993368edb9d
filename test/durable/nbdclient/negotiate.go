package nbdclient

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// ErrProtocol: the server sent what the protocol does not allow, or refused the export. It is at fault, or was asked
// for an export that it does not have.
var ErrProtocol = errors.New("NBD protocol")

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrProtocol}, args...)...)
}

const (
	magicInit   = 0x4e42444d41474943 // NBDMAGIC
	magicOption = 0x49484156454f5054 // IHAVEOPT
	magicReply  = 0x0003e889045565a9 // of an option

	handshakeFixed    = 1
	handshakeNoZeroes = 2

	optionGo      = 7
	infoExport    = 0
	infoBlockSize = 3

	replyAck  = 1
	replyInfo = 3
)

// Flags are an export's transmission flags.
type Flags uint16

const (
	HasFlags    Flags = 1 << 0
	ReadOnly    Flags = 1 << 1
	CanFlush    Flags = 1 << 2
	CanFUA      Flags = 1 << 3
	CanTrim     Flags = 1 << 5
	CanZeroes   Flags = 1 << 6
	CanMultiple Flags = 1 << 8 // a flush on one connection covers what was written on others
)

// Export is what the server said of the export.
type Export struct {
	Size     uint64 // bytes
	Flags    Flags
	MinBlock uint32 // bytes; 1 when the server did not say
	MaxBlock uint32 // bytes; the longest payload; 32 MiB when the server did not say
}

// handshakeTime bounds negotiation.
const handshakeTime = 10 * time.Second

// Dial connects and negotiates, up to the transmission phase. Errors: ErrProtocol, the network's, ctx's.
func Dial(ctx context.Context, a Address) (*Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, a.Network, a.Address)
	if err != nil {
		return nil, err
	}
	c := newConn(nc)
	nc.SetDeadline(time.Now().Add(handshakeTime))
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	err = c.negotiate(a.Export)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("negotiating with %s: %w", a.Address, err)
	}
	nc.SetDeadline(time.Time{})
	return c, nil
}

func (c *Conn) negotiate(export string) error {
	var hello [18]byte
	if _, err := io.ReadFull(c.r, hello[:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint64(hello[:]) != magicInit || binary.BigEndian.Uint64(hello[8:]) != magicOption {
		return broken("the greeting is % x", hello)
	}
	flags := binary.BigEndian.Uint16(hello[16:])
	if flags&handshakeFixed == 0 {
		return broken("handshake flags %#x: the server is not of the fixed newstyle", flags)
	}

	// Client flags, then NBD_OPT_GO with the export's name, asking for the block sizes.
	b := binary.BigEndian.AppendUint32(nil, uint32(flags&(handshakeFixed|handshakeNoZeroes)))
	b = binary.BigEndian.AppendUint64(b, magicOption)
	b = binary.BigEndian.AppendUint32(b, optionGo)
	b = binary.BigEndian.AppendUint32(b, uint32(4+len(export)+2+2))
	b = binary.BigEndian.AppendUint32(b, uint32(len(export)))
	b = append(b, export...)
	b = binary.BigEndian.AppendUint16(b, 1)
	b = binary.BigEndian.AppendUint16(b, infoBlockSize)
	if _, err := c.nc.Write(b); err != nil {
		return err
	}

	c.Export = Export{MinBlock: 1, MaxBlock: 32 << 20}
	exported := false
	for {
		var head [20]byte
		if _, err := io.ReadFull(c.r, head[:]); err != nil {
			return err
		}
		typ, length := binary.BigEndian.Uint32(head[12:]), binary.BigEndian.Uint32(head[16:])
		if binary.BigEndian.Uint64(head[:]) != magicReply || binary.BigEndian.Uint32(head[8:]) != optionGo || length > 64<<10 {
			return broken("the reply to NBD_OPT_GO is % x", head)
		}
		data := make([]byte, length)
		if _, err := io.ReadFull(c.r, data); err != nil {
			return err
		}
		switch {
		case typ == replyAck && exported:
			return c.Export.check()
		case typ == replyInfo && len(data) == 12 && binary.BigEndian.Uint16(data) == infoExport:
			c.Export.Size = binary.BigEndian.Uint64(data[2:])
			c.Export.Flags = Flags(binary.BigEndian.Uint16(data[10:]))
			exported = true
		case typ == replyInfo && len(data) == 14 && binary.BigEndian.Uint16(data) == infoBlockSize:
			c.Export.MinBlock = binary.BigEndian.Uint32(data[2:])
			c.Export.MaxBlock = binary.BigEndian.Uint32(data[10:])
		case typ == replyInfo && len(data) >= 2:
		case typ>>31 != 0:
			return broken("export %q refused with %#x: %s", export, typ, data)
		default:
			return broken("the reply to NBD_OPT_GO is of type %#x, with % x", typ, data)
		}
	}
}

func (e *Export) check() error {
	if e.MinBlock == 0 || e.MinBlock&(e.MinBlock-1) != 0 || e.MinBlock > 64<<10 || e.MaxBlock < e.MinBlock || e.Flags&HasFlags == 0 {
		return broken("impossible export %+v", *e)
	}
	return nil
}
