package srp

import (
	"errors"
	"fmt"
)

// ErrFormat is what errors.Is finds in every error of an encoder or decoder. A receiver counts it, and by the IU
// answers with an error status (SRP_CMD: the tag is known when len ≥ HeaderLen) or gives up the channel; a sender
// has a defect of its own.
var ErrFormat = errors.New("srp: malformed information unit")

// Rule is the relation that a FormatError found broken between Got and Want.
type Rule uint8

const (
	AtLeast    Rule = iota // Got must be at least Want
	AtMost                 // Got must be at most Want
	Exactly                // Got must equal Want
	MultipleOf             // Got must be a multiple of Want
)

func (r Rule) String() string {
	switch r {
	case AtLeast:
		return "at least"
	case AtMost:
		return "at most"
	case Exactly:
		return "exactly"
	case MultipleOf:
		return "a multiple of"
	}
	return fmt.Sprintf("Rule(%d)", uint8(r))
}

// FormatError says which field of which information unit is wrong. errors.Is(err, ErrFormat) holds for each.
//
// It lies in the IU struct whose Encode or Decode returned it, so that a peer that sends rubbish causes no
// allocation: it is valid until that struct's next Encode or Decode. Copy *FormatError to keep it longer.
type FormatError struct {
	IU    Opcode
	Field string // in the standard's words, lower case
	Rule  Rule
	Got   uint64
	Want  uint64
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("srp: %v: %s is %d, must be %v %d", e.IU, e.Field, e.Got, e.Rule, e.Want)
}

// Is reports whether target is ErrFormat.
func (e *FormatError) Is(target error) bool { return target == ErrFormat }

// fault is the storage for an IU's FormatError; every IU struct has one.
type fault struct{ err FormatError }

func (f *fault) fail(iu Opcode, field string, got uint64, rule Rule, want uint64) error {
	f.err = FormatError{IU: iu, Field: field, Rule: rule, Got: got, Want: want}
	return &f.err
}

// received checks that b holds at least the n bytes of iu's fixed part, and that it is one.
func (f *fault) received(b []byte, iu Opcode, n int) error {
	if len(b) < n {
		return f.fail(iu, "length received", uint64(len(b)), AtLeast, uint64(n))
	}
	if Opcode(b[0]) != iu {
		return f.fail(iu, "type", uint64(b[0]), Exactly, uint64(iu))
	}
	return nil
}

// room checks that an encoder's buffer has n bytes, clears them, and writes the opcode.
func (f *fault) room(b []byte, iu Opcode, n int) error {
	if len(b) < n {
		return f.fail(iu, "buffer length", uint64(len(b)), AtLeast, uint64(n))
	}
	clear(b[:n])
	b[0] = byte(iu)
	return nil
}
