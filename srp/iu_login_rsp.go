package srp

import "encoding/binary"

// LoginRspFlags is the flags byte of SRP_LOGIN_RSP.
type LoginRspFlags uint8

const (
	ChannelsNone       LoginRspFlags = 0x00 // MULTI-CHANNEL RESULT: there was no other channel
	ChannelsTerminated LoginRspFlags = 0x01 // MULTI-CHANNEL RESULT: the nexus' other channels were ended
	ChannelsMaintained LoginRspFlags = 0x02 // MULTI-CHANNEL RESULT: the nexus' other channels go on
	ChannelsMask       LoginRspFlags = 0x03 // the bits of MULTI-CHANNEL RESULT
	SolicitedSupported LoginRspFlags = 0x10 // SOLNTSUP: the target honours solicited notification
	ImmediateSupported LoginRspFlags = 0x80 // immediate data may be sent, at the offset that was asked for
)

// LoginRsp is SRP_LOGIN_RSP (SRP r16a clause 6.3).
type LoginRsp struct {
	RequestLimitDelta int32 // the credit to begin with
	Tag               uint64
	MaxITIULen        uint32 // MAXIMUM INITIATOR TO TARGET IU LENGTH, bytes
	MaxTIIULen        uint32 // MAXIMUM TARGET TO INITIATOR IU LENGTH, bytes: how long a receive must be
	BufferFormats     BufferFormats
	Flags             LoginRspFlags

	fault fault
}

// Encode writes the IU to b and returns its length, LoginRspLen. It fails with a FormatError if b is shorter.
func (r *LoginRsp) Encode(b []byte) (n int, err error) {
	if err := r.fault.room(b, OpLoginRsp, LoginRspLen); err != nil {
		return 0, err
	}
	binary.BigEndian.PutUint32(b[4:], uint32(r.RequestLimitDelta))
	binary.BigEndian.PutUint64(b[8:], r.Tag)
	binary.BigEndian.PutUint32(b[16:], r.MaxITIULen)
	binary.BigEndian.PutUint32(b[20:], r.MaxTIIULen)
	binary.BigEndian.PutUint16(b[24:], uint16(r.BufferFormats))
	b[26] = byte(r.Flags)
	return LoginRspLen, nil
}

// Decode reads the IU from b, a CM REP's private data. It fails with a FormatError if b is shorter than LoginRspLen
// or something else; whether the values are acceptable is the login's to say.
func (r *LoginRsp) Decode(b []byte) error {
	*r = LoginRsp{}
	if err := r.fault.received(b, OpLoginRsp, LoginRspLen); err != nil {
		return err
	}
	r.RequestLimitDelta = int32(binary.BigEndian.Uint32(b[4:]))
	r.Tag = binary.BigEndian.Uint64(b[8:])
	r.MaxITIULen = binary.BigEndian.Uint32(b[16:])
	r.MaxTIIULen = binary.BigEndian.Uint32(b[20:])
	r.BufferFormats = BufferFormats(binary.BigEndian.Uint16(b[24:]))
	r.Flags = LoginRspFlags(b[26])
	return nil
}

// LoginRej is SRP_LOGIN_REJ (SRP r16a clause 6.4).
type LoginRej struct {
	Reason        RejectReason
	Tag           uint64
	BufferFormats BufferFormats // what the target supports

	fault fault
}

// Encode writes the IU to b and returns its length, LoginRejLen. It fails with a FormatError if b is shorter.
func (r *LoginRej) Encode(b []byte) (n int, err error) {
	if err := r.fault.room(b, OpLoginRej, LoginRejLen); err != nil {
		return 0, err
	}
	binary.BigEndian.PutUint32(b[4:], uint32(r.Reason))
	binary.BigEndian.PutUint64(b[8:], r.Tag)
	binary.BigEndian.PutUint16(b[24:], uint16(r.BufferFormats))
	return LoginRejLen, nil
}

// Decode reads the IU from b, the private data of a CM REJ with reason 28 (consumer). It fails with a FormatError if
// b is shorter than LoginRejLen or something else.
func (r *LoginRej) Decode(b []byte) error {
	*r = LoginRej{}
	if err := r.fault.received(b, OpLoginRej, LoginRejLen); err != nil {
		return err
	}
	r.Reason = RejectReason(binary.BigEndian.Uint32(b[4:]))
	r.Tag = binary.BigEndian.Uint64(b[8:])
	r.BufferFormats = BufferFormats(binary.BigEndian.Uint16(b[24:]))
	return nil
}
