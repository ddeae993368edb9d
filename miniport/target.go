package miniport

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
	// Processors, Ready and Event are filled in.
	Session srp.SessionConfig
	// Initiator is the initiator port's ID on this path.
	Initiator srp.PortID
}

// Target is a target port that the adapter is logged in to, or wants to be.
//
// Ownership: made by SRP.AddTarget. Its keeper goroutine makes and ends the
// sessions; the channels that lanes use are published in atomics.
type Target struct {
	// Fixed after construction.
	mp     *SRP
	config TargetConfig

	channels []atomic.Pointer[srp.Channel] // by executor; nil: none there now
	waiters  []waiters                     // by executor: lanes that wait for its channel
	units    atomic.Pointer[[]*Unit]
	lost     atomic.Bool
	logins   atomic.Uint64
	lastErr  atomic.Pointer[error]
	info     atomic.Pointer[srp.Info]

	resets   dispatch.Stack[Token, *Token]
	busReset atomic.Bool   // the adapter's bus is being reset
	wake     chan struct{} // capacity 1
	down     atomic.Int32  // channels of the current session that have ended

	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex // guards state and its watchers
	state TargetState
	watch chan struct{} // closed at the next change
	hold  bool          // suspended: stay logged out
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

// Lost reports whether the target has been away for longer than it is waited for.
func (t *Target) Lost() bool { return t.lost.Load() }

// Logins returns how many logins have succeeded.
func (t *Target) Logins() uint64 { return t.logins.Load() }

// Info returns what the last login has agreed on, or nil.
func (t *Target) Info() *srp.Info { return t.info.Load() }

// Err returns why the last login failed, or the session ended; nil while it is up.
func (t *Target) Err() error {
	if e := t.lastErr.Load(); e != nil {
		return *e
	}
	return nil
}

// ChannelStats returns the counters of each channel of the current session.
func (t *Target) ChannelStats(ctx context.Context) []srp.ChannelStats {
	var out []srp.ChannelStats
	for i := range t.channels {
		c := t.channels[i].Load()
		if c == nil {
			continue
		}
		var s srp.ChannelStats
		if t.mp.adapter.port.call(ctx, t.mp.adapter.port.execs[i], func(f *dispatch.Frame) { s = c.Stats(f) }) == nil {
			out = append(out, s)
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
	t.state = s
	close(t.watch)
	t.watch = make(chan struct{})
	t.mu.Unlock()
}

// await waits until the target is in a state, or a login has failed.
func (t *Target) await(ctx context.Context, want TargetState) error {
	for {
		t.mu.Lock()
		state, watch := t.state, t.watch
		t.mu.Unlock()
		if state == want {
			return nil
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

// keep is the keeper goroutine: it logs in, waits for the session's end, and logs in
// again, until ctx ends.
func (t *Target) keep(ctx context.Context) {
	defer close(t.done)
	log := t.mp.adapter.Log().With("target", t.config.Name)
	wait, since := reconnectFirst, time.Now()
	var owed owedResets // answered by the next login
	for ctx.Err() == nil {
		if t.held() {
			t.setState(TargetSuspended, nil)
			t.sleep(ctx, time.Hour)
			continue
		}
		s, err := t.login(ctx)
		if err != nil {
			owed.fire(t, false)
			if ctx.Err() != nil {
				break
			}
			if t.Err() == nil || t.Err().Error() != err.Error() {
				log.Warn("login failed", "err", err, "retry", wait)
			}
			t.setState(TargetConnecting, err)
			if time.Since(since) >= lossTimeout && !t.lost.Swap(true) {
				log.Error("target is lost: I/O fails until it is back", "away", time.Since(since))
				t.mp.adapter.TargetChanged(t)
			}
			t.sleep(ctx, wait)
			wait = min(2*wait, reconnectMost)
			owed.take(t)
			continue
		}
		log.Info("logged in", "channels", s.Info().Channels, "credits", s.Info().Credits,
			"immediate", s.Info().ImmediateData, "protect", s.Info().Protect)
		if fewer := s.Info().Fewer; fewer != nil {
			log.Warn("fewer channels than asked for", "err", fewer)
		}
		t.publish(s)
		owed.fire(t, true)
		why := t.serve(ctx, s)
		since, wait = time.Now(), reconnectFirst
		t.withdraw()
		t.failAll(ctx, s)
		owed.take(t)
		if err := s.Logout(context.WithoutCancel(ctx)); err != nil {
			log.Warn("logout", "err", err)
		}
		if ctx.Err() == nil {
			log.Warn("session ended", "err", why)
			t.setState(TargetConnecting, nil)
		}
	}
	owed.take(t)
	owed.fire(t, false)
	t.setState(TargetClosed, nil)
}

const (
	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 10 * time.Second // ib_srp's reconnect_delay
	lossTimeout    = 60 * time.Second
)

func (t *Target) held() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hold
}

func (t *Target) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.wake:
	case <-ctx.Done():
	}
}

func (t *Target) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *Target) login(ctx context.Context) (*srp.Session, error) {
	c := t.config.Session
	c.Device, c.PD = t.mp.config.Device, t.mp.pd
	c.Address, c.Initiator, c.Target = t.config.Address, t.config.Initiator, t.config.Port
	c.Processors = t.mp.adapter.Processors()
	c.MaxSegments = min(maxSegments, cmpOr(c.MaxSegments, maxSegments))
	c.Ready = func(f *dispatch.Frame, _ *srp.Channel) { t.mp.adapter.Ready(f, t) }
	t.down.Store(0)
	c.Event = t.event
	s, err := srp.Login(ctx, &c)
	if err == nil {
		t.logins.Add(1)
	}
	return s, err
}

func cmpOr(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}

// event is told what happens on a channel outside commands.
func (t *Target) event(f *dispatch.Frame, c *srp.Channel, e *srp.ChannelEvent) {
	switch e.Kind {
	case srp.EventDown:
		for i := range t.channels {
			t.channels[i].CompareAndSwap(c, nil)
		}
		t.mp.adapter.Ready(f, t) // the channel that they wait for will not say it
		t.down.Add(1)
		t.poke()
	case srp.EventAsync:
		t.mp.async.Store(true)
		t.poke()
	}
}

// publish gives the session's channels to the lanes.
func (t *Target) publish(s *srp.Session) {
	t.info.Store(s.Info())
	for i, e := range t.mp.adapter.port.execs {
		for _, c := range s.Channels() {
			if c.Processor() == e.proc {
				t.channels[i].Store(c)
				break
			}
		}
	}
	t.lost.Store(false)
	t.setState(TargetUp, nil)
	t.mp.adapter.TargetChanged(t)
}

func (t *Target) withdraw() {
	for i := range t.channels {
		t.channels[i].Store(nil)
	}
}

// serve waits until the session has to end, and says why.
func (t *Target) serve(ctx context.Context, s *srp.Session) error {
	for {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case t.held():
			return fmt.Errorf("suspended")
		case !t.resets.Empty() || t.busReset.Load():
			return fmt.Errorf("target reset by command recovery")
		case t.down.Load() > 0:
			return t.downError(ctx, s)
		}
		if t.mp.async.Swap(false) {
			t.mp.rescan(ctx, t)
		}
		select {
		case <-t.wake:
		case <-ctx.Done():
		}
	}
}

func (t *Target) downError(ctx context.Context, s *srp.Session) error {
	var err error
	for _, c := range s.Channels() {
		call(c.Processor(), func(f *dispatch.Frame) {
			if e := c.Err(f); e != nil && err == nil {
				err = e
			}
		})
	}
	return err
}

// failAll ends each channel of a session and waits until everything on it has been
// completed. At an orderly end nothing is outstanding, and Logout does it.
func (t *Target) failAll(ctx context.Context, s *srp.Session) {
	if ctx.Err() != nil || t.held() {
		return
	}
	for _, c := range s.Channels() {
		call(c.Processor(), c.Fail)
	}
	for int(t.down.Load()) < len(s.Channels()) {
		<-t.wake
	}
}

// owedResets are resets whose end is the next login.
type owedResets struct {
	tokens []*Token
	bus    bool
}

// take adds what has been asked for since.
func (o *owedResets) take(t *Target) {
	for k, _ := t.resets.Take(); k != nil; {
		next := k.next
		k.next = nil
		o.tokens = append(o.tokens, k)
		k = next
	}
	o.bus = t.busReset.Swap(false) || o.bus
}

func (o *owedResets) fire(t *Target, ok bool) {
	for _, k := range o.tokens {
		k.Fire(ok)
	}
	if o.bus {
		t.mp.bus.ended(ok)
	}
	*o = owedResets{}
}

// call runs fn on a processor and waits.
//
//level:passive
func call(p *dispatch.Processor, fn dispatch.Func) {
	done := make(chan struct{})
	var d dispatch.DPC
	d.Init(p, func(f *dispatch.Frame) {
		fn(f)
		close(done)
	})
	d.Post()
	<-done
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

// addUnit notes that the target leads to a unit.
func (t *Target) addUnit(u *Unit) {
	if units := *t.units.Load(); !slices.Contains(units, u) {
		units = append(slices.Clone(units), u)
		t.units.Store(&units)
	}
}
