package srp

import (
	"errors"
	"fmt"

	"minisrp/verbs"
)

var (
	// ErrInvalidConfig: a field of SessionConfig is out of range. Correct it.
	ErrInvalidConfig = errors.New("srp: invalid session configuration")
	// ErrLoginResponse: the target accepted the login with limits that no command could keep to, or that are not
	// possible. The target is at fault.
	ErrLoginResponse = errors.New("srp: unusable login response")
)

// RejectError says that the target refused a login, after everything that could be asked for in a smaller way was.
type RejectError struct {
	Address verbs.Address
	Target  PortID
	Channel int                // which was refused, from 0
	Reason  RejectReason       // of SRP_LOGIN_REJ; 0 if the connection was refused without one
	Formats BufferFormats      // that the target supports; with Reason
	CM      verbs.RejectReason // of the connection manager's REJ
	asked   LoginReq
}

func (e *RejectError) Error() string {
	s := fmt.Sprintf("srp: login to %s at %s", e.Target, e.Address)
	if e.Channel > 0 {
		s += fmt.Sprintf(", channel %d,", e.Channel+1)
	}
	if e.Reason != 0 {
		return fmt.Sprintf("%s refused: reason %v (asked for IUs of %d bytes, %v descriptors)",
			s, e.Reason, e.asked.MaxITIULen, e.asked.BufferFormats)
	}
	return fmt.Sprintf("%s refused: %v (CM REJ %d)", s, e.CM, uint16(e.CM))
}

// Advice returns what a user can do about it.
func (e *RejectError) Advice() string {
	if e.Reason != 0 {
		return e.Reason.Advice()
	}
	switch e.CM {
	case verbs.RejectNoQP, verbs.RejectNoResources:
		return "the target has no free connections: lower ch_count on this host and others, or end other sessions"
	case verbs.RejectInvalidServe:
		return "no target listens there: compare address and port, or service_id, with the target's, and see if it is enabled"
	case verbs.RejectStale:
		return "the target takes the connection for an old one: wait until it has noticed the end of that, and try again"
	case verbs.RejectPortRedirect:
		return "the target redirects to another of its ports: log in there"
	}
	return "look in the target's log"
}

// Unwrap returns the connection manager's reject.
func (e *RejectError) Unwrap() error { return &verbs.RejectError{Reason: e.CM} }
