package srp_test

import (
	"fmt"

	"minisrp/srp"
)

// immediateOffset is what Linux asks for at login, and what the captures use.
const immediateOffset = 68

type codec interface {
	Encode(b []byte) (int, error)
	Decode(b []byte) error
}

// rdmaCMLoginReq and command give the two that are different the shape of the others.
type rdmaCMLoginReq struct{ srp.LoginReq }

func (r *rdmaCMLoginReq) Encode(b []byte) (int, error) { return r.EncodeRDMACM(b) }
func (r *rdmaCMLoginReq) Decode(b []byte) error        { return r.DecodeRDMACM(b) }

type command struct{ srp.Command }

func (c *command) Decode(b []byte) error { return c.Command.Decode(b, immediateOffset) }

func (c *command) Encode(b []byte) (int, error) {
	n, err := c.Command.Encode(b, immediateOffset)
	if err != nil || c.DataOut.Format != srp.DataImmediate {
		return n, err
	}
	return n + copy(b[n:], c.ImmediateData), nil
}

// codecFor returns the decoder for an IU, nil if it has none; cmREQ for what RDMA CM carries in a REQ.
func codecFor(b []byte, cmREQ bool) codec {
	if cmREQ {
		return new(rdmaCMLoginReq)
	}
	op, _, ok := srp.Peek(b)
	if !ok {
		return nil
	}
	switch op {
	case srp.OpLoginReq:
		return new(srp.LoginReq)
	case srp.OpLoginRsp:
		return new(srp.LoginRsp)
	case srp.OpLoginRej:
		return new(srp.LoginRej)
	case srp.OpILogout:
		return new(srp.ILogout)
	case srp.OpTLogout:
		return new(srp.TLogout)
	case srp.OpTaskManagement:
		return new(srp.TaskManagement)
	case srp.OpCommand:
		return new(command)
	case srp.OpResponse:
		return new(srp.Response)
	case srp.OpCredReq:
		return new(srp.CredReq)
	case srp.OpCredRsp:
		return new(srp.CredRsp)
	case srp.OpAERReq:
		return new(srp.AERReq)
	case srp.OpAERRsp:
		return new(srp.AERRsp)
	}
	return nil
}

// reencode decodes b and encodes what it got.
func reencode(c codec, b []byte) ([]byte, error) {
	if err := c.Decode(b); err != nil {
		return nil, err
	}
	out := make([]byte, len(b))
	n, err := c.Encode(out)
	if err != nil {
		return nil, fmt.Errorf("decoded, but does not encode: %w", err)
	}
	return out[:n], nil
}
