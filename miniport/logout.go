package miniport

import "context"

// Logout ends the target's session, and has no other made until Login. What is at the target may end by itself. I/O of
// units that have no other path is held meanwhile, without end. It returns when the target is logged out. Errors: ErrClosed,
// ctx's; the target is being logged out then.
func (t *Target) Logout(ctx context.Context) error {
	t.mu.Lock()
	t.out = true
	if t.attempt != nil {
		t.attempt()
	}
	t.mu.Unlock()
	t.poke()
	return t.await(ctx, TargetSuspended)
}

// Login undoes Logout, and waits for the next attempt to log in; a target that is up is up. now says not to wait until
// it is due. Errors: ErrClosed, ErrSuspended while the adapter is, srp's login errors, ctx's; attempts go on.
func (t *Target) Login(ctx context.Context, now bool) error {
	t.mu.Lock()
	was := t.out
	t.out = false
	held, state := t.hold, t.state
	t.mu.Unlock()
	switch {
	case held:
		return ErrSuspended
	case state == TargetUp:
		return nil
	}
	t.lastErr.Store(nil) // that of the next is waited for
	if now && !was {
		t.hasten.Store(true)
	}
	t.poke()
	return t.await(ctx, TargetUp)
}

// LoggedOut reports whether Logout holds.
func (t *Target) LoggedOut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out
}

// Reset ends the session, and with it all that was started there, with StatusBusReset where no answer came: SRP has no
// I_T NEXUS RESET but that. It returns when that has ended; the target logs in again by itself. Errors: ErrNotUp, ctx's.
func (t *Target) Reset(ctx context.Context) error {
	logins := t.logins.Load()
	s := t.session.Load()
	if s == nil {
		return ErrNotUp
	}
	s.drop.Store(true)
	t.poke()
	select {
	case <-s.over:
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		t.mu.Lock()
		state, watch := t.state, t.watch
		t.mu.Unlock()
		if state != TargetUp || t.logins.Load() > logins {
			return nil
		}
		select {
		case <-watch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
