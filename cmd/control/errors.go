package control

import (
	"cmp"
	"errors"
	"net/http"

	"minisrp/cmd/exitcode"
)

// Code says in a word of what kind an error is. Words never change their meaning; new ones may come.
type Code string

// The codes. Each stands for an exit code.
const (
	CodeFailure     Code = "failure"     // what has no code of its own
	CodeUsage       Code = "usage"       // the request is wrong
	CodeNotFound    Code = "not-found"   // what it names is not there
	CodeExists      Code = "exists"      // what it would make is there already
	CodeInUse       Code = "in-use"      // somebody uses what it would take away
	CodeDenied      Code = "denied"      // the daemon or its system does not allow it
	CodeRejected    Code = "rejected"    // the target refused the login
	CodeUnreachable Code = "unreachable" // no way to the target, or no answer from it
	CodeUnusable    Code = "unusable"    // the unit is no disk
	CodeState       Code = "state"       // the state database takes no change
	CodeStopping    Code = "stopping"    // the daemon is about to end
)

// Error is the answer to a request that failed.
type Error struct {
	Version int    `json:"version"`
	Error   string `json:"error"` // for people
	Code    Code   `json:"code"`
	Advice  string `json:"advice,omitempty"` // what to do about it
}

// codes is the one table of codes, exit codes and HTTP statuses.
var codes = []struct {
	code   Code
	exit   exitcode.Code
	status int
}{
	{CodeFailure, exitcode.Failure, http.StatusInternalServerError},
	{CodeUsage, exitcode.Usage, http.StatusBadRequest},
	{CodeNotFound, exitcode.NotFound, http.StatusNotFound},
	{CodeExists, exitcode.Exists, http.StatusConflict},
	{CodeInUse, exitcode.InUse, http.StatusConflict},
	{CodeDenied, exitcode.Denied, http.StatusForbidden},
	{CodeRejected, exitcode.Rejected, http.StatusBadGateway},
	{CodeUnreachable, exitcode.Unreachable, http.StatusGatewayTimeout},
	{CodeUnusable, exitcode.Unusable, http.StatusBadGateway},
	{CodeState, exitcode.State, http.StatusInsufficientStorage},
	{CodeStopping, exitcode.NoDaemon, http.StatusServiceUnavailable},
}

// answerOf makes the answer to a request that failed with err, which may have an exit code, and its HTTP status.
func answerOf(err error) (*Error, int) {
	a := &Error{Version: Version, Error: err.Error()}
	if e := (*exitcode.Error)(nil); errors.As(err, &e) {
		a.Advice = e.Advice
	}
	c := codes[0]
	for _, x := range codes {
		if x.exit == exitcode.Of(err) {
			c = x
		}
	}
	a.Code = c.code
	return a, c.status
}

// err makes an error with an exit code of an answer.
func (e *Error) err() error {
	for _, x := range codes {
		if x.code == e.Code {
			return exitcode.With(x.exit, errors.New(e.Error), e.Advice)
		}
	}
	return exitcode.With(exitcode.Failure, errors.New(cmp.Or(e.Error, "the daemon does not say why")), e.Advice)
}
