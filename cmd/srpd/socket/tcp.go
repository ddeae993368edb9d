package socket

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"minisrp/cmd/srpd/hold"
)

// ListenTCP listens at a host and port. The host has to be given: an empty one would mean all networks.
// Errors: *hold.InUseError when the port is taken.
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
		return nil, &hold.InUseError{What: "address " + address}
	}
	return l, err
}
