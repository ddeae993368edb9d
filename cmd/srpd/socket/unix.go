package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"minisrp/cmd/srpd/hold"
)

// UnixListener listens on a unix socket that it holds by a lock file beside it (the path with ".lock" appended).
type UnixListener struct {
	*net.UnixListener
	close func() error
}

// MaxPath is the longest path of a unix socket, in bytes (unix(7)).
const MaxPath = 107

// ErrPath says that a path cannot be a socket's. The user chooses another.
var ErrPath = errors.New("not a path for a socket")

// ListenUnix listens at path, with the permissions perm on the socket. A socket that nobody listens on is replaced.
// Errors: ErrPath; *hold.InUseError when a process serves it; fs.ErrExist when path is not a socket.
//
//level:passive
func ListenUnix(path string, perm fs.FileMode) (*UnixListener, error) {
	if len(path) == 0 || len(path) > MaxPath || path[0] == '@' {
		return nil, fmt.Errorf("socket %q: %w: want a path of 1 to %d bytes that does not begin with '@'; this one has %d",
			path, ErrPath, MaxPath, len(path))
	}
	lock, err := hold.New(path + ".lock")
	if err != nil {
		if in := (*hold.InUseError)(nil); errors.As(err, &in) {
			return nil, &hold.InUseError{What: "socket " + path, Holder: in.Holder}
		}
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	l, err := listenLocked(path, perm)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return &UnixListener{l, sync.OnceValue(func() error {
		// First the name, so that a client never finds a socket that is closed.
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, l.Close(), lock.Release())
	})}, nil
}

// Close ends listening and removes the socket and its lock.
//
//level:passive
func (l *UnixListener) Close() error { return l.close() }

// Share lets a group connect too: the socket gets its group, and then mode 0660. Errors: the system's, in particular
// fs.ErrPermission for a group that this process does not belong to.
//
//level:passive
func Share(path string, gid int) error {
	if err := os.Chown(path, -1, gid); err != nil {
		return fmt.Errorf("socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return fmt.Errorf("socket %s: %w", path, err)
	}
	return nil
}

// listenLocked binds path, of which the lock is held.
func listenLocked(path string, perm fs.FileMode) (*net.UnixListener, error) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("socket %s: %w", path, err)
	case st.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("socket %s: there is a %s of this name that is not a socket: %w", path, kindOf(st.Mode()), fs.ErrExist)
	default:
		nc, err := net.Dial("unix", path)
		switch {
		case err == nil:
			c, _ := PeerOf(nc)
			_ = nc.Close()
			return nil, &hold.InUseError{What: "socket " + path, Holder: hold.HolderOf(c.PID)}
		case !errors.Is(err, unix.ECONNREFUSED):
			return nil, fmt.Errorf("socket %s: cannot tell whether it is in use: %w", path, err)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("socket %s: remove what a dead process left: %w", path, err)
		}
	}
	cfg := net.ListenConfig{Control: func(_, _ string, rc syscall.RawConn) error {
		// The mode of an unbound socket is that of the file which bind makes.
		var err error
		outer := rc.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), uint32(perm.Perm())) })
		return errors.Join(outer, err)
	}}
	l, err := cfg.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	u := l.(*net.UnixListener)
	u.SetUnlinkOnClose(false)
	return u, nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "directory"
	}
	return "special file"
}
