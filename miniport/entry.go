package miniport

import (
	"context"
	"sync/atomic"

	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// Miniport is a driver of one kind of adapter: the entry points that the port calls.
//
// Order of life: FindAdapter, Initialize, then any of the I/O entry points and
// controls, AdapterControl(Stop), and last Close. The I/O entry points of one lane are
// called only by frames that own the lane's processor, one at a time.
type Miniport interface {
	// FindAdapter opens the adapter. It succeeds with no target in reach; targets
	// appear later. When it fails nothing is left, and no other call follows.
	FindAdapter(ctx context.Context, a *Adapter) error

	// Initialize makes the adapter ready for I/O. It is short.
	//
	//level:dispatch
	Initialize(f *dispatch.Frame) error

	// BuildIO prepares the SRB's extension for its path. It touches the SRB alone,
	// neither the adapter nor any other shared state, and may refuse it with a status.
	//
	//level:dispatch noalloc
	BuildIO(f *dispatch.Frame, s *SRB) Status

	// StartIO sends a built SRB. Pending: it will be completed by Adapter.Complete.
	// Busy: nothing was begun; Adapter.Ready follows when it is worth trying again.
	// Gone: nothing was begun and the path is down.
	//
	//level:dispatch noalloc
	StartIO(f *dispatch.Frame, s *SRB) Verdict

	// AbortTask ends one started SRB. The token fires true when the task is known not
	// to be at the unit any more: the port then releases the SRB, unless it has
	// completed before.
	//
	//level:dispatch noalloc
	AbortTask(f *dispatch.Frame, s *SRB, t *Token)

	// ReleaseIO ends a started SRB whose task is not at the unit any more: it is
	// completed with StatusBusReset when remote access to its data has become
	// impossible. It may be called again before that.
	//
	//level:dispatch noalloc
	ReleaseIO(f *dispatch.Frame, s *SRB)

	// ResetUnit resets the unit that a started SRB is at. The token fires true when
	// nothing that was started by the SRB's path on its lane before this call is at the
	// unit any more. What was started is not completed by it: the port releases each.
	//
	//level:dispatch noalloc
	ResetUnit(f *dispatch.Frame, s *SRB, t *Token)

	// ResetTarget ends everything at the target of a path. The token fires true when all
	// that was started there before this call has been completed, with StatusBusReset
	// where no answer came. It does not wait until the target can be used again.
	//
	//level:dispatch noalloc
	ResetTarget(f *dispatch.Frame, p *Path, t *Token)

	// ResetBus does so for every target of the adapter.
	//
	//level:dispatch noalloc
	ResetBus(f *dispatch.Frame, t *Token)

	// AdapterControl is asked by the port for the adapter as a whole.
	AdapterControl(ctx context.Context, c AdapterControl) error

	// UnitControl is told of a unit's life.
	UnitControl(ctx context.Context, p *Path, c UnitControl) error

	// Close gives back what FindAdapter has opened. It is the last call, after Stop.
	Close(ctx context.Context) error
}

// Verdict is what StartIO says.
type Verdict uint8

const (
	Pending Verdict = iota
	Busy
	Gone
	Refused // nothing was begun; the adapter can not send such an SRB
)

// AdapterControl is a control operation on an adapter.
type AdapterControl uint8

const (
	// Suspend stops I/O and keeps targets, units and bindings. Nothing is at the
	// adapter when it is called.
	Suspend AdapterControl = iota
	// Resume makes a suspended adapter ready again.
	Resume
	// Stop ends everything; the adapter's memory and devices are free afterwards. It
	// cannot fail.
	Stop
	// SurpriseRemoval tells that the hardware is gone: nothing may touch it.
	SurpriseRemoval
)

func (c AdapterControl) String() string {
	return [...]string{"suspend", "resume", "stop", "surprise removal"}[c]
}

// UnitControl is a control operation on a unit.
type UnitControl uint8

const (
	UnitStart  UnitControl = iota // a path to a unit has been found
	UnitRemove                    // it is not used any more
)

// TokenFunc is told the end of a reset.
//
//level:dispatch
type TokenFunc func(f *dispatch.Frame, ok bool)

// Token stands for an abort or a reset that is under way.
//
// Ownership: the port's; the miniport's from the entry point until Fire, however long
// after the port has stopped to wait for it.
type Token struct {
	dpc   dispatch.DPC
	fn    TokenFunc
	state atomic.Uint32
	next  *Token // in a list of the miniport's

	// The miniport's extension.
	task srp.TaskRequest
}

// Link is where a queue of the miniport keeps its link.
func (t *Token) Link() **Token { return &t.next }

const (
	tokenIdle uint32 = iota
	tokenArmed
	tokenFailed
	tokenOK
)

// init binds the token to the processor that its function runs on.
func (t *Token) init(p *dispatch.Processor, fn TokenFunc) {
	t.fn = fn
	t.dpc.InitRunner(p, t)
	t.task.Done = func(f *dispatch.Frame, r *srp.TaskRequest) {
		t.Fire(r.Outcome == srp.Completed && r.Code == srp.ResponseComplete)
	}
}

// arm gives the token out. It reports false when the miniport still has it.
func (t *Token) arm() bool { return t.state.CompareAndSwap(tokenIdle, tokenArmed) }

// Fire tells the port that the reset has ended. A second call does nothing. Level:
// both.
func (t *Token) Fire(ok bool) {
	to := tokenFailed
	if ok {
		to = tokenOK
	}
	if t.state.CompareAndSwap(tokenArmed, to) {
		t.dpc.Post()
	}
}

// RunDPC delivers the token, which may be given out again from here on.
func (t *Token) RunDPC(f *dispatch.Frame) { t.fn(f, t.state.Swap(tokenIdle) == tokenOK) }
