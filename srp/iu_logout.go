package srp

import (
	"encoding/binary"
	"fmt"
)

// ILogout is SRP_I_LOGOUT (SRP r16a clause 6.5): the initiator port ends the channel. It has no answer.
type ILogout struct {
	Tag uint64

	fault fault
}

// Encode writes the IU to b and returns its length, LogoutLen. It fails with a FormatError if b is shorter.
func (l *ILogout) Encode(b []byte) (n int, err error) {
	if err := l.fault.room(b, OpILogout, LogoutLen); err != nil {
		return 0, err
	}
	binary.BigEndian.PutUint64(b[8:], l.Tag)
	return LogoutLen, nil
}

// Decode reads the IU from b. It fails with a FormatError if b is shorter than LogoutLen or something else.
func (l *ILogout) Decode(b []byte) error {
	*l = ILogout{}
	if err := l.fault.received(b, OpILogout, LogoutLen); err != nil {
		return err
	}
	l.Tag = binary.BigEndian.Uint64(b[8:])
	return nil
}

// LogoutReason is the reason code of SRP_T_LOGOUT (SRP r16a clause 6.6). Implementations agree on the
// codes up to 4 only.
type LogoutReason uint32

const (
	LogoutNoReason         LogoutReason = 0 // no reason specified
	LogoutInactive         LogoutReason = 1 // inactive RDMA channel
	LogoutInvalidIUType    LogoutReason = 2 // invalid information unit type received by target port
	LogoutSpuriousResponse LogoutReason = 3 // response with no corresponding target port request outstanding
	LogoutMultiChannel     LogoutReason = 4 // ended by the multi-channel action of a new login
)

// String returns the number and the standard's words for it. Of 5 and above it says only that their meaning depends
// on whose header the target was built with: nothing may be concluded from them.
func (r LogoutReason) String() string {
	words := "meaning is header dependent"
	switch r {
	case LogoutNoReason:
		words = "no reason specified"
	case LogoutInactive:
		words = "inactive RDMA channel"
	case LogoutInvalidIUType:
		words = "invalid information unit type received by target port"
	case LogoutSpuriousResponse:
		words = "response received with no corresponding target port request outstanding"
	case LogoutMultiChannel:
		words = "RDMA channel disconnected by the multi-channel action of a new login"
	}
	return fmt.Sprintf("%d: %s", uint32(r), words)
}

// TLogout is SRP_T_LOGOUT (SRP r16a clause 6.6): the target port ends the channel. It has no answer.
type TLogout struct {
	Notification SolicitedNotification
	Reason       LogoutReason
	Tag          uint64

	fault fault
}

// Encode writes the IU to b and returns its length, LogoutLen. It fails with a FormatError if b is shorter.
func (l *TLogout) Encode(b []byte) (n int, err error) {
	if err := l.fault.room(b, OpTLogout, LogoutLen); err != nil {
		return 0, err
	}
	b[1] = byte(l.Notification)
	binary.BigEndian.PutUint32(b[4:], uint32(l.Reason))
	binary.BigEndian.PutUint64(b[8:], l.Tag)
	return LogoutLen, nil
}

// Decode reads the IU from b. It fails with a FormatError if b is shorter than LogoutLen or something else.
func (l *TLogout) Decode(b []byte) error {
	*l = TLogout{}
	if err := l.fault.received(b, OpTLogout, LogoutLen); err != nil {
		return err
	}
	l.Notification = SolicitedNotification(b[1])
	l.Reason = LogoutReason(binary.BigEndian.Uint32(b[4:]))
	l.Tag = binary.BigEndian.Uint64(b[8:])
	return nil
}
