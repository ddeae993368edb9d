package socket

import (
	"net"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Peer is the process at the other end of a unix socket, as it was when it connected.
type Peer struct {
	PID int
	UID int
	GID int

	groups []uint32 // supplementary
}

// In reports whether the process belongs to a group, be it by the way.
func (p *Peer) In(gid int) bool { return p.GID == gid || slices.Contains(p.groups, uint32(gid)) }

// maxGroups is how many supplementary groups a process may have (NGROUPS_MAX).
const maxGroups = 1 << 16

// groupsOf asks the kernel for the supplementary groups of a unix socket's peer (unix(7), SO_PEERGROUPS); nil if it does
// not say.
func groupsOf(fd int) []uint32 {
	for n := uint32(32); n <= maxGroups; n *= 8 {
		all, size := make([]uint32, n), n*4
		_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&all[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch e {
		case 0:
			return all[:size/4]
		case unix.ERANGE:
		default:
			return nil
		}
	}
	return nil
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
			p, ok = Peer{PID: int(c.Pid), UID: int(c.Uid), GID: int(c.Gid), groups: groupsOf(int(fd))}, true
		}
	})
	return p, ok
}
