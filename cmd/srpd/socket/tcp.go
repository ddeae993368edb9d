package socket

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

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
	network := "tcp"
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		network = "tcp4" // else 0.0.0.0 would be all of IPv6 too
	}
	l, err := net.Listen(network, address)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, &hold.InUseError{What: "address " + address}
	}
	return l, err
}
