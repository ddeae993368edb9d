package srp

import (
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Channel is one RDMA channel of a session: a QP with its CQ, on one processor.
//
//	Start -> map (slot, windows, IU) -> Post [BIND_MW.. SEND]
//	  CQ -> notified -> handleRSP -> flush: [RECV..] [LOCAL_INV..]
//	  CQ -> notified -> finish -> Done
//
// A command with windows signals its last LOCAL_INV only; one without signals its SEND. All of it runs at Dispatch on
// the channel's processor.
//
// Ownership: the session's. Everything but Processor, Index and Session is called by frames that own the channel's
// processor.
type Channel struct {
	// Fixed after construction.
	sess  *Session
	index int
	proc  *dispatch.Processor
	res   resources
	agreed
	ready ReadyFunc
	event EventFunc

	state   channelState
	wanting bool // a Start was refused: Ready is owed
	credit  credits
	slots   []slot
	free    slotList
	ending  slotList // end without a completion, by later
	tasks   []taskSlot
	waiting taskList
	stats   ChannelStats

	more  dispatch.DPC // notified again, after others had their turn
	later dispatch.DPC // ends what is in ending

	// The channel's end; see channel_down.go.
	down     DownError
	drains   uint8 // markers that have not come back
	qpClosed bool  // the device forgets the QP: there will be no markers
	parting  bool  // SRP_I_LOGOUT is on its way
	modify   verbs.Op[verbs.None]
	closeOp  verbs.Op[verbs.None]
	errored  verbs.ThenFunc[verbs.None]
	closed   verbs.ThenFunc[verbs.None]
	idle     chan struct{} // closed when nothing is outstanding; Logout waits
	told     chan struct{} // closed when SRP_I_LOGOUT has been sent or cannot be; Logout waits
	ended    chan struct{} // closed when the channel is down

	// Room for one call's work, so that nothing is on the heap.
	cmd    Command
	tmf    TaskManagement
	rsp    Response
	cred   CredReq
	aer    AERReq
	tlo    TLogout
	credAn CredRsp
	aerAn  AERRsp
	pieces []piece
	wrs    []verbs.WR
	inv    []verbs.WR
	recvs  []verbs.RecvWR
	wcs    [pollBatch]verbs.WC
	ev     ChannelEvent
}

// agreed is what a channel's login has agreed on.
type agreed struct {
	iuLen     int // bytes, the longest IU to the target
	recvLen   int // bytes, the longest from it
	inline    int // descriptors of a table that fit in an IU
	segments  int // pieces of a command
	immediate int // bytes of immediate data; 0 is none
	transfer  uint32
	formats   BufferFormats
	initial   int32 // credits
}

// channelState is where a channel is in its life.
//
//	state    event                              state'
//	closed   login complete                     up
//	up       Logout                             leaving
//	up       Fail, error, T_LOGOUT, disconnect  failing
//	leaving  the same, or the end of Logout     failing
//	failing  flushed                            down
type channelState uint8

const (
	chanClosed  channelState = iota // not logged in yet
	chanUp                          // takes requests
	chanLeaving                     // logs out: what is outstanding ends, nothing new begins
	chanFailing                     // the QP is being flushed
	chanDown                        // flushed; everything has been completed
)

// Processor returns the processor that the channel's methods are called on, and its callbacks come on.
func (c *Channel) Processor() *dispatch.Processor { return c.proc }

// Index returns the channel's number in its session, from 0.
func (c *Channel) Index() int { return c.index }

// Session returns the session that the channel belongs to.
func (c *Channel) Session() *Session { return c.sess }

// Credits returns how many requests the target would take now. It may be negative when the target has lowered its
// limit. Level: Dispatch, on the channel's processor.
func (c *Channel) Credits(f *dispatch.Frame) int { return int(c.credit.avail) }

// Outstanding returns how many commands have not ended. Level: Dispatch, on the channel's processor.
func (c *Channel) Outstanding(f *dispatch.Frame) int { return len(c.slots) - c.free.n }

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
	BytesOut      uint64 // of commands that ended with GOOD
	ImmediateOut  uint64 // bytes that went in the IU, whatever became of the command
	Copied        uint64 // bytes copied under ProtectBounce
	Polls         uint64 // polls of the completion queue
	IdlePolls     uint64 // polls that found nothing
}

// ChannelStatus is how a channel stands.
type ChannelStatus struct {
	QPN         uint32
	Depth       int // commands at a time at most
	Outstanding int // commands that have not ended
	Up          bool

	CreditLimit  int64 // requests that the target takes at a time, as it has said by now
	CreditInUse  int64 // of them, by requests that are at the target
	LeastCredits int64 // the fewest that were left since the login
}

// Status returns how the channel stands. Level: Dispatch, on the channel's processor.
func (c *Channel) Status(f *dispatch.Frame) ChannelStatus {
	return ChannelStatus{
		QPN: c.res.qp.Num(), Depth: len(c.slots), Outstanding: c.Outstanding(f), Up: c.Up(f),
		CreditLimit: c.credit.avail + c.credit.pending, CreditInUse: c.credit.pending, LeastCredits: c.credit.least,
	}
}

// Stats returns the counters. Level: Dispatch, on the channel's processor.
func (c *Channel) Stats(f *dispatch.Frame) ChannelStats { return c.stats }

// mustOwn is for the methods that touch what the processor serialises.
func (c *Channel) mustOwn(f *dispatch.Frame) {
	if !f.On(c.proc) {
		panic("srp: channel touched by a frame that does not own its processor")
	}
}

// The kinds of work requests, in the upper half of their IDs; an index is in the lower.
const (
	wrBind      uint64 = iota << 32 // index of the slot; unsignalled
	wrSend                          // a command's SEND; index of the slot
	wrInv                           // LOCAL_INV; index of the slot
	wrTask                          // SEND of a task management function; index of the task slot
	wrAnswer                        // SEND of a CRED_RSP or AER_RSP; index of the receive that asked
	wrLogout                        // SEND of SRP_I_LOGOUT
	wrRecv                          // index of the receive
	wrDrainSend                     // marker at the end of the send queue
	wrDrainRecv                     // marker at the end of the receive queue

	wrKindMask = ^uint64(1<<32 - 1)
)
