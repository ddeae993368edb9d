package srp

import (
	"fmt"

	"minisrp/verbs"
)

// settle fills in defaults and checks the ranges.
func (c *SessionConfig) settle() error {
	defaults := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	defaults(&c.Channels, 1)
	defaults(&c.QueueSize, DefaultQueueSize)
	defaults(&c.DescriptorsInIU, DefaultDescriptorsInIU)
	defaults(&c.MaxSegments, c.DescriptorsInIU)
	defaults(&c.MaxCDB, CDBLen)
	defaults(&c.BounceSize, DefaultBounceSize)
	if !c.AllowExternalTable {
		c.MaxSegments = min(c.MaxSegments, c.DescriptorsInIU)
	}
	if c.LoginTimeout == 0 {
		c.LoginTimeout = DefaultLoginTimeout
	}
	if c.LogoutTimeout == 0 {
		c.LogoutTimeout = DefaultLogoutTimeout
	}
	if c.RetryCount == 0 {
		c.RetryCount = 7
	}
	switch {
	case c.Device == nil || c.PD == nil || c.PD.Device() != c.Device:
		return fmt.Errorf("%w: the protection domain must be the device's", ErrInvalidConfig)
	case len(c.Processors) == 0:
		return fmt.Errorf("%w: no processor for the channels", ErrInvalidConfig)
	case c.MaxCDB%4 != 0:
		return fmt.Errorf("%w: max_cdb is %d, must be a multiple of 4", ErrInvalidConfig, c.MaxCDB)
	case c.MaxIUSize != 0 && c.MaxIUSize < minIULen:
		return fmt.Errorf("%w: max_it_iu_size is %d, must be 0 or at least %d", ErrInvalidConfig, c.MaxIUSize, minIULen)
	case c.Protect > ProtectRegion:
		return fmt.Errorf("%w: %v", ErrInvalidConfig, c.Protect)
	case c.LoginTimeout < 0 || c.LogoutTimeout < 0:
		return fmt.Errorf("%w: a timeout is negative", ErrInvalidConfig)
	}
	for _, r := range []struct {
		name        string
		v, low, top int
	}{
		{"ch_count", c.Channels, 1, MaxChannels},
		{"queue_size", c.QueueSize, 1, MaxQueueSize},
		{"cmd_sg_entries", c.DescriptorsInIU, 1, MaxInlineDescs},
		{"sg_tablesize", c.MaxSegments, 1, MaxSegmentsLimit},
		{"imm_data", c.ImmediateData, 0, MaxImmediateData},
		{"max_cdb", c.MaxCDB, CDBLen, 2 * CDBLen},
		{"bounce_size", c.BounceSize, 512, maxBounce},
		{"receive length", c.ReceiveLen, 0, maxTIIULen},
		{"tl_retry_count", int(c.RetryCount), 2, 7},
	} {
		if r.v < r.low || r.v > r.top {
			return fmt.Errorf("%w: %s is %d, must be %d to %d", ErrInvalidConfig, r.name, r.v, r.low, r.top)
		}
	}
	if c.Protect == ProtectIO && !c.Device.Attr().MemoryWindows {
		c.Protect = ProtectBounce
	}
	return c.fitQueue(c.Device.Attr())
}

// perSlot is how many work requests a command takes in the send queue, with the one that its receive takes for answers
// to the target.
func (c *SessionConfig) perSlot() int {
	if c.Protect == ProtectIO {
		return 2*c.MaxSegments + 2
	}
	return 2
}

// fixedWRs is the rest of the send queue: task management functions, answers in the receives that are not commands',
// SRP_I_LOGOUT, and the marker.
const fixedWRs = taskSlots + taskSlots + targetRequests + 2

// fitQueue lowers QueueSize to what the device's queues hold.
func (c *SessionConfig) fitQueue(d *verbs.DeviceAttr) error {
	fit := (min(int(d.MaxWR), int(d.MaxCQE)/2) - fixedWRs) / c.perSlot()
	if fit < 1 {
		return fmt.Errorf("%w: sg_tablesize %d takes more work requests than the %d of %s's queues",
			ErrInvalidConfig, c.MaxSegments, d.MaxWR, d.Name)
	}
	c.QueueSize = min(c.QueueSize, fit)
	return nil
}

// receives is how many receives a channel posts: for the answer of each request that can be outstanding, and for what
// the target sends of itself.
func (c *SessionConfig) receives() int { return c.QueueSize + taskSlots + targetRequests }

// sends is the length of a channel's send queue.
func (c *SessionConfig) sends() int { return c.QueueSize*c.perSlot() + fixedWRs }
