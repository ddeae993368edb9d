package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"minisrp/cmd/exitcode"
)

// maxAnswer bounds an answer, in bytes: a unit takes about 1 KiB of it.
const maxAnswer = 64 << 20

// maxPath is the longest path of a socket, in bytes: sun_path has 108, with a zero behind it (unix(7)).
const maxPath = 107

// Client asks a daemon.
type Client struct {
	path string
	http http.Client
}

// NewClient makes a client of the daemon whose control socket is at path.
func NewClient(path string) *Client {
	c := &Client{path: path}
	c.http = http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				d := net.Dialer{Timeout: 5 * time.Second}
				return d.DialContext(ctx, "unix", path)
			},
		},
	}
	return c
}

// Daemon says who serves.
func (c *Client) Daemon(ctx context.Context) (*Daemon, error) { return get[Daemon](ctx, c, "daemon") }

// Targets lists the target ports.
func (c *Client) Targets(ctx context.Context) (*Targets, error) {
	return get[Targets](ctx, c, "targets")
}

// Units lists the logical units.
func (c *Client) Units(ctx context.Context) (*Units, error) { return get[Units](ctx, c, "units") }

// Counters returns what has been counted.
func (c *Client) Counters(ctx context.Context) (*Counters, error) {
	return get[Counters](ctx, c, "counters")
}

// Latencies returns how long requests have taken.
func (c *Client) Latencies(ctx context.Context) (*Latencies, error) {
	return get[Latencies](ctx, c, "latencies")
}

// Clients lists the clients of the NBD server.
func (c *Client) Clients(ctx context.Context) (*Clients, error) {
	return get[Clients](ctx, c, "clients")
}

// Hosted lists the targets in the daemon's process.
func (c *Client) Hosted(ctx context.Context) (*Hosted, error) { return get[Hosted](ctx, c, "hosted") }

// get asks for one thing. A daemon that does not answer is waited for until ctx ends, or twice as long as it may take.
func get[T any](ctx context.Context, c *Client, what string) (*T, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 2*answerTime)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://srpd/v1/"+what, nil)
	if err != nil {
		return nil, err
	}
	rsp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	defer rsp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(rsp.Body, maxAnswer))
	if err != nil {
		return nil, c.unreachable(err)
	}
	if rsp.StatusCode != http.StatusOK {
		return nil, c.refused(rsp.StatusCode, what, b)
	}
	return read[T](c, b)
}

// read reads an answer of this version.
func read[T any](c *Client, b []byte) (*T, error) {
	var head struct {
		Version int `json:"version"`
	}
	v := new(T)
	if err := errors.Join(json.Unmarshal(b, &head), json.Unmarshal(b, v)); err != nil {
		return nil, fmt.Errorf("control socket %s: the answer is not what a daemon says: %w", c.path, err)
	}
	if head.Version != Version {
		return nil, fmt.Errorf("control socket %s: the daemon speaks format %d, and this program %d: use the srpctl that came with it",
			c.path, head.Version, Version)
	}
	return v, nil
}

// unreachable says why nobody has answered.
func (c *Client) unreachable(err error) error {
	const start = "start one with: srpd run --embedded; or name its control socket with --socket"
	switch {
	case len(c.path) > maxPath:
		return exitcode.Errorf(exitcode.Usage, "control socket %s: the path has %d bytes, and the kernel takes %d at most: give a shorter one, relative perhaps",
			c.path, len(c.path), maxPath)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("control socket %s: no answer in the time there was: %w", c.path, err)
	case errors.Is(err, fs.ErrNotExist):
		return exitcode.With(exitcode.NoDaemon, fmt.Errorf("no daemon: there is no control socket %s", c.path), start)
	case errors.Is(err, unix.ECONNREFUSED) && !isSocket(c.path):
		return exitcode.With(exitcode.NoDaemon, fmt.Errorf("control socket %s: this is no socket", c.path), start)
	case errors.Is(err, unix.ECONNREFUSED):
		return exitcode.With(exitcode.NoDaemon, fmt.Errorf("no daemon listens on the control socket %s; one that was killed has left it", c.path), start)
	case errors.Is(err, fs.ErrPermission):
		return exitcode.With(exitcode.Denied, fmt.Errorf("control socket %s: %w", c.path, fs.ErrPermission), "ask as the daemon's user, or as root")
	}
	return exitcode.With(exitcode.NoDaemon, fmt.Errorf("control socket %s: %w", c.path, err), "")
}

// isSocket reports whether there is a socket at path, as far as that can be seen.
func isSocket(path string) bool {
	st, err := os.Stat(path)
	return err != nil || st.Mode()&os.ModeSocket != 0
}

// refused makes an error of an answer that is one.
func (c *Client) refused(status int, what string, b []byte) error {
	var e Error
	_ = json.Unmarshal(b, &e) // what is not an Error says no more than the status
	if e.Code != "" {
		return e.err()
	}
	err := fmt.Errorf("control socket %s: %s: %s", c.path, what, cmp.Or(e.Error, http.StatusText(status)))
	switch status {
	case http.StatusForbidden:
		return exitcode.With(exitcode.Denied, err, "ask as the daemon's user, or as root")
	case http.StatusNotFound:
		return exitcode.With(exitcode.NotFound, err, "the daemon is of another version: use the srpctl that came with it")
	}
	return err
}
