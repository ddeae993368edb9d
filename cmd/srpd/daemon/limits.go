package daemon

import (
	"net/netip"

	"minisrp/verbs"
)

// The addresses of the fabric in the process (TEST-NET-1, RFC 5737: nobody else has them).
var (
	initiatorAddr = netip.MustParseAddr("192.0.2.1")
	embeddedAddr  = netip.AddrPortFrom(netip.MustParseAddr("192.0.2.2"), 5555)
)

// adapterName is the initiator's HCA.
const adapterName = "soft0"

// defaultPKey is the partition of every port.
const defaultPKey = 0xffff

// MaxUnits bounds the units of the embedded target.
const MaxUnits = 64

// MaxChannels bounds the channels of a session, and with them the processors: each is a goroutine that wants a CPU.
const MaxChannels = 64

// gid is a port's GID on the fabric.
func gid(a netip.Addr) verbs.GID { return verbs.GID(a.As16()) }
