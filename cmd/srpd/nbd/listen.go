package nbd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// UnixListener listens on a unix socket that it holds by a lock file beside it
// (the path with ".lock" appended). The lock ends with the process, so that what
// a killed process leaves behind is told from what a living one serves.
type UnixListener struct {
	*net.UnixListener
	path  string
	lock  *os.File
	close func() error
}

// maxUnixPath is the longest path of a unix socket, in bytes (unix(7)).
const maxUnixPath = 107

// ListenUnix listens at path, with the permissions perm on the socket. A socket
// that nobody listens on is replaced. The error wraps ErrInUse when a process
// serves it, and fs.ErrExist when path is not a socket.
//
//level:passive
func ListenUnix(path string, perm fs.FileMode) (*UnixListener, error) {
	if len(path) == 0 || len(path) > maxUnixPath || path[0] == '@' {
		return nil, fmt.Errorf("socket %q: want a path of 1 to %d bytes that does not begin with '@'", path, maxUnixPath)
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	l, err := listenLocked(path, perm)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, errors.Join(err, unlockFile(lock)))
	}
	u := &UnixListener{UnixListener: l, path: path, lock: lock}
	u.close = sync.OnceValue(func() error {
		// First the name, so that a client never finds a socket that is closed.
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, u.UnixListener.Close(), unlockFile(lock))
	})
	return u, nil
}

// Close ends listening and removes the socket and its lock.
//
//level:passive
func (l *UnixListener) Close() error { return l.close() }

// listenLocked binds path, of which the lock is held.
func listenLocked(path string, perm fs.FileMode) (*net.UnixListener, error) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case st.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("there is a %s of this name that is not a socket: %w", kindOf(st.Mode()), fs.ErrExist)
	default:
		nc, err := net.Dial("unix", path)
		switch {
		case err == nil:
			_ = nc.Close()
			return nil, ErrInUse
		case !errors.Is(err, unix.ECONNREFUSED):
			return nil, fmt.Errorf("cannot tell whether it is in use: %w", err)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove what a dead process left: %w", err)
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
		return nil, err
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

// lockFile locks the file at path, making it if need be.
func lockFile(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			_ = f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, ErrInUse
			}
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		// The one before us removes the file before it unlocks it: make sure that
		// what we locked is what the name stands for.
		ours, err1 := f.Stat()
		named, err2 := os.Lstat(path)
		if err1 == nil && err2 == nil && os.SameFile(ours, named) {
			return f, nil
		}
		_ = f.Close()
		if err1 != nil || err2 != nil && !errors.Is(err2, fs.ErrNotExist) {
			return nil, errors.Join(err1, err2)
		}
	}
}

// unlockFile removes a locked file and lets it go.
func unlockFile(f *os.File) error { return errors.Join(os.Remove(f.Name()), f.Close()) }

// ListenTCP listens at a host and port. The host has to be given: an empty one
// would mean all networks. The error wraps ErrInUse when the port is taken.
//
//level:passive
func ListenTCP(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w: want HOST:PORT", address, err)
	}
	if host == "" {
		return nil, fmt.Errorf("address %q: want a host, such as 127.0.0.1, or 0.0.0.0 for all networks", address)
	}
	l, err := net.Listen("tcp", address)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("address %s: %w", address, ErrInUse)
	}
	return l, err
}

// URI returns the address of an export as NBD clients take it.
func URI(listener net.Addr, export string) string {
	name := url.PathEscape(export)
	if listener.Network() == "unix" {
		return "nbd+unix:///" + name + "?socket=" + strings.ReplaceAll(url.QueryEscape(listener.String()), "+", "%20")
	}
	return "nbd://" + listener.String() + "/" + name
}

// clientOf names the peer of a connection for the log: the process of a unix
// socket, the address of another.
func clientOf(nc net.Conn) string {
	u, ok := nc.(*net.UnixConn)
	if !ok {
		return nc.RemoteAddr().String()
	}
	name := "unix"
	raw, err := u.SyscallConn()
	if err != nil {
		return name
	}
	_ = raw.Control(func(fd uintptr) {
		if c, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			name = fmt.Sprintf("unix:pid=%d,uid=%d", c.Pid, c.Uid)
		}
	})
	return name
}
