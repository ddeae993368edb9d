package exitcode

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Code is a program's exit code.
type Code int

// The codes.
const (
	OK          Code = iota // everything asked for was done
	Failure                 // what has no code of its own
	Usage                   // an option or argument is wrong
	NotFound                // what was named is not there: a LUN, unit, target, file
	Rejected                // the target refused the login
	InUse                   // another process has the socket, address, state directory or store
	Unreachable             // no way to the target, or no answer from it
	Unusable                // the unit cannot be used as a disk: no capacity, not a disk, not ready
	State                   // the state database, or that of thin disks, cannot be used: corrupt, full disk, made by a newer program
	NoDaemon                // srpctl: no daemon answers at the control socket
	Denied                  // not allowed by the system, or by the daemon
	Unclean                 // ended, but a flush or logout failed: what was written last may be lost
	Cut                     // ended at once by a second signal
	Exists                  // what was to be made is there already
	Conflict                // another initiator's reservation keeps the command out
	last
)

// meanings are the lines of the table.
var meanings = [last]string{
	OK:          "everything that was asked for was done",
	Failure:     "something else failed; the message says what",
	Usage:       "an option or argument is wrong",
	NotFound:    "what was named is not there: a LUN, a unit, a target",
	Rejected:    "the target refused the login",
	InUse:       "another process has the socket, the address, the state directory or the store",
	Unreachable: "no way to the target, or no answer from it",
	Unusable:    "the unit cannot be used as a disk: no capacity, not a disk, not ready",
	State:       "the state database, or that of thin disks, cannot be used: corrupt, no space left, or made by a newer program",
	NoDaemon:    "no daemon answers at the control socket",
	Denied:      "the system or the daemon does not allow it",
	Unclean:     "the program has ended, but a flush or logout failed: what was written last may be lost",
	Cut:         "ended at once by a second signal, without finishing what was under way",
	Exists:      "what was to be made is there already",
	Conflict:    "another initiator has reserved the unit, and its reservation does not let the command through",
}

func (c Code) String() string {
	if c < 0 || c >= last {
		return fmt.Sprintf("unknown exit code %d", int(c))
	}
	return meanings[c]
}

// All returns the codes in their order.
func All() []Code {
	all := make([]Code, last)
	for i := range all {
		all[i] = Code(i)
	}
	return all
}

// Line returns a code with its meaning, as a line of the table.
func Line(c Code) string { return fmt.Sprintf("  %2d  %s\n", int(c), c) }

// Table returns the codes with their meanings, a line each, as --help shows them.
func Table() string {
	var b strings.Builder
	for _, c := range All() {
		b.WriteString(Line(c))
	}
	return b.String()
}

// Error is an error that has a code, and perhaps advice.
type Error struct {
	Code   Code
	Err    error
	Advice string // what the user can do next; "" if the error says it all
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// With gives err a code, and advice unless it is empty; nil stays nil. A code that err has already stays.
func With(c Code, err error, advice string) error {
	if err == nil {
		return nil
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return err
	}
	return &Error{Code: c, Err: err, Advice: advice}
}

// Errorf makes an error with a code.
func Errorf(c Code, format string, args ...any) error {
	return &Error{Code: c, Err: fmt.Errorf(format, args...)}
}

// Of returns the code of an error: OK for nil, Failure for one without.
func Of(err error) Code {
	if err == nil {
		return OK
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return Failure
}

// Advice returns what the user can do next, or "".
func Advice(err error) string {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Advice
	}
	return ""
}

// Print tells people of an error: what failed, and what they can do.
func Print(w io.Writer, program string, err error) {
	lines := strings.Split(err.Error(), "\n")
	fmt.Fprintf(w, "%s: %s\n", program, strings.Join(lines, "\n  "))
	if advice := Advice(err); advice != "" {
		fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(advice, "\n", "\n  "))
	}
}
