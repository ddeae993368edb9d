package miniport

import (
	"context"
	"slices"
	"sync/atomic"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// TargetConfig describes a target port to log in to.
type TargetConfig struct {
	Name    string // for people; "" means the address
	Address verbs.Address
	Port    srp.PortID
	// Session is what else the login asks for; Device, PD, Address, Initiator, Target,
	// Processors, Protect, Ready and Event are filled in. No more channels are asked for
	// than the port has processors, as a lane sends on the one of its own.
	Session srp.SessionConfig
	// Initiator is the initiator port's ID on this path.
	Initiator srp.PortID
}

// Target is a target port that the adapter is logged in to, or wants to be.
//
//	state       event                        state'
//	connecting  logged in                    up
//	connecting  login failed                 connecting, after a pause
//	connecting  away for lossTimeout         connecting, and lost until the next login
//	up          the session has ended        connecting
//	any         Suspend                      suspended
//	suspended   Resume                       connecting
//	any         RemoveTarget, Stop           closed
//
// Ownership: made by SRP.AddTarget, ended by SRP.RemoveTarget. Its keeper goroutine makes
// and ends the sessions; the channels that lanes use are published in atomics.
type Target struct {
	// Fixed after construction.
	mp     *SRP
	config TargetConfig

	channels []atomic.Pointer[srp.Channel] // by executor; nil: none there now
	waiters  []waiters                     // by executor: lanes that wait for its channel
	session  atomic.Pointer[session]       // nil: nothing that was started there is outstanding
	resets   dispatch.Stack[Token, *Token] // asked for, fired when session becomes nil
	scan     dispatch.Work                 // looks for units

	units   atomic.Pointer[[]*Unit] // never changed in place
	lost    atomic.Bool
	logins  atomic.Uint64
	lastErr atomic.Pointer[error]
	info    atomic.Pointer[srp.Info]

	wake     chan struct{} // capacity 1: the keeper shall look again
	hasten   atomic.Bool   // the next login shall not wait
	life     context.Context
	end      context.CancelFunc
	patience context.Context // while it lasts, what is outstanding at a logout may end
	hurry    context.CancelFunc
	done     chan struct{}

	mu      dispatch.Mutex[dispatch.RankTarget] // guards what follows, and changing units
	state   TargetState
	watch   chan struct{}      // closed at the next change
	hold    bool               // suspended: stay logged out
	out     bool               // by Logout: likewise
	attempt context.CancelFunc // ends the login under way
	unasked bool               // nobody waits for the first login in order to scan
}

// TargetState is where a target is in its life.
type TargetState uint8

const (
	TargetConnecting TargetState = iota // not logged in; trying
	TargetUp
	TargetSuspended
	TargetClosed
)

func (s TargetState) String() string {
	return [...]string{"connecting", "up", "suspended", "closed"}[s]
}

func newTarget(m *SRP, c TargetConfig, lanes int) *Target {
	t := &Target{
		mp: m, config: c, channels: make([]atomic.Pointer[srp.Channel], lanes), waiters: make([]waiters, lanes),
		wake: make(chan struct{}, 1), done: make(chan struct{}), watch: make(chan struct{}),
	}
	t.units.Store(&[]*Unit{})
	t.life, t.end = context.WithCancel(context.Background())
	t.patience, t.hurry = context.WithCancel(context.Background())
	t.scan.Init(t.runScan)
	return t
}

// Name returns the target's name.
func (t *Target) Name() string { return t.config.Name }

// Config returns what the target was added with.
func (t *Target) Config() *TargetConfig { return &t.config }

// State returns where the target is.
func (t *Target) State() TargetState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Lost reports whether the target has been away for longer than it is waited for, or was
// removed: I/O that has no other path fails. Level: both.
func (t *Target) Lost() bool { return t.lost.Load() }

// Logins returns how many logins have succeeded.
func (t *Target) Logins() uint64 { return t.logins.Load() }

// Info returns what the last login has agreed on, or nil.
func (t *Target) Info() *srp.Info { return t.info.Load() }

// Err returns why the last login failed; nil if it has not.
func (t *Target) Err() error {
	if e := t.lastErr.Load(); e != nil {
		return *e
	}
	return nil
}

// ChannelInfo is a channel of the current session.
type ChannelInfo struct {
	Index     int
	Processor string
	Stats     srp.ChannelStats
	Status    srp.ChannelStatus
}

// Channels returns the channels of the current session.
func (t *Target) Channels(ctx context.Context) []ChannelInfo {
	var out []ChannelInfo
	port := t.mp.adapter.port
	for i := range t.channels {
		c := t.channels[i].Load()
		if c == nil {
			continue
		}
		s := &ChannelInfo{Index: c.Index(), Processor: c.Processor().Name()} // not looked at when the call may still run
		if port.call(ctx, port.execs[i], func(f *dispatch.Frame) { s.Stats, s.Status = c.Stats(f), c.Status(f) }) == nil {
			out = append(out, *s)
		}
	}
	return out
}

// usable reports whether a lane of executor i can send. Level: both.
func (t *Target) usable(i int) bool { return t.channels[i].Load() != nil }

func (t *Target) setState(s TargetState, err error) {
	t.lastErr.Store(nil)
	if err != nil {
		t.lastErr.Store(&err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = s
	close(t.watch)
	t.watch = make(chan struct{})
}

// await waits until the target is in a state. For a target that is to be up it also ends
// with why a login has failed.
func (t *Target) await(ctx context.Context, want TargetState) error {
	for {
		t.mu.Lock()
		state, watch := t.state, t.watch
		t.mu.Unlock()
		if state == want {
			return nil
		}
		if state == TargetClosed {
			return ErrClosed
		}
		if err := t.Err(); err != nil && want == TargetUp {
			return err
		}
		select {
		case <-watch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// setHold says whether the target is to stay logged out.
func (t *Target) setHold(hold bool) {
	t.mu.Lock()
	t.hold = hold
	if hold && t.attempt != nil {
		t.attempt()
	}
	t.mu.Unlock()
	t.poke()
}

func (t *Target) held() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hold || t.out
}

// poke makes the keeper look again. Level: both.
func (t *Target) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// TargetChanged tells the port that a target has come up, gone down or been lost: the
// lanes of its units look again. Level: both.
func (a *Adapter) TargetChanged(t *Target) {
	up := false
	for i := range t.channels {
		up = up || t.usable(i)
	}
	for _, u := range *t.units.Load() {
		if up {
			u.gate.And(^gateFailed)
		}
		u.refresh()
	}
}

// TargetRemoved tells the port that a target is gone for good: it takes the paths from
// their units.
func (a *Adapter) TargetRemoved(ctx context.Context, t *Target) {
	t.lost.Store(true)
	a.TargetChanged(t)
	a.port.dropPaths(ctx, t, func(scsi.LUN) bool { return true })
}

// addUnit notes that the target leads to a unit.
func (t *Target) addUnit(u *Unit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if units := *t.units.Load(); !slices.Contains(units, u) {
		units = append(slices.Clone(units), u)
		t.units.Store(&units)
	}
}

// removeUnit undoes it.
func (t *Target) removeUnit(u *Unit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	units := slices.DeleteFunc(slices.Clone(*t.units.Load()), func(o *Unit) bool { return o == u })
	t.units.Store(&units)
}
