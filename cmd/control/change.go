package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"minisrp/cmd/exitcode"
)

// changeTime bounds one change: a target is waited for, and a disk flushed, for less.
const changeTime = 10 * time.Minute

// errStopping is why changes are given up at the end.
var errStopping = exitcode.Errorf(exitcode.NoDaemon, "the daemon is about to end")

// lines is the media type of a stream of Lines.
const lines = "application/x-ndjson"

// Line is one of the answer to a request that accepts lines: any number of events, and then an answer or an error.
type Line struct {
	Event  *Event          `json:"event,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// request is what every request is.
type request interface {
	// check returns what is wrong with it by itself.
	check() error
}

// change answers POST at path with what fn returns: as it is, or behind lines about how far it has come.
func change[Q, A any](s *Server, mux *http.ServeMux, path string, fn func(context.Context, *Q, Progress) (*A, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		q := new(Q)
		if err := decode(http.MaxBytesReader(w, r.Body, maxBody), q, any(q).(request)); err != nil {
			refuse(w, err)
			return
		}
		// From here on the peer has the time that fn takes. net/http ends r's context when the peer has gone.
		c := http.NewResponseController(w)
		_ = c.SetReadDeadline(time.Time{})
		_ = c.SetWriteDeadline(time.Time{})
		ctx, cancel := context.WithTimeout(r.Context(), changeTime)
		defer cancel()
		stop := context.AfterFunc(s.changing, cancel)
		defer stop()
		var p Progress
		stream := strings.Contains(r.Header.Get("Accept"), lines)
		if stream {
			w.Header().Set("Content-Type", lines)
			p = func(e Event) { send(w, c, cancel, &Line{Event: &e}) }
		}
		a, err := fn(ctx, q, p)
		if err != nil && s.changing.Err() != nil {
			err = fmt.Errorf("%w: %w", context.Cause(s.changing), err)
		}
		_ = c.SetWriteDeadline(time.Now().Add(answerTime))
		switch {
		case err != nil && stream:
			e, _ := answerOf(err)
			send(w, c, cancel, &Line{Error: e})
		case err != nil:
			refuse(w, err)
		case stream:
			b, _ := json.Marshal(a) // an answer has nothing that cannot be
			send(w, c, cancel, &Line{Answer: b})
		default:
			answer(w, http.StatusOK, a)
		}
	})
}

// send sends a line. A peer that does not take it has gone.
func send(w io.Writer, c *http.ResponseController, gone context.CancelFunc, l *Line) {
	_ = c.SetWriteDeadline(time.Now().Add(answerTime))
	if err := errors.Join(json.NewEncoder(w).Encode(l), c.Flush()); err != nil {
		gone()
	}
	_ = c.SetWriteDeadline(time.Time{})
}

// decode reads a request into q, which is what c is too. Errors: Usage.
func decode(r io.Reader, q any, c request) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return exitcode.With(exitcode.Usage, fmt.Errorf("the request cannot be read: %w", err), "")
	}
	var head struct {
		Version int `json:"version"`
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := errors.Join(json.Unmarshal(b, &head), d.Decode(q)); err != nil {
		return exitcode.With(exitcode.Usage, fmt.Errorf("the request is not what its verb wants: %w", err), "")
	}
	if head.Version != Version {
		return exitcode.Errorf(exitcode.Usage, "the request has format %d, want \"version\": %d", head.Version, Version)
	}
	if err := c.check(); err != nil {
		return exitcode.With(exitcode.Usage, err, "")
	}
	return nil
}
