package daemon

import (
	"net/netip"
	"time"

	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/soft/tap"
)

// The addresses of the fabric in the process (TEST-NET-1, RFC 5737: nobody else has them). Embedded targets have
// consecutive ones.
var (
	initiatorAddr = netip.MustParseAddr("192.0.2.1")
	embeddedAddr  = netip.AddrPortFrom(netip.MustParseAddr("192.0.2.2"), 5555)
)

// adapterName is the initiator's HCA.
const adapterName = "soft0"

// defaultPKey is the partition of every port.
const defaultPKey = 0xffff

// MaxPollTime bounds the time that an NBD connection looks for a request before it sleeps: what is longer than a wake by
// far only takes a processor from others.
const MaxPollTime = time.Millisecond

// MaxBudget bounds the DPCs that a processor runs before it lets others go on, as dispatch.WithBudget does.
const MaxBudget = 1 << 20

// MinCapture is the least size to which a capture is limited, in bytes.
const MinCapture = tap.MinSize

// MaxUnits bounds the units of an embedded target.
const MaxUnits = 64

// MaxEmbedded bounds the embedded targets, by the addresses of their network.
const MaxEmbedded = 64

// hostedBuffers is what all embedded targets together may take for data of units in files, in bytes, as long as it leaves
// those of each processor the default. They take it as they need it.
const hostedBuffers = 64 << 20

// hostedRequests is how many commands the sessions with all embedded targets together have under way at most, as long as
// it leaves each channel leastRequests: a command has about 15 KiB of memory at both ends.
const (
	hostedRequests = 2048
	leastRequests  = 16
)

// hostedReceive is the longest information unit of an embedded target, in bytes.
const hostedReceive = 128

// MaxLUN is the largest logical unit number (SAM-5 4.7.4, flat space addressing).
const MaxLUN = 0x3fff

// MaxChannels bounds the channels of a session, and with them the processors: each is a goroutine that wants a CPU.
const MaxChannels = srp.MaxChannels

// embeddedAt is the address of embedded target n.
func embeddedAt(n int) netip.AddrPort {
	a := embeddedAddr.Addr().As4()
	a[3] += byte(n)
	return netip.AddrPortFrom(netip.AddrFrom4(a), embeddedAddr.Port())
}

const (
	// firstRound bounds how long a start waits for targets that are not required: less than the 120 s that systemd does.
	firstRound = 60 * time.Second
	// scanTime bounds one look for the units of a target: its commands end by themselves, after 30 s each.
	scanTime = 60 * time.Second
	// healFirst is how long after a failure what is missing is tried again; the time doubles up to healMost.
	healFirst = time.Second
	healMost  = 30 * time.Second
	// withdrawTime bounds how long the clients of a unit that has gone, and its disk, may take to end.
	withdrawTime = 10 * time.Second
	// summarized is how many failures Summary tells of.
	summarized = 3
)

// MaxConnections bounds what may be asked for of NBD connections at a time.
const MaxConnections = 1 << 16

// gid is a port's GID on the fabric.
func gid(a netip.Addr) verbs.GID { return verbs.GID(a.As16()) }
