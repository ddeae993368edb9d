package miniport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"minisrp/srp"
	"minisrp/verbs"
)

// keeper is the goroutine that keeps a target logged in.
//
// Ownership: started by Target.start, ended by the end of Target.life, awaited by
// RemoveTarget.
type keeper struct {
	t     *Target
	log   *slog.Logger
	since time.Time     // not logged in since then
	wait  time.Duration // before the next attempt
	last  string        // error that was logged
}

// start starts the keeper.
func (t *Target) start() {
	k := &keeper{t: t, log: t.mp.adapter.Log().With("target", t.config.Name)}
	k.away()
	go k.run()
}

// run logs in, waits for the session's end, and logs in again, until the target's life
// ends.
func (k *keeper) run() {
	t := k.t
	defer close(t.done)
	for t.life.Err() == nil {
		if t.held() {
			k.rest()
			continue
		}
		at := k.lossTime()
		if !at.IsZero() && !time.Now().Before(at) {
			k.lose()
			continue
		}
		s, err := t.login(at)
		if err != nil {
			k.failed(err, at)
			continue
		}
		k.up(s)
	}
	t.hurry()
	t.setState(TargetClosed, nil)
}

// away begins to count the time without a session.
func (k *keeper) away() { k.since, k.wait, k.last = time.Now(), reconnectFirst, "" }

// lossTime returns when the target is to be lost; zero if it is already.
func (k *keeper) lossTime() time.Time {
	if k.t.lost.Load() {
		return time.Time{}
	}
	return k.since.Add(lossTimeout)
}

// rest stays logged out while the target is held. That time does not count as away.
func (k *keeper) rest() {
	t := k.t
	t.setState(TargetSuspended, nil)
	k.log.Info("suspended")
	for t.held() && t.life.Err() == nil {
		select {
		case <-t.wake:
		case <-t.life.Done():
		}
	}
	k.away()
	if t.life.Err() == nil {
		t.setState(TargetConnecting, nil)
	}
}

// up serves a session until it ends.
func (k *keeper) up(s *session) {
	i := s.srp.Info()
	k.log.Info("logged in", "channels", i.Channels, "credits", i.Credits, "immediate", i.ImmediateData, "protect", i.Protect)
	if i.Fewer != nil {
		k.log.Warn("fewer channels than asked for", "err", i.Fewer)
	}
	k.t.hasten.Store(false)
	s.publish()
	why := s.serve()
	down, all := int(s.down.Load()), len(s.srp.Channels())
	s.close(why == errSuspended || why == errRemoved)
	k.away()
	if why != errSuspended && why != errRemoved {
		if why != errReset && down < all {
			// Without one of its channels a session is not repaired but made anew.
			k.log.Warn("session ended: one of its channels has", "err", why, "ended", down, "channels", all)
		} else {
			k.log.Warn("session ended", "err", why)
		}
		k.t.setState(TargetConnecting, nil)
	}
}

// lose gives the target up: I/O is not held for it any more.
func (k *keeper) lose() {
	k.t.lost.Store(true)
	k.log.Error("target is lost: I/O fails until it is back", "away", time.Since(k.since))
	k.t.mp.adapter.TargetChanged(k.t)
}

// failed takes note of a login that has failed, and waits before the next, or until the
// target is to be lost.
func (k *keeper) failed(err error, lossTime time.Time) {
	t := k.t
	if errors.Is(err, context.Canceled) {
		return // removed or suspended
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no answer until the target was given up, after %v", verbs.ErrTimeout, lossTimeout)
	}
	if k.last != err.Error() {
		k.last = err.Error()
		k.log.Warn("login failed", "err", err, "advice", advice(err))
	}
	t.setState(TargetConnecting, err)
	pause := k.wait
	if !lossTime.IsZero() {
		pause = min(pause, time.Until(lossTime))
	}
	k.wait = min(2*k.wait, reconnectMost)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for !t.held() && !t.hasten.Swap(false) {
		select {
		case <-timer.C:
			return
		case <-t.wake: // held, perhaps
		case <-t.life.Done():
			return
		}
	}
}

// advice is what a user can do about a login error.
func advice(err error) string {
	var r *srp.RejectError
	if errors.As(err, &r) {
		return r.Advice()
	}
	return ""
}
