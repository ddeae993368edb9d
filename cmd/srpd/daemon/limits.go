package daemon

import (
	"net/netip"
	"time"

	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/verbs"
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

// MaxUnits bounds the units of an embedded target.
const MaxUnits = 64

// MaxEmbedded bounds the embedded targets, by the addresses of their network.
const MaxEmbedded = 64

// hostedBuffers is what all embedded targets together take for data of units in files, in bytes, as long as it gives
// each the least that works.
const hostedBuffers = 64 << 20

// leastBuffers is that least, in bytes: a transfer of lun.MaxTransfer and half of another.
const leastBuffers = lun.MaxTransfer * 3 / 2

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
