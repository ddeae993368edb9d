package srp

import (
	"fmt"
	"time"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Protect says how memory is kept from the target outside the command that it belongs to.
type Protect uint8

const (
	// ProtectIO binds a memory window to the command's memory, for its direction and this channel only, and
	// invalidates it before the command completes. A device without memory windows of type 2 gets ProtectBounce.
	ProtectIO Protect = iota
	// ProtectBounce gives the target memory of the channel's own, and copies.
	ProtectBounce
	// ProtectRegion gives the target the region's key: it could read and write all of the region at any time.
	ProtectRegion
)

func (p Protect) String() string {
	switch p {
	case ProtectIO:
		return "io: a memory window for each command"
	case ProtectBounce:
		return "bounce: data is copied through memory of the channel's own"
	case ProtectRegion:
		return "region: the target can reach whole regions at any time"
	}
	return fmt.Sprintf("unknown protection %d", uint8(p))
}

// ReadyFunc is told that the channel, which refused a Start with ErrBusy, has room again. It is called once for all the
// refusals before it.
//
//level:dispatch noalloc
type ReadyFunc func(f *dispatch.Frame, c *Channel)

// EventFunc is told of what happens on a channel outside commands. e is valid during the call.
//
//level:dispatch noalloc
type EventFunc func(f *dispatch.Frame, c *Channel, e *ChannelEvent)

// SessionConfig says how to log in, and what for.
type SessionConfig struct {
	Device  *verbs.Device
	PD      *verbs.PD     // of Device; the segments' regions belong to it
	Address verbs.Address // its form, RDMA CM or IB CM, is the login request's

	Initiator, Target PortID

	// Channels is how many channels to ask for, 1 to MaxChannels; 0 means 1. The session runs with fewer if the target
	// allows fewer.
	Channels int
	// Processors are where the channels run, channel i on Processors[i%len]; at least one.
	Processors []*dispatch.Processor

	QueueSize       int // commands a channel has outstanding at most, 1 to MaxQueueSize; 0 means DefaultQueueSize
	DescriptorsInIU int // cmd_sg_entries: 1 to MaxInlineDescs; 0 means DefaultDescriptorsInIU
	// MaxSegments is how many pieces a command's memory may have, adjacent ones counted as one; 0 means DescriptorsInIU.
	// More than DescriptorsInIU need AllowExternalTable, without which there are no more.
	MaxSegments int
	// AllowExternalTable, allow_ext_sg, lets the target read by RDMA what of a descriptor table does not fit in the IU.
	// Only this module's target is known to do so; others fail such commands.
	AllowExternalTable bool
	// ImmediateData, max_imm_data, is how many bytes of a write may travel in the IU; 0 asks for none. Linux's default
	// is DefaultImmediateData.
	ImmediateData int
	// ReceiveLen is the length of a channel's receives at first, in bytes; 0 is that of the longest IU to the target,
	// which targets on Linux demand. If the target says in its response that it may send longer ones, the login begins
	// anew.
	ReceiveLen int
	MaxIUSize  int // max_it_iu_size, bytes: a cap for what is asked for; 0 means none
	MaxCDB     int // bytes, 16 to 32; 0 means 16. Some targets misread longer ones

	Protect Protect
	// BounceSize is the most bytes of data in a command under ProtectBounce; 0 means DefaultBounceSize.
	BounceSize int

	LoginTimeout  time.Duration // for all of Login; 0 means DefaultLoginTimeout
	LogoutTimeout time.Duration // for what is outstanding to end by itself at Logout; 0 means DefaultLogoutTimeout
	RetryCount    uint8         // tl_retry_count: transport retries, 2 to 7; 0 means 7

	Ready ReadyFunc // may be nil
	Event EventFunc // may be nil
}

// Session is an I_T nexus: one or more channels to one target port.
//
// Ownership: made by Login, ended by Logout of the same caller, who closes device, PD and processors only afterwards.
type Session struct {
	cfg      SessionConfig
	channels []*Channel
	info     Info
	ended    bool // Logout was called
}

// Channels returns the session's channels. A channel that has gone down stays in the list.
func (s *Session) Channels() []*Channel { return s.channels }

// Info returns what the login has agreed on.
func (s *Session) Info() *Info { return &s.info }

// Info is what a login has agreed on.
type Info struct {
	Channels        int           // how many there are
	Fewer           error         // why they are fewer than asked for; nil if they are not
	QueueSize       int           // commands a channel has outstanding at most, whatever the credits
	Credits         int           // that each channel began with, one for task management among them; the least of all
	MaxITIULen      int           // bytes of an IU to the target
	MaxTIIULen      int           // bytes of an IU from the target
	ImmediateData   int           // bytes of a write that may travel in the IU; 0 is none
	Formats         BufferFormats // in use
	DescriptorsInIU int
	MaxSegments     int    // of a command
	MaxTransfer     uint32 // bytes of a command
	MaxCDB          int
	Protect         Protect // in use
}
