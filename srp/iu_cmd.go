package srp

import (
	"encoding/binary"
	"fmt"
)

// TaskAttribute is the TASK ATTRIBUTE of an SRP_CMD (SRP r16a table 21).
type TaskAttribute uint8

const (
	Simple      TaskAttribute = 0 // simple task
	HeadOfQueue TaskAttribute = 1 // head of queue task
	Ordered     TaskAttribute = 2 // ordered task
	ACA         TaskAttribute = 4 // automatic contingent allegiance task; iPXE's header has 8 for it
)

func (a TaskAttribute) String() string {
	switch a {
	case Simple:
		return "SIMPLE"
	case HeadOfQueue:
		return "HEAD OF QUEUE"
	case Ordered:
		return "ORDERED"
	case ACA:
		return "ACA"
	}
	return fmt.Sprintf("unknown task attribute %d", uint8(a))
}

const (
	// CDBLen is the length of an SRP_CMD's CDB field in bytes; a longer CDB goes on in the additional CDB.
	CDBLen = 16
	// MaxAdditionalCDBLen is the longest additional CDB, in bytes. ADDITIONAL CDB LENGTH counts in words of four, in
	// the upper six bits of its byte.
	MaxAdditionalCDBLen = 0xfc

	additionalCDBMask = 0xfc
)

// Command is SRP_CMD (SRP r16a clause 6.8).
//
//	 0 type, flags, formats, counts, tag, LUN, attribute
//	32 CDB, 16 bytes
//	48 additional CDB
//	   data-out descriptor
//	   data-in descriptor
//	   spare           only with immediate data, from here
//	   immediate data  at the offset that the login agreed on
//
// Encode and Decode take that offset as immediate; it is 0 if immediate data has not been agreed on.
type Command struct {
	Notification SolicitedNotification
	Tag          uint64
	LUN          [8]byte
	Attribute    TaskAttribute
	CDB          []byte // with the additional CDB: 16 bytes, or more by multiples of 4. After Decode a view of the IU
	DataOut      DataBuffer
	DataIn       DataBuffer // both are in use for a bidirectional command

	ImmediateData []byte // after Decode of DataImmediate a view of the data; Encode does not look at it
	Spare         []byte // after Decode of DataImmediate a view of the spare bytes; Encode copies them, nil means zeros

	fault fault
}

// descriptorsEnd returns the IU's length without spare bytes and immediate data.
func (c *Command) descriptorsEnd() int {
	return CommandLen + max(0, len(c.CDB)-CDBLen) + c.DataOut.size() + c.DataIn.size()
}

// Encode writes the IU to b and returns its length. A CDB of less than CDBLen bytes is filled up with zeros. b must not
// overlap the slices in c.
//
// With immediate data it writes the IU up to the data, and n == immediate: the data is DataOut.Length bytes that the
// caller copies to b[n:] or appends as further entries of the send's gather list. Together they must not be longer than
// the login's maximum IU length.
//
// It fails with a FormatError if b is too short, or if c could not be decoded again: a CDB length that is not
// possible, descriptors that contradict one another, an immediate offset before the descriptors' end.
func (c *Command) Encode(b []byte, immediate int) (n int, err error) {
	additional := max(0, len(c.CDB)-CDBLen)
	if additional%4 != 0 {
		return 0, c.fault.fail(OpCommand, "additional CDB length", uint64(additional), MultipleOf, 4)
	}
	if additional > MaxAdditionalCDBLen {
		return 0, c.fault.fail(OpCommand, "additional CDB length", uint64(additional), AtMost, MaxAdditionalCDBLen)
	}
	if err := c.DataOut.check(&c.fault, &dataOut); err != nil {
		return 0, err
	}
	if err := c.DataIn.check(&c.fault, &dataIn); err != nil {
		return 0, err
	}
	end := c.descriptorsEnd()
	n = end
	if c.DataOut.Format == DataImmediate {
		if err := c.checkImmediateOffset(immediate, end); err != nil {
			return 0, err
		}
		n = immediate
		if c.Spare != nil && len(c.Spare) != n-end {
			return 0, c.fault.fail(OpCommand, "spare length", uint64(len(c.Spare)), Exactly, uint64(n-end))
		}
	}
	if err := c.fault.room(b, OpCommand, n); err != nil {
		return 0, err
	}
	b[1] = byte(c.Notification)
	b[5] = byte(c.DataOut.Format)<<4 | byte(c.DataIn.Format)
	b[6] = byte(c.DataOut.List.Len())
	b[7] = byte(c.DataIn.List.Len())
	binary.BigEndian.PutUint64(b[8:], c.Tag)
	copy(b[20:28], c.LUN[:])
	b[29] = byte(c.Attribute)
	b[31] = byte(additional)
	copy(b[32:], c.CDB)
	at := CommandLen + additional
	c.DataOut.put(b[at:])
	c.DataIn.put(b[at+c.DataOut.size():])
	if n > end {
		copy(b[end:n], c.Spare)
	}
	return n, nil
}

