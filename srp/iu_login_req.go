package srp

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// LoginFlags is the flags byte of SRP_LOGIN_REQ (SRP r16a table 9, and SRP-2 for immediate data).
type LoginFlags uint8

const (
	LoginSingleChannel   LoginFlags = 0x00 // MULTI-CHANNEL ACTION: end the nexus' other channels
	LoginMultiChannel    LoginFlags = 0x01 // MULTI-CHANNEL ACTION: one of several independent channels
	LoginChannelMask     LoginFlags = 0x03 // the bits of MULTI-CHANNEL ACTION
	LoginLogoutNotify    LoginFlags = 0x10 // LOSOLNT: send SRP_T_LOGOUT as a solicited event
	LoginCreditNotify    LoginFlags = 0x20 // CRSOLNT: send SRP_CRED_REQ as a solicited event
	LoginAERNotify       LoginFlags = 0x40 // AESOLNT: send SRP_AER_REQ as a solicited event
	LoginImmediateWanted LoginFlags = 0x80 // immediate data requested; ImmediateOffset is valid
)

// BufferFormats is the set of data buffer descriptor formats that a login asks for, or that a target supports.
// Immediate data is not in it; a flag of its own asks for that.
type BufferFormats uint16

const (
	BufferDirect   BufferFormats = 0x0002 // DDBD: direct data buffer descriptors
	BufferIndirect BufferFormats = 0x0004 // IDBD: indirect data buffer descriptors
)

func (f BufferFormats) String() string {
	var words []string
	if f&BufferDirect != 0 {
		words = append(words, "direct")
	}
	if f&BufferIndirect != 0 {
		words = append(words, "indirect")
	}
	if rest := f &^ (BufferDirect | BufferIndirect); rest != 0 || f == 0 {
		words = append(words, fmt.Sprintf("0x%04x", uint16(rest)))
	}
	return strings.Join(words, "+")
}

// LoginReq is SRP_LOGIN_REQ (SRP r16a clause 6.2). It has two forms: the 64 bytes of IB CM, and 56 bytes with the
// same fields in another order for RDMA CM.
type LoginReq struct {
	Tag             uint64
	MaxITIULen      uint32        // REQUESTED MAXIMUM INITIATOR TO TARGET IU LENGTH, bytes, at least 64
	BufferFormats   BufferFormats // REQUIRED BUFFER FORMATS
	Flags           LoginFlags
	ImmediateOffset uint16 // from the start of an SRP_CMD to its immediate data, bytes; with LoginImmediateWanted
	Initiator       PortID
	Target          PortID

	fault fault
}

// Encode writes the IB CM form to b and returns its length, LoginReqLen. It fails with a FormatError if b is shorter.
func (r *LoginReq) Encode(b []byte) (n int, err error) {
	if err := r.fault.room(b, OpLoginReq, LoginReqLen); err != nil {
		return 0, err
	}
	binary.BigEndian.PutUint64(b[8:], r.Tag)
	binary.BigEndian.PutUint32(b[16:], r.MaxITIULen)
	binary.BigEndian.PutUint16(b[24:], uint16(r.BufferFormats))
	b[26] = byte(r.Flags)
	binary.BigEndian.PutUint16(b[28:], r.ImmediateOffset)
	copy(b[32:48], r.Initiator[:])
	copy(b[48:64], r.Target[:])
	return LoginReqLen, nil
}

// Decode reads the IB CM form. It fails with a FormatError if b is shorter than LoginReqLen or something else;
// whether the values are acceptable is the target port's to say. Bytes after the IU are ignored.
func (r *LoginReq) Decode(b []byte) error {
	*r = LoginReq{}
	if err := r.fault.received(b, OpLoginReq, LoginReqLen); err != nil {
		return err
	}
	r.Tag = binary.BigEndian.Uint64(b[8:])
	r.MaxITIULen = binary.BigEndian.Uint32(b[16:])
	r.BufferFormats = BufferFormats(binary.BigEndian.Uint16(b[24:]))
	r.Flags = LoginFlags(b[26])
	r.ImmediateOffset = binary.BigEndian.Uint16(b[28:])
	copy(r.Initiator[:], b[32:48])
	copy(r.Target[:], b[48:64])
	return nil
}

// EncodeRDMACM writes the RDMA CM form to b and returns its length, LoginReqRDMACMLen. It fails with a FormatError if
// b is shorter.
func (r *LoginReq) EncodeRDMACM(b []byte) (n int, err error) {
	if len(b) < LoginReqRDMACMLen {
		return 0, r.fault.fail(OpLoginReq, "buffer length", uint64(len(b)), AtLeast, LoginReqRDMACMLen)
	}
	clear(b[:LoginReqRDMACMLen])
	binary.BigEndian.PutUint64(b, r.Tag)
	binary.BigEndian.PutUint16(b[8:], uint16(r.BufferFormats))
	b[10] = byte(r.Flags)
	b[11] = byte(OpLoginReq)
	binary.BigEndian.PutUint32(b[12:], r.MaxITIULen)
	copy(b[16:32], r.Initiator[:])
	copy(b[32:48], r.Target[:])
	binary.BigEndian.PutUint16(b[48:], r.ImmediateOffset)
	return LoginReqRDMACMLen, nil
}

// DecodeRDMACM reads the RDMA CM form, as Decode does the other.
func (r *LoginReq) DecodeRDMACM(b []byte) error {
	*r = LoginReq{}
	if len(b) < LoginReqRDMACMLen {
		return r.fault.fail(OpLoginReq, "length received", uint64(len(b)), AtLeast, LoginReqRDMACMLen)
	}
	if Opcode(b[11]) != OpLoginReq {
		return r.fault.fail(OpLoginReq, "type", uint64(b[11]), Exactly, uint64(OpLoginReq))
	}
	r.Tag = binary.BigEndian.Uint64(b)
	r.BufferFormats = BufferFormats(binary.BigEndian.Uint16(b[8:]))
	r.Flags = LoginFlags(b[10])
	r.MaxITIULen = binary.BigEndian.Uint32(b[12:])
	copy(r.Initiator[:], b[16:32])
	copy(r.Target[:], b[32:48])
	r.ImmediateOffset = binary.BigEndian.Uint16(b[48:])
	return nil
}
