package srp

import (
	"encoding/binary"
	"fmt"
)

// RspFlags says which fields of an SRP_RSP are valid (SRP r16a table 22).
type RspFlags uint8

const (
	RspValid     RspFlags = 0x01 // RSPVALID: there is response data
	SenseValid   RspFlags = 0x02 // SNSVALID: there is sense data
	DataOutOver  RspFlags = 0x04 // DOOVER: the data-out buffer was DataOutResidual bytes too short
	DataOutUnder RspFlags = 0x08 // DOUNDER: DataOutResidual bytes of the data-out buffer were not used
	DataInOver   RspFlags = 0x10 // DIOVER: the data-in buffer was DataInResidual bytes too short
	DataInUnder  RspFlags = 0x20 // DIUNDER: DataInResidual bytes of the data-in buffer were not used
)

// ResponseCode is RSP_CODE, byte 3 of the response data (SRP r16a table 24).
type ResponseCode uint8

const (
	ResponseComplete      ResponseCode = 0 // no failure, or task management function complete
	ResponseFieldsInvalid ResponseCode = 2 // request fields invalid
	ResponseNotSupported  ResponseCode = 4 // task management function not supported
	ResponseFailed        ResponseCode = 5 // task management function failed
)

// String returns the number and the standard's words for it. A caller should know that Linux and SCST targets answer
// ABORT TASK with ResponseFailed also when the task has ended already.
func (c ResponseCode) String() string {
	words := "unknown response code"
	switch c {
	case ResponseComplete:
		words = "no failure or task management function complete"
	case ResponseFieldsInvalid:
		words = "request fields invalid"
	case ResponseNotSupported:
		words = "task management function not supported"
	case ResponseFailed:
		words = "task management function failed"
	}
	return fmt.Sprintf("%d: %s", uint8(c), words)
}

// responseDataLen is the length of the response data that SRP defines: three reserved bytes and RSP_CODE.
const responseDataLen = 4

// Response is SRP_RSP (SRP r16a clause 6.9), the answer to a Command or a TaskManagement, with its tag.
type Response struct {
	Notification      SolicitedNotification
	RequestLimitDelta int32 // credit that comes back with it
	Tag               uint64
	Flags             RspFlags
	Status            uint8 // SCSI status; zero when there is a response code
	DataOutResidual   uint32
	DataInResidual    uint32
	ResponseData      []byte // with RspValid; after Decode a view of the IU
	Sense             []byte // with SenseValid; after Decode a view of the IU

	code  [responseDataLen]byte
	fault fault
}

// ResponseCode returns the response code; ok is false if the response has none.
func (r *Response) ResponseCode() (c ResponseCode, ok bool) {
	if r.Flags&RspValid == 0 || len(r.ResponseData) < responseDataLen {
		return 0, false
	}
	return ResponseCode(r.ResponseData[3]), true
}

// SetResponseCode makes c the response data. ResponseData then lies in r, which must not be copied before Encode.
func (r *Response) SetResponseCode(c ResponseCode) {
	r.code = [responseDataLen]byte{3: byte(c)}
	r.ResponseData = r.code[:]
	r.Flags |= RspValid
}

// Encode writes the IU to b and returns its length: ResponseLen, response data and sense data. RspValid and SenseValid
// go with data that is there, whether Flags has them or not. It fails with a FormatError if b is shorter; a target
// cuts Sense to what fits. b must not overlap the two slices.
func (r *Response) Encode(b []byte) (n int, err error) {
	n = ResponseLen + len(r.ResponseData) + len(r.Sense)
	if err := r.fault.room(b, OpResponse, n); err != nil {
		return 0, err
	}
	flags := r.Flags
	if len(r.ResponseData) > 0 {
		flags |= RspValid
	}
	if len(r.Sense) > 0 {
		flags |= SenseValid
	}
	b[1] = byte(r.Notification)
	binary.BigEndian.PutUint32(b[4:], uint32(r.RequestLimitDelta))
	binary.BigEndian.PutUint64(b[8:], r.Tag)
	b[18] = byte(flags)
	b[19] = r.Status
	binary.BigEndian.PutUint32(b[20:], r.DataOutResidual)
	binary.BigEndian.PutUint32(b[24:], r.DataInResidual)
	binary.BigEndian.PutUint32(b[28:], uint32(len(r.Sense)))
	binary.BigEndian.PutUint32(b[32:], uint32(len(r.ResponseData)))
	copy(b[ResponseLen:], r.ResponseData)
	copy(b[ResponseLen+len(r.ResponseData):], r.Sense)
	return n, nil
}

// Decode reads the IU from b, of which ResponseData and Sense become views. A list length whose valid bit is clear
// counts as zero: the bit says whether the field means anything.
//
// It fails with a FormatError if b is shorter than ResponseLen, something else, or shorter than its list lengths say.
// In that last case all other fields are set, so that the command can be ended and the credit taken.
func (r *Response) Decode(b []byte) error {
	*r = Response{}
	if err := r.fault.received(b, OpResponse, ResponseLen); err != nil {
		return err
	}
	r.Notification = SolicitedNotification(b[1])
	r.RequestLimitDelta = int32(binary.BigEndian.Uint32(b[4:]))
	r.Tag = binary.BigEndian.Uint64(b[8:])
	r.Flags = RspFlags(b[18])
	r.Status = b[19]
	r.DataOutResidual = binary.BigEndian.Uint32(b[20:])
	r.DataInResidual = binary.BigEndian.Uint32(b[24:])

	var sense, data uint64
	if r.Flags&SenseValid != 0 {
		sense = uint64(binary.BigEndian.Uint32(b[28:]))
	}
	if r.Flags&RspValid != 0 {
		data = uint64(binary.BigEndian.Uint32(b[32:]))
	}
	lists := b[ResponseLen:]
	room := uint64(len(lists))
	if data > room {
		return r.fault.fail(OpResponse, "response data list length", data, AtMost, room)
	}
	r.ResponseData = lists[:data:data]
	if sense > room-data {
		return r.fault.fail(OpResponse, "sense data list length", sense, AtMost, room-data)
	}
	r.Sense = lists[data : data+sense : data+sense]
	return nil
}
