package daemon

import (
	"context"
	"fmt"
	"slices"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/miniport"
)

// Logout implements control.Admin.
func (a *admin) Logout(ctx context.Context, q *control.Logout, p control.Progress) (*control.Change, error) {
	d := a.d
	key, name, err := d.named(q.Target)
	if err != nil {
		return nil, err
	}
	ctx, end, _, err := d.begin(ctx, key, name, aimLogout.of(q.DryRun))
	if err != nil {
		return nil, err
	}
	defer end()
	l := d.login(key)
	if l == nil {
		return nil, noTarget(name)
	}
	name = l.target.Name()
	if l.target.LoggedOut() {
		text := fmt.Sprintf("target %s is logged out of", name)
		if q.Idempotent {
			return d.same(text, name, q.DryRun), nil
		}
		return nil, exitcode.With(exitcode.NotFound, fmt.Errorf("%s: there is no session to end", text), "")
	}
	gone := d.only(l.target)
	if err := d.unused(gone); err != nil && !q.Force {
		return nil, err
	}
	if q.DryRun {
		return d.planned(gone, fmt.Sprintf("target %s would be logged out of until srpctl reconnect, or the daemon is started again", name), name), nil
	}
	if err := d.takeServes(ctx); err != nil {
		return nil, err
	}
	defer d.giveServes()
	before := d.served()
	d.close(ctx, d.only(l.target), p)
	p.Report("logout", name, "logging out")
	if err := l.target.Logout(ctx); err != nil {
		return nil, explain(fmt.Errorf("target %s is being logged out of: %w", name, err))
	}
	return d.change(before, true, fmt.Sprintf("target %s is logged out of until srpctl reconnect, or the daemon is started again", name), name), nil
}

// Reconnect implements control.Admin.
func (a *admin) Reconnect(ctx context.Context, q *control.Reconnect, p control.Progress) (*control.Change, error) {
	d := a.d
	key, name, err := d.named(q.Target)
	if err != nil {
		return nil, err
	}
	ctx, end, _, err := d.begin(ctx, key, name, aimUse)
	if err != nil {
		return nil, err
	}
	defer end()
	l := d.login(key)
	if l == nil {
		return nil, noTarget(name)
	}
	name = l.target.Name()
	up := l.target.State() == miniport.TargetUp && !l.target.LoggedOut()
	switch {
	case up && !q.Force:
		return d.same(fmt.Sprintf("target %s is logged in to", name), name, q.DryRun), nil
	case q.DryRun && up:
		return d.planned(nil, fmt.Sprintf("the session with target %s would be ended, and another made", name), name), nil
	case q.DryRun:
		return d.planned(nil, fmt.Sprintf("target %s would be logged in to", name), name), nil
	}
	before := d.served()
	if up {
		p.Report("reset", name, "ending the session")
		if err := l.target.Reset(ctx); err != nil {
			return nil, explain(fmt.Errorf("target %s: %w", name, err))
		}
	}
	p.Report("login", name, "logging in to %s", l.target.Config().Address)
	if err := l.target.Login(ctx, q.Now || q.Force); err != nil {
		return nil, d.refused(ctx, fmt.Errorf("target %s, which is tried again: %w", name, err))
	}
	failed, err := d.find(ctx, l, p)
	if err != nil {
		return nil, explain(fmt.Errorf("target %s is logged in to, but: %w", name, err))
	}
	c := d.change(before, true, fmt.Sprintf("target %s is logged in to", name), name)
	c.Failed = append(c.Failed, failed...)
	return c, nil
}

// Rescan implements control.Admin.
func (a *admin) Rescan(ctx context.Context, q *control.Rescan, p control.Progress) (*control.Change, error) {
	d := a.d
	some := d.targets()
	if q.Target != "" {
		key, name, err := d.named(q.Target)
		if err != nil {
			return nil, err
		}
		l := d.login(key)
		if l == nil {
			return nil, noTarget(name)
		}
		if s := l.target.State(); s != miniport.TargetUp {
			return nil, exitcode.With(exitcode.Unreachable, fmt.Errorf("target %s is not logged in to: %s", l.target.Name(), stateOf(l.target)),
				"srpctl reconnect "+l.target.Name())
		}
		some = []*login{l}
	}
	before := d.served()
	names, failed := []string{}, []string{}
	for _, l := range some {
		if l.target.State() != miniport.TargetUp {
			if !l.target.LoggedOut() {
				failed = append(failed, fmt.Sprintf("target %s is not logged in to", l.target.Name()))
			}
			continue
		}
		names = append(names, l.target.Name())
		bad, err := d.find(ctx, l, p)
		if err != nil {
			return nil, explain(err)
		}
		for _, text := range bad {
			if !slices.Contains(failed, text) {
				failed = append(failed, text)
			}
		}
	}
	c := d.change(before, true, "", names...)
	c.Changed = len(c.Came)+len(c.Went) > 0
	c.Text = fmt.Sprintf("%d targets were asked: %d units have come, %d have gone", len(names), len(c.Came), len(c.Went))
	c.Targets, c.Failed = names, append(c.Failed, failed...)
	return c, nil
}
