package target

import (
	"errors"
	"fmt"
	"log/slog"

	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Config is what a port is made of.
type Config struct {
	Device    *verbs.Device
	Processor *dispatch.Processor // of the port, its channels and its units
	ID        srp.PortID          // the target port identifier that initiators log in to

	Credits          int               // see DefaultCredits
	MaxIU            int               // see DefaultMaxIU
	MaxChannels      int               // see DefaultMaxChannels
	ChannelsPerNexus int               // see DefaultChannelsPerNexus; 1 refuses logins for more with 0x00010005
	Buffers          int               // see DefaultBuffers
	Formats          srp.BufferFormats // descriptor formats taken; 0 means direct and indirect
	NoImmediateData  bool              // refuse immediate data

	// Allow says whether an initiator port may log in: 0, or the reason that it is given. Nil allows all.
	//
	//level:dispatch
	Allow func(initiator srp.PortID, from verbs.Address) srp.RejectReason

	Faults Faults // what goes wrong on purpose; nil for nothing

	Log *slog.Logger // logins and their ends; nil logs nothing
}

// Faults is a layer in which a target misbehaves, for tests of initiators.
type Faults interface {
	// DropResponse says whether the response to a command gets lost, with the credit in it.
	//
	//level:dispatch noalloc
	DropResponse(f *dispatch.Frame, tag uint64, cdb []byte) bool
}

// ErrConfig says that a value of Config is out of range. The caller corrects it.
var ErrConfig = errors.New("bad target configuration")

// ErrClosed says that the port is being closed. The caller makes a new one.
var ErrClosed = errors.New("target port is closed")

// settle fills in defaults and checks the ranges.
func (c *Config) settle() error {
	if c.Device == nil || c.Processor == nil {
		return fmt.Errorf("%w: it takes a device and a processor", ErrConfig)
	}
	attr := c.Device.Attr()
	for _, v := range []struct {
		name             string
		value            *int
		value0, min, max int
	}{
		{"credits", &c.Credits, min(DefaultCredits, int(attr.MaxWR)-spareReceives-1), 1, min(MaxCredits, int(attr.MaxWR)-spareReceives-1)},
		{"maximum IU length", &c.MaxIU, DefaultMaxIU, MinIU, maxMaxIU},
		{"channels", &c.MaxChannels, DefaultMaxChannels, 1, 1 << 16},
		{"channels of one initiator", &c.ChannelsPerNexus, DefaultChannelsPerNexus, 1, 1 << 16},
		{"buffer memory", &c.Buffers, DefaultBuffers, minBuffers, 1 << 36},
	} {
		if *v.value == 0 {
			*v.value = v.value0
		}
		if *v.value < v.min || *v.value > v.max {
			return fmt.Errorf("%w: %s is %d, must be %d to %d", ErrConfig, v.name, *v.value, v.min, v.max)
		}
	}
	if c.Formats == 0 {
		c.Formats = srp.BufferDirect | srp.BufferIndirect
	}
	if c.Formats&^(srp.BufferDirect|srp.BufferIndirect) != 0 {
		return fmt.Errorf("%w: buffer formats %v", ErrConfig, c.Formats)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// receives is how many receives a channel posts, and so how many commands it can have at hand.
func (c *Config) receives() int { return c.Credits + spareReceives }

// sends is the length of a channel's send queue, without the markers at its end.
func (c *Config) sends() int {
	return min(sendsPerCommand*c.receives(), int(c.Device.Attr().MaxWR)-fixedSends)
}

// fixedSends is the rest of the send queue: SRP_T_LOGOUT and the marker.
const fixedSends = 2
