package verbs

import (
	"errors"
	"fmt"
)

// Errors that callers branch on. They are wrapped in an OpError that names the
// object.
var (
	// ErrClosed: the object, or one it depends on, is being closed. Make a new one.
	ErrClosed = errors.New("object is closed")
	// ErrState: the QP's state does not allow it. Bring it to the right one first.
	ErrState = errors.New("QP state does not allow it")
	// ErrInvalid: an attribute is out of range. Correct the call.
	ErrInvalid = errors.New("invalid attribute")
	// ErrFull: the queue has no room. Poll completions.
	ErrFull = errors.New("queue is full")
	// ErrUnsupported: the device cannot do it. See DeviceAttr.
	ErrUnsupported = errors.New("not supported by the device")
	// ErrNoResources: the device has no more of them. Free some.
	ErrNoResources = errors.New("out of device resources")
	// ErrNoRoute: nothing is known at that address. Check the address.
	ErrNoRoute = errors.New("no route to the address")
	// ErrInUse: the address is listened on already. Choose another.
	ErrInUse = errors.New("address in use")
	// ErrTimeout: the peer did not answer in time. Try again, or give up.
	ErrTimeout = errors.New("peer did not answer")
	// ErrDeviceGone: the device was removed or is broken.
	ErrDeviceGone = errors.New("device is gone")
)

// OpError says what failed on which object.
type OpError struct {
	Op     string // "create QP", "connect", …
	Object string // device or address
	Err    error
}

func (e *OpError) Error() string { return e.Op + " " + e.Object + ": " + e.Err.Error() }
func (e *OpError) Unwrap() error { return e.Err }

// opError wraps err; nil stays nil.
func opError(op, object string, err error) error {
	if err == nil {
		return nil
	}
	return &OpError{op, object, err}
}

// invalidError is ErrInvalid with what is wrong. It is put into words only when it
// is read, since it is made at Dispatch too, where nothing may be formatted.
type invalidError struct {
	format string
	args   [4]int64
	n      int
}

func (e *invalidError) Unwrap() error { return ErrInvalid }

func (e *invalidError) Error() string {
	args := make([]any, e.n)
	for i := range args {
		args[i] = e.args[i]
	}
	return fmt.Sprintf("%s: "+e.format, append([]any{ErrInvalid}, args...)...)
}

// invalid says that an attribute is out of range. Level: both.
func invalid(format string, args ...int64) error {
	e := &invalidError{format: format}
	e.n = copy(e.args[:], args)
	return e
}

// RejectReason is why a connection was refused (IBA 12.6.7.2).
type RejectReason uint16

const (
	RejectNoQP          RejectReason = 1
	RejectNoResources   RejectReason = 3
	RejectTimeout       RejectReason = 4
	RejectUnsupported   RejectReason = 5
	RejectInvalidCommID RejectReason = 6
	RejectInvalidServe  RejectReason = 8 // no such service ID
	RejectTransport     RejectReason = 9
	RejectStale         RejectReason = 10
	RejectPortRedirect  RejectReason = 24
	RejectConsumer      RejectReason = 28 // by the listener; its private data says why
	RejectDuplicateComm RejectReason = 30
)

var rejectText = map[RejectReason]string{
	1: "no QP available", 2: "no EEC available", 3: "no resources available", 4: "timeout",
	5: "unsupported request", 6: "invalid communication ID", 7: "invalid communication instance",
	8: "invalid service ID: nothing listens there", 9: "invalid transport service type", 10: "stale connection",
	11: "RDC does not exist", 12: "primary GID rejected", 13: "primary LID rejected", 14: "invalid primary SL",
	15: "invalid primary traffic class", 16: "invalid primary hop limit", 17: "invalid primary packet rate",
	18: "alternate GID rejected", 19: "alternate LID rejected", 20: "invalid alternate SL",
	21: "invalid alternate traffic class", 22: "invalid alternate hop limit", 23: "invalid alternate packet rate",
	24: "port and CM redirection", 25: "port redirection", 26: "invalid path MTU",
	27: "insufficient responder resources", 28: "refused by the consumer", 29: "RNR retry count rejected",
	30: "duplicate communication ID", 31: "invalid class version", 32: "invalid primary flow label",
	33: "invalid alternate flow label", 35: "vendor option not supported",
}

func (r RejectReason) String() string {
	if t, ok := rejectText[r]; ok {
		return t
	}
	return fmt.Sprintf("reason %d", uint16(r))
}

// RejectError is a CM REJ: the peer, or nobody on its behalf, refused.
type RejectError struct {
	Reason  RejectReason
	Private []byte // at most MaxRejectPrivate bytes
}

func (e *RejectError) Error() string {
	return fmt.Sprintf("connection rejected: %s (CM REJ %d)", e.Reason, uint16(e.Reason))
}
