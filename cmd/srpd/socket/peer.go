package socket

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Peer is the process at the other end of a unix socket, as it was when it connected.
type Peer struct {
	PID int
	UID int
}

// PeerOf asks the kernel who connected. It reports false when nc is not a unix socket.
func PeerOf(nc net.Conn) (Peer, bool) {
	u, ok := nc.(syscall.Conn)
	if !ok || nc.RemoteAddr().Network() != "unix" {
		return Peer{}, false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return Peer{}, false
	}
	var p Peer
	ok = false
	_ = raw.Control(func(fd uintptr) {
		if c, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			p, ok = Peer{PID: int(c.Pid), UID: int(c.Uid)}, true
		}
	})
	return p, ok
}
