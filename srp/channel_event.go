package srp

import (
	"errors"
	"fmt"

	"minisrp/scsi"
	"minisrp/verbs"
)

// Errors of Start and Manage. Nothing has been begun, and Done is not called.
var (
	// ErrBusy: no credit or no room. Try again when Ready is called.
	ErrBusy = errors.New("srp: channel is busy")
	// ErrDown: the channel has ended or is about to. Channel.Err says why. Use another.
	ErrDown = errors.New("srp: channel is down")
	// ErrTooManySegments: more pieces than Info.MaxSegments. Split the command.
	ErrTooManySegments = errors.New("srp: command has too many segments")
	// ErrTooLong: more data than Info.MaxTransfer. Split the command.
	ErrTooLong = errors.New("srp: command has too much data")
	// ErrInvalidRequest: CDB length, direction, segments and length do not fit each other. The caller is at fault.
	ErrInvalidRequest = errors.New("srp: invalid request")
	// ErrNotOutstanding: the victim of AbortTask is not, or not any more, outstanding on this channel.
	ErrNotOutstanding = errors.New("srp: task is not outstanding")
)

// EventKind says what has happened on a channel.
type EventKind uint8

const (
	// EventDown: the channel has ended, and everything on it has been completed. It is the channel's last call. See
	// ChannelEvent.Err.
	EventDown EventKind = iota
	// EventTargetLogout: the target port ends the channel. EventDown follows.
	EventTargetLogout
	// EventAsync: a logical unit reports something (SRP_AER_REQ).
	EventAsync
)

// ChannelEvent is something that has happened on a channel.
type ChannelEvent struct {
	Kind   EventKind
	Err    *DownError   // EventDown: why
	Logout LogoutReason // EventTargetLogout
	LUN    scsi.LUN     // EventAsync
	Sense  []byte       // EventAsync: valid during the call
}

// DownCause is the kind of reason why a channel has ended.
type DownCause uint8

const (
	CauseFailed       DownCause = iota + 1 // Channel.Fail was called
	CauseLogout                            // Session.Logout was called
	CauseTargetLogout                      // the target port sent SRP_T_LOGOUT
	CauseDisconnected                      // the target has closed the connection
	CauseTransport                         // a work request failed
	CauseFatal                             // the QP failed by itself, as by a refused access of the target
	CauseProtocol                          // the target broke the protocol
	CauseOverrun                           // completions were lost
)

// DownError says why a channel has ended.
type DownError struct {
	Cause  DownCause
	Op     verbs.Opcode // CauseTransport: the work request
	Status verbs.Status // CauseTransport
	Logout LogoutReason // CauseTargetLogout
	Format FormatError  // CauseProtocol: what was wrong
}

func (e *DownError) Error() string {
	switch e.Cause {
	case CauseFailed:
		return "srp: channel was ended by recovery"
	case CauseLogout:
		return "srp: channel was logged out"
	case CauseTargetLogout:
		return fmt.Sprintf("srp: target logged the channel out: reason %v", e.Logout)
	case CauseDisconnected:
		return "srp: target closed the connection"
	case CauseTransport:
		return fmt.Sprintf("srp: %v failed: %v", e.Op, e.Status)
	case CauseFatal:
		return "srp: queue pair failed, as when the target reaches for memory that it may not"
	case CauseProtocol:
		return fmt.Sprintf("srp: target broke the protocol: %v", &e.Format)
	case CauseOverrun:
		return "srp: completion queue overran"
	}
	return "srp: channel is not connected"
}

// Is reports whether target is ErrDown.
func (e *DownError) Is(target error) bool { return target == ErrDown }
