package target

import (
	"errors"
	"fmt"
	"log/slog"

	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Config is what a port is made of.
type Config struct {
	Device    *verbs.Device
	Processor *dispatch.Processor // of the port, its channels and its units
	ID        srp.PortID          // the target port identifier that initiators log in to
	At        lun.Port            // the port's place among those that show the same units; zero for the only one

	Credits          int               // see DefaultCredits
	MaxIU            int               // see DefaultMaxIU
	MaxChannels      int               // see DefaultMaxChannels
	ChannelsPerNexus int               // see DefaultChannelsPerNexus; 1 refuses logins for more with 0x00010005
	Buffers          int               // see DefaultBuffers; without effect when there is Shared
	Shared           *Buffers          // shared with other ports of the processor; nil: the port has memory of its own
	Formats          srp.BufferFormats // descriptor formats taken; 0 means direct and indirect
	NoImmediateData  bool              // refuse immediate data

	// Closed refuses initiators that no group names. Else they see what is attached to the port itself.
	Closed bool

	// StrictChannels takes a login for one of several channels only from an initiator that has a channel, and none whose
	// MULTI-CHANNEL ACTION is a reserved one. No initiator in the field needs the port to be less strict, but Linux's
	// target is.
	StrictChannels bool

	// LikeLinux gives the reasons and results that Linux's target gives: 0x00010006 to an initiator that may not log in,
	// in place of 0x00010003; 0x00010002 to one that asks for too short IUs, in place of 0x00010000; channels that are
	// maintained to the first of several too; and it does not mind what descriptor formats are asked for.
	LikeLinux bool

	Faults fault.Layer // what goes wrong on purpose; nil for nothing. See Port.SetFaults

	Log *slog.Logger // logins, refusals and ends; nil logs nothing
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
		{"buffer memory", &c.Buffers, DefaultBuffers, minBuffers, maxBuffers},
	} {
		if *v.value == 0 {
			*v.value = v.value0
		}
		if *v.value < v.min || *v.value > v.max {
			return fmt.Errorf("%w: %s is %d, must be %d to %d", ErrConfig, v.name, *v.value, v.min, v.max)
		}
	}
	if c.Shared != nil && c.Shared.proc != c.Processor {
		return fmt.Errorf("%w: the shared buffers have another processor", ErrConfig)
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

// fixedSends is the rest of the send queue: SRP_T_LOGOUT, a request of the target's, and the marker.
const fixedSends = 3
