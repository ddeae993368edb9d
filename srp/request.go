package srp

import (
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// Segment is a piece of memory that a command reads or writes: Length bytes, 1 or more, at Addr. It lies in a region
// that is registered with the session's PD, with local write and window binding allowed.
type Segment struct {
	Addr   uint64
	Length uint32
	LKey   uint32 // of the region
	RKey   uint32 // of the region; used when Info.Protect is ProtectRegion
	// Mem is the piece itself, Length bytes; used when Info.Protect is ProtectBounce.
	Mem []byte
}

// Direction says which way a command's data goes. Commands with data both ways are not supported.
type Direction uint8

const (
	NoData  Direction = iota
	DataIn            // from the target into the segments
	DataOut           // from the segments to the target
)

// Outcome is how a Request or TaskRequest ended.
type Outcome uint8

const (
	// Completed: the target answered, and the other results are valid. For a TaskRequest look at Code.
	Completed Outcome = iota
	// Refused: the target answered with a response code other than 0 (see Request.Code): it did not take the request
	// for a command. There is no SCSI status.
	Refused
	// Aborted: it was given up by Abandon before an answer came. Whether it had an effect is not known.
	Aborted
	// ChannelDown: the channel ended before an answer came. Whether it had an effect is not known.
	ChannelDown
)

func (o Outcome) String() string {
	switch o {
	case Completed:
		return "completed"
	case Refused:
		return "refused"
	case Aborted:
		return "aborted"
	case ChannelDown:
		return "channel down"
	}
	return "unknown outcome"
}

// MaxSense is the most sense data that a Request keeps, in bytes (SPC-5 4.4.1: 8 and up to 244 more).
const MaxSense = 252

// RequestFunc is told that a request has ended: its results are set, no remote access to its memory is possible any
// more, and it is the owner's again, who may start it anew from here.
//
//level:dispatch noalloc
type RequestFunc func(f *dispatch.Frame, r *Request)

// Request is a SCSI command as a channel sees it.
//
// Ownership: storage of the caller's, made once and used again. From a Start that returned nil until the call of Done
// it is the channel's, with its CDB and segments, and nothing in it may be changed.
type Request struct {
	// Fixed after construction.
	Done RequestFunc
	// Owner is the caller's; a pointer in it costs no allocation.
	Owner any

	LUN       scsi.LUN
	CDB       []byte // up to SessionConfig.MaxCDB bytes, in steps of 4 above 16
	Attribute TaskAttribute
	Direction Direction
	Segments  []Segment // with data: Length bytes in all
	Length    uint32    // bytes; 0 without data

	// The results, valid from the call of Done on.

	Outcome Outcome
	Status  scsi.Status  // Completed
	Code    ResponseCode // Refused, or Completed with 0
	Flags   RspFlags     // which way data was too short or too long, as the response has it
	// DataOutResidual and DataInResidual are the response's; Flags says if and how they count.
	DataOutResidual, DataInResidual uint32
	// Transferred is the bytes of data that the target moved, by its residual: 0 to Length. Completed only.
	Transferred uint32
	// Sense is sense data, empty if there was none; longer data is cut to MaxSense. A view of the request's own
	// memory, good until the next Start.
	Sense []byte

	// Private of the channel.
	ch    *Channel
	slot  *slot
	sense [MaxSense]byte
}

// Outstanding reports whether the channel has the request. Only on the channel's processor.
func (r *Request) Outstanding() bool { return r.slot != nil }

// Tag returns the tag under which the target knows the request, 0 if it is not outstanding. Only on the channel's
// processor.
func (r *Request) Tag() uint64 {
	if r.slot == nil {
		return 0
	}
	return tagOf(uint16(r.ch.index), r.slot.index, r.slot.gen)
}

// TaskFunc is told that a task management function has ended. The request is the owner's again.
//
//level:dispatch noalloc
type TaskFunc func(f *dispatch.Frame, t *TaskRequest)

// TaskRequest is a task management function.
//
// Ownership: storage of the caller's. From a Manage that returned nil until the call of Done it is the channel's.
type TaskRequest struct {
	// Fixed after construction.
	Done TaskFunc

	Function TaskFunction
	LUN      scsi.LUN
	Victim   *Request // AbortTask: the task, outstanding on the same channel

	// The results, valid from the call of Done on.

	// Outcome is Completed if the target answered, ChannelDown if it did not until the channel's end.
	Outcome Outcome
	// Code is the target's answer. Linux and SCST answer an AbortTask of a task that they do not have any more with
	// ResponseFailed; the victim's own response has then come before.
	Code ResponseCode

	// Private of the channel.
	tag  uint64 // the victim's, since it may end while this waits
	busy bool
	next *TaskRequest
}