// checkImmediateOffset holds the offset of immediate data against the descriptors' end. No offset, no immediate data.
func (c *Command) checkImmediateOffset(immediate, end int) error {
	if immediate <= 0 {
		return c.fault.fail(OpCommand, dataOut.format, uint64(DataImmediate), AtMost, uint64(DataIndirect))
	}
	if immediate < end {
		return c.fault.fail(OpCommand, "immediate data offset", uint64(immediate), AtLeast, uint64(end))
	}
	return nil
}

// Decode reads the IU from b, of which CDB, the descriptor lists, ImmediateData and Spare become views. Bytes after the
// IU are ignored.
//
// It fails with a FormatError if b is something else; if the additional CDB, the descriptors with their lists, or
// immediate data (which must have been agreed on, immediate > 0) go on after b's end; if a count is greater than its
// table; if a total length is less than its list's sum, or, when the list is the whole table, not that sum; if memory
// goes on after the address space's end. The fields of the first 32 bytes, tag and LUN among them, are set if b has
// CommandLen bytes and is an SRP_CMD, so that the command can be answered.
func (c *Command) Decode(b []byte, immediate int) error {
	*c = Command{}
	if err := c.fault.received(b, OpCommand, CommandLen); err != nil {
		return err
	}
	c.Notification = SolicitedNotification(b[1])
	c.Tag = binary.BigEndian.Uint64(b[8:])
	copy(c.LUN[:], b[20:28])
	c.Attribute = TaskAttribute(b[29])

	at := CommandLen + int(b[31]&additionalCDBMask)
	if at > len(b) {
		return c.fault.fail(OpCommand, "additional CDB length",
			uint64(at-CommandLen), AtMost, uint64(len(b)-CommandLen))
	}
	c.CDB = b[32:at:at]

	at, err := c.DataOut.get(&c.fault, &dataOut, DataFormat(b[5]>>4), b[6], b, at)
	if err != nil {
		return err
	}
	at, err = c.DataIn.get(&c.fault, &dataIn, DataFormat(b[5]&0xf), b[7], b, at)
	if err != nil {
		return err
	}
	if c.DataOut.Format == DataImmediate {
		return c.decodeImmediate(b, immediate, at)
	}
	return nil
}

func (c *Command) decodeImmediate(b []byte, immediate, end int) error {
	if err := c.checkImmediateOffset(immediate, end); err != nil {
		return err
	}
	if immediate > len(b) {
		return c.fault.fail(OpCommand, "immediate data offset", uint64(immediate), AtMost, uint64(len(b)))
	}
	n, room := uint64(c.DataOut.Length), uint64(len(b)-immediate)
	if n > room {
		return c.fault.fail(OpCommand, dataOut.length, n, AtMost, room)
	}
	c.Spare = b[end:immediate:immediate]
	c.ImmediateData = b[immediate:][:n:n]
	return nil
}
