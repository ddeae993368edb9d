package miniport

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// session is one login of a target, from before its channels take SRBs until nothing
// that was started on it is outstanding.
//
// Ownership: the keeper's, except the atomics.
type session struct {
	target *Target
	srp    *srp.Session
	down   atomic.Int32  // channels that have ended
	drop   atomic.Bool   // it shall end
	over   chan struct{} // closed when nothing is outstanding
}

// login makes a session. It ends at the latest when the target is to be lost, so that
// this is not late.
func (t *Target) login(deadline time.Time) (*session, error) {
	if deadline.IsZero() {
		deadline = time.Now().Add(time.Hour) // the login has its own
	}
	ctx, cancel := context.WithDeadline(t.life, deadline)
	defer cancel()
	t.mu.Lock()
	t.attempt = cancel
	hold := t.hold
	t.mu.Unlock()
	if hold {
		return nil, context.Canceled
	}
	s := &session{target: t, over: make(chan struct{})}
	c := t.config.Session
	c.Device, c.PD = t.mp.config.Device, t.mp.pd
	c.Address, c.Initiator, c.Target = t.config.Address, t.config.Initiator, t.config.Port
	c.Processors = t.mp.adapter.Processors()
	c.Channels = min(max(1, c.Channels), len(c.Processors))
	if c.MaxSegments == 0 || c.MaxSegments > maxSegments {
		c.MaxSegments = maxSegments
	}
	c.Ready = s.ready
	c.Event = s.event
	var err error
	s.srp, err = srp.Login(ctx, &c)
	return s, err
}

// ready passes on that a channel has room again.
//
//level:dispatch noalloc
func (s *session) ready(f *dispatch.Frame, _ *srp.Channel) {
	s.target.mp.adapter.Ready(f, s.target)
}

// event is told what happens on a channel outside commands.
//
//level:dispatch noalloc
func (s *session) event(f *dispatch.Frame, c *srp.Channel, e *srp.ChannelEvent) {
	t := s.target
	switch e.Kind {
	case srp.EventDown:
		for i := range t.channels {
			t.channels[i].CompareAndSwap(c, nil)
		}
		t.mp.adapter.Ready(f, t) // to those that wait for room in it, it will not say so
		s.down.Add(1)
		t.poke()
	case srp.EventAsync:
		t.rescan()
	}
}

// publish gives the session's channels to the lanes. Resets that were asked for before
// have nothing to end.
func (s *session) publish() {
	t := s.target
	t.info.Store(s.srp.Info())
	t.session.Store(s)
	for i, e := range t.mp.adapter.port.execs {
		for _, c := range s.srp.Channels() {
			if c.Processor() == e.proc {
				t.channels[i].Store(c)
				break
			}
		}
	}
	t.lost.Store(false)
	first := t.logins.Add(1) == 1
	t.setState(TargetUp, nil)
	t.mp.adapter.TargetChanged(t)
	t.mu.Lock()
	unasked := t.unasked
	t.mu.Unlock()
	if !first || unasked {
		t.rescan() // there may be other units than before
	}
}

// Why serve ends a session.
var (
	errSuspended = errors.New("suspended")
	errRemoved   = errors.New("removed")
	errReset     = errors.New("reset by command recovery")
)

// serve waits until the session has to end, and says why.
func (s *session) serve() error {
	t := s.target
	for {
		switch {
		case t.life.Err() != nil:
			return errRemoved
		case t.held():
			return errSuspended
		case !t.resets.Empty() || s.drop.Load():
			return errReset
		case s.down.Load() > 0:
			return s.downError()
		}
		select {
		case <-t.wake:
		case <-t.life.Done():
		}
	}
}

// downError returns why the first channel that is down is so.
//
//level:passive
func (s *session) downError() error {
	for _, c := range s.srp.Channels() {
		var err error
		call(c.Processor(), func(f *dispatch.Frame) {
			if e := c.Err(f); e != nil {
				err = e
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// close ends the session. In order, what is outstanding may end by itself; else it is
// ended at once.
func (s *session) close(orderly bool) {
	t := s.target
	for i := range t.channels {
		t.channels[i].Store(nil)
	}
	t.mp.adapter.TargetChanged(t)
	if !orderly {
		channels := s.srp.Channels()
		for _, c := range channels {
			call(c.Processor(), c.Fail)
		}
		for int(s.down.Load()) < len(channels) {
			<-t.wake
		}
		s.ended()
	}
	if err := s.srp.Logout(t.patience); err != nil {
		t.mp.adapter.Log().Warn("logout", "target", t.Name(), "err", err)
	}
	if orderly {
		s.ended()
	}
}

// ended says that nothing is outstanding.
func (s *session) ended() {
	s.target.session.Store(nil)
	close(s.over)
	s.target.fireResets()
}

// fireResets ends the resets that were asked for: nothing that was started before them
// is outstanding. Level: both.
func (t *Target) fireResets() {
	for k, _ := t.resets.Take(); k != nil; {
		next := k.next
		k.next = nil
		k.Fire(true)
		k = next
	}
}

// askReset has everything that was started at the target ended. Level: both.
func (t *Target) askReset(k *Token) {
	t.resets.Push(k)
	// Who ends the session fires after it has said so: one of the two sees the other.
	if t.session.Load() == nil {
		t.fireResets()
		return
	}
	t.poke()
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
