package srp

import (
	"minisrp/verbs/dispatch"
)

// Channel is one RDMA channel of a session: a QP with its CQ, on one processor.
//
// Ownership: the session's. Everything but Processor and Index is called by frames that own the channel's processor.
type Channel struct {
	// Fixed after construction.
	sess  *Session
	index int
	proc  *dispatch.Processor

	state channelState
	down  DownError
}

// channelState is where a channel is in its life.
type channelState uint8

const (
	chanClosed  channelState = iota // not connected yet, or everything is closed
	chanUp                          // takes requests
	chanLeaving                     // logs out: what is outstanding ends, nothing new begins
	chanFailing                     // the QP is being flushed
	chanDown                        // flushed; everything has been completed
)

type slot struct{}

// Processor returns the processor that the channel's methods are called on, and its callbacks come on.
func (c *Channel) Processor() *dispatch.Processor { return c.proc }

// Index returns the channel's number in its session, from 0.
func (c *Channel) Index() int { return c.index }

// Session returns the session that the channel belongs to.
func (c *Channel) Session() *Session { return c.sess }

// Start sends a command. Its Done is called once, later, never within Start; on an error nothing has begun.
// Level: Dispatch, on the channel's processor.
// Errors: ErrBusy (Ready follows), ErrDown, ErrTooManySegments, ErrTooLong, ErrInvalidRequest.
func (c *Channel) Start(f *dispatch.Frame, r *Request) error { return ErrDown }

// Manage sends a task management function, or keeps it until there is a credit for it: it goes before commands, has
// the credit that they leave, and many may be under way. How long to wait for its end is the caller's affair; what
// ends all of them is Fail.
// Level: Dispatch, on the channel's processor. Errors: ErrDown, ErrNotOutstanding, ErrInvalidRequest.
func (c *Channel) Manage(f *dispatch.Frame, t *TaskRequest) error { return ErrDown }

// Abandon gives up a command that the target does not have any more, as a task management function said: its memory is
// taken from the target's reach, then it ends with Aborted, unless a response came before. It does nothing to a
// request that is not outstanding on the channel. Done is called once, later, never within Abandon.
// Level: Dispatch, on the channel's processor.
func (c *Channel) Abandon(f *dispatch.Frame, r *Request) {}

// Fail ends the channel: everything outstanding ends with ChannelDown once the QP is flushed, so that no remote access
// is possible, then EventDown is told. Level: Dispatch, on the channel's processor.
func (c *Channel) Fail(f *dispatch.Frame) {}

// Credits returns how many requests the target would take now. It may be negative when the target has lowered its
// limit. Level: Dispatch, on the channel's processor.
func (c *Channel) Credits(f *dispatch.Frame) int { return 0 }

// Outstanding returns how many commands have not ended. Level: Dispatch, on the channel's processor.
func (c *Channel) Outstanding(f *dispatch.Frame) int { return 0 }

// Up reports whether the channel takes requests. Level: Dispatch, on the channel's processor.
func (c *Channel) Up(f *dispatch.Frame) bool { return c.state == chanUp }

// Err returns why the channel is down, or is going to be; nil while it is up.
// Level: Dispatch, on the channel's processor.
func (c *Channel) Err(f *dispatch.Frame) *DownError {
	if c.state == chanUp || c.state == chanLeaving {
		return nil
	}
	return &c.down
}

// ChannelStats counts what a channel has done since its login.
type ChannelStats struct {
	Starts        uint64 // commands sent
	Busy          uint64 // Starts refused with ErrBusy
	Responses     uint64 // to commands
	Tasks         uint64 // task management functions sent
	TaskResponses uint64
	Aborted       uint64 // commands given up by Abandon
	Late          uint64 // responses to what had ended
	UnknownTags   uint64 // responses to what never was
	UnknownIUs    uint64 // of a type that no target sends on a channel
	CreditReqs    uint64 // SRP_CRED_REQ, all answered
	AsyncEvents   uint64 // SRP_AER_REQ, all answered
	BytesIn       uint64
	BytesOut      uint64
	ImmediateOut  uint64 // bytes among BytesOut that went in the IU
	Copied        uint64 // bytes copied under ProtectBounce
	Polls         uint64 // batches of completions taken
	IdlePolls     uint64 // polls that found none
}

// Stats returns the counters. Level: Dispatch, on the channel's processor.
func (c *Channel) Stats(f *dispatch.Frame) ChannelStats { return ChannelStats{} }
