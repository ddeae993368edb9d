package srp

import "encoding/binary"

// AERReq is SRP_AER_REQ (SRP r16a clause 6.12): the target port reports an event of a logical unit.
type AERReq struct {
	Notification      SolicitedNotification
	RequestLimitDelta int32
	Tag               uint64
	LUN               [8]byte
	Sense             []byte // SENSE DATA; after Decode a view of the IU

	fault fault
}

// Encode writes the IU to b and returns its length, AERReqLen and the sense data. It fails with a FormatError if b
// is shorter. b must not overlap Sense.
func (a *AERReq) Encode(b []byte) (n int, err error) {
	n = AERReqLen + len(a.Sense)
	if err := a.fault.room(b, OpAERReq, n); err != nil {
		return 0, err
	}
	b[1] = byte(a.Notification)
	binary.BigEndian.PutUint32(b[4:], uint32(a.RequestLimitDelta))
	binary.BigEndian.PutUint64(b[8:], a.Tag)
	copy(b[20:28], a.LUN[:])
	binary.BigEndian.PutUint32(b[28:], uint32(len(a.Sense)))
	copy(b[AERReqLen:], a.Sense)
	return n, nil
}

// Decode reads the IU from b, of which Sense becomes a view. It fails with a FormatError if b is shorter than
// AERReqLen, something else, or shorter than its SENSE DATA LIST LENGTH says; in that last case the other fields
// are set, so that the request can be credited and answered.
func (a *AERReq) Decode(b []byte) error {
	*a = AERReq{}
	if err := a.fault.received(b, OpAERReq, AERReqLen); err != nil {
		return err
	}
	a.Notification = SolicitedNotification(b[1])
	a.RequestLimitDelta = int32(binary.BigEndian.Uint32(b[4:]))
	a.Tag = binary.BigEndian.Uint64(b[8:])
	copy(a.LUN[:], b[20:28])
	n := uint64(binary.BigEndian.Uint32(b[28:]))
	if room := uint64(len(b) - AERReqLen); n > room {
		return a.fault.fail(OpAERReq, "sense data list length", n, AtMost, room)
	}
	a.Sense = b[AERReqLen : AERReqLen+n : AERReqLen+n]
	return nil
}

// AERRsp is SRP_AER_RSP (SRP r16a clause 6.13), the answer to AERReq with the same tag. It takes no credit.
type AERRsp struct {
	Tag uint64

	fault fault
}

// Encode writes the IU to b and returns its length, AERRspLen. It fails with a FormatError if b is shorter.
func (a *AERRsp) Encode(b []byte) (n int, err error) {
	if err := a.fault.room(b, OpAERRsp, AERRspLen); err != nil {
		return 0, err
	}
	binary.BigEndian.PutUint64(b[8:], a.Tag)
	return AERRspLen, nil
}

// Decode reads the IU from b. It fails with a FormatError if b is shorter than AERRspLen or something else.
func (a *AERRsp) Decode(b []byte) error {
	*a = AERRsp{}
	if err := a.fault.received(b, OpAERRsp, AERRspLen); err != nil {
		return err
	}
	a.Tag = binary.BigEndian.Uint64(b[8:])
	return nil
}
