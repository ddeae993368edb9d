package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"minisrp/cmd/exitcode"
)

// The methods that change something take no longer than ctx: when it ends the connection is closed, and the daemon
// gives the change up. They fill in the version of the request. p, which may be nil, is told how far it has come.

// Add has a target logged in to and known.
//
//level:passive
func (c *Client) Add(ctx context.Context, q AddTarget, p Progress) (*Change, error) {
	q.Version = Version
	return post[Change](ctx, c, "add", q, p)
}

// Remove has a target logged out of and forgotten.
//
//level:passive
func (c *Client) Remove(ctx context.Context, q RemoveTarget, p Progress) (*Change, error) {
	q.Version = Version
	return post[Change](ctx, c, "remove", q, p)
}

// Rescan has units looked for.
//
//level:passive
func (c *Client) Rescan(ctx context.Context, q Rescan, p Progress) (*Change, error) {
	q.Version = Version
	return post[Change](ctx, c, "rescan", q, p)
}

// Logout has a session ended.
//
//level:passive
func (c *Client) Logout(ctx context.Context, q Logout, p Progress) (*Change, error) {
	q.Version = Version
	return post[Change](ctx, c, "logout", q, p)
}

// Reconnect has a target logged in to again.
//
//level:passive
func (c *Client) Reconnect(ctx context.Context, q Reconnect, p Progress) (*Change, error) {
	q.Version = Version
	return post[Change](ctx, c, "reconnect", q, p)
}

// SCSI has a command sent.
//
//level:passive
func (c *Client) SCSI(ctx context.Context, q SCSI) (*SCSIAnswer, error) {
	q.Version = Version
	return post[SCSIAnswer](ctx, c, "scsi", q, nil)
}

// Task has a task management function done.
//
//level:passive
func (c *Client) Task(ctx context.Context, q Task, p Progress) (*TaskAnswer, error) {
	q.Version = Version
	return post[TaskAnswer](ctx, c, "task", q, p)
}

// SetFaults says what a target in the daemon's process does wrong.
//
//level:passive
func (c *Client) SetFaults(ctx context.Context, q SetFaults) (*Hosted, error) {
	q.Version = Version
	return post[Hosted](ctx, c, "faults", q, nil)
}

// AcceptLoss has the flushes of a disk that has lost writes succeed again.
//
//level:passive
func (c *Client) AcceptLoss(ctx context.Context, q AcceptLoss) (*Loss, error) {
	q.Version = Version
	return post[Loss](ctx, c, "accept-loss", q, nil)
}

// post asks for a change.
//
//level:passive
func post[A, Q any](ctx context.Context, c *Client, what string, q Q, p Progress) (*A, error) {
	b, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://srpd/v1/"+what, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if p != nil {
		req.Header.Set("Accept", lines)
	}
	rsp, err := (&http.Client{Transport: c.http.Transport}).Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	defer rsp.Body.Close()
	body := io.LimitReader(rsp.Body, maxAnswer)
	if rsp.Header.Get("Content-Type") == lines {
		return follow[A](c, body, p)
	}
	if b, err = io.ReadAll(body); err != nil {
		return nil, c.unreachable(err)
	}
	if rsp.StatusCode != http.StatusOK {
		return nil, c.refused(rsp.StatusCode, what, b)
	}
	return read[A](c, b)
}

// follow reads lines until the answer.
//
//level:passive
func follow[A any](c *Client, r io.Reader, p Progress) (*A, error) {
	for d := json.NewDecoder(r); ; {
		var l Line
		switch err := d.Decode(&l); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, exitcode.Errorf(exitcode.NoDaemon, "control socket %s: the daemon has ended before it was done", c.path)
		case err != nil && !isSyntax(err):
			return nil, c.unreachable(err)
		case err != nil:
			return nil, fmt.Errorf("control socket %s: the answer is not what a daemon says: %w", c.path, err)
		case l.Error != nil:
			return nil, l.Error.err()
		case l.Answer != nil:
			return read[A](c, l.Answer)
		case l.Event != nil:
			p(*l.Event)
		}
	}
}

func isSyntax(err error) bool {
	var s *json.SyntaxError
	var t *json.UnmarshalTypeError
	return errors.As(err, &s) || errors.As(err, &t)
}
