package srp

import "encoding/binary"

// CredReq is SRP_CRED_REQ (SRP r16a clause 6.10): the target port changes the request limit outside a response.
type CredReq struct {
	Notification      SolicitedNotification
	RequestLimitDelta int32
	Tag               uint64

	fault fault
}

// Encode writes the IU to b and returns its length, CredLen. It fails with a FormatError if b is shorter.
func (c *CredReq) Encode(b []byte) (n int, err error) {
	if err := c.fault.room(b, OpCredReq, CredLen); err != nil {
		return 0, err
	}
	b[1] = byte(c.Notification)
	binary.BigEndian.PutUint32(b[4:], uint32(c.RequestLimitDelta))
	binary.BigEndian.PutUint64(b[8:], c.Tag)
	return CredLen, nil
}

// Decode reads the IU from b. It fails with a FormatError if b is shorter than CredLen or something else.
func (c *CredReq) Decode(b []byte) error {
	*c = CredReq{}
	if err := c.fault.received(b, OpCredReq, CredLen); err != nil {
		return err
	}
	c.Notification = SolicitedNotification(b[1])
	c.RequestLimitDelta = int32(binary.BigEndian.Uint32(b[4:]))
	c.Tag = binary.BigEndian.Uint64(b[8:])
	return nil
}

// CredRsp is SRP_CRED_RSP (SRP r16a clause 6.11), the answer to CredReq with the same tag. It takes no credit.
type CredRsp struct {
	Tag uint64

	fault fault
}

// Encode writes the IU to b and returns its length, CredLen. It fails with a FormatError if b is shorter.
func (c *CredRsp) Encode(b []byte) (n int, err error) {
	if err := c.fault.room(b, OpCredRsp, CredLen); err != nil {
		return 0, err
	}
	binary.BigEndian.PutUint64(b[8:], c.Tag)
	return CredLen, nil
}

// Decode reads the IU from b. It fails with a FormatError if b is shorter than CredLen or something else.
func (c *CredRsp) Decode(b []byte) error {
	*c = CredRsp{}
	if err := c.fault.received(b, OpCredRsp, CredLen); err != nil {
		return err
	}
	c.Tag = binary.BigEndian.Uint64(b[8:])
	return nil
}
