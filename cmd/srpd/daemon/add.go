package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/miniport"
	"minisrp/srp"
)

// settings puts what stands beside a login string into it, unless it says so itself.
func settings(o *srp.TargetOptions, channels, queueSize int) {
	for _, s := range []struct {
		setting *srp.Setting[int]
		value   int
	}{{&o.Channels, channels}, {&o.QueueSize, queueSize}} {
		if s.value != 0 && !s.setting.Given {
			*s.setting = srp.Given(s.value)
		}
	}
}

// wanted makes a login of a request, if it can be one.
func (a *admin) wanted(q *control.AddTarget) (*login, error) {
	d := a.d
	o, err := srp.ParseTarget(strings.TrimSpace(q.Login))
	if err != nil {
		return nil, explain(fmt.Errorf("login %.500q: %w", q.Login, err))
	}
	switch {
	case q.Channels > MaxChannels:
		return nil, usage("channels is %d, want 1 to %d", q.Channels, MaxChannels)
	case q.QueueSize > srp.MaxQueueSize:
		return nil, usage("queue_size is %d, want 1 to %d", q.QueueSize, srp.MaxQueueSize)
	case o.Protect.Given && o.Protect.Value != d.protect:
		return nil, usage("the login string says protect=, and this daemon has %v: memory is protected in one way for all targets", d.protect)
	}
	for _, n := range q.LUNs {
		if n < 0 || n > MaxLUN {
			return nil, usage("luns has %d, want 0 to %d", n, MaxLUN)
		}
	}
	address := o.Address()
	if !d.reaches(&address) {
		return nil, exitcode.With(exitcode.Unreachable, fmt.Errorf("target %s: no RDMA device for that address", address), d.whatIsReached())
	}
	settings(o, q.Channels, q.QueueSize)
	return &login{origin: originControl, options: o, luns: q.LUNs}, nil
}

// Add implements control.Admin.
func (a *admin) Add(ctx context.Context, q *control.AddTarget, p control.Progress) (*control.Change, error) {
	d := a.d
	l, err := a.wanted(q)
	if err != nil {
		return nil, err
	}
	key, c := d.key(l.options), d.targetConfig(l.options)
	c.Name = d.freeName(c.Name)
	ctx, end, _, err := d.begin(ctx, key, c.Name, aimUse)
	if err != nil {
		return nil, err
	}
	defer end()
	if old := d.login(key); old != nil {
		text := fmt.Sprintf("target %s is there already, %s: %s", old.target.Name(), old.whence(), old.options)
		if !q.Idempotent {
			return nil, exitcode.With(exitcode.Exists, errors.New(text), "for a second path to it give initiator_ext= another value")
		}
		if other := d.differences(old, l); len(other) > 0 {
			return nil, exitcode.With(exitcode.Exists, fmt.Errorf("%s; asked for is another: %s", text, strings.Join(other, "; ")), old.howToChange())
		}
		return d.same(text, old.target.Name(), q.DryRun), nil
	}
	if n := l.options.Channels.Or(1); n > len(d.processors) {
		p.Report("check", c.Name, "%d channels are asked for, and there are %d processors: the rest comes when the daemon is started again", n, len(d.processors))
	}
	if q.DryRun {
		return d.planned(nil, fmt.Sprintf("target %s would be logged in to, and kept: %s", c.Name, l.options), c.Name), nil
	}
	before := d.served()
	p.Report("login", c.Name, "logging in to %s", c.Address)
	if l.target, err = d.srp.AddTarget(ctx, c, q.Keep); err != nil {
		return nil, d.refused(ctx, err)
	}
	p.Report("state", c.Name, "keeping it")
	if err := d.keep(ctx, key, l); err != nil {
		d.srp.RemoveTarget(context.WithoutCancel(ctx), l.target)
		return nil, explain(err)
	}
	d.mu.Lock()
	d.logins = append(d.logins, l)
	d.mu.Unlock()
	d.log.Info("target added", keyTarget, c.Name, keyLogin, l.options.String())
	if err := l.target.Err(); err != nil || l.target.State() != miniport.TargetUp {
		answer := d.change(before, true, fmt.Sprintf("target %s is kept, and tried again", c.Name), c.Name)
		if err != nil {
			answer.Failed = append(answer.Failed, err.Error())
		}
		return answer, nil
	}
	failed, err := d.find(ctx, l, p)
	if err != nil {
		d.lookAgain()
		failed = append(failed, "its units are still to come: "+err.Error())
	}
	answer := d.change(before, true, fmt.Sprintf("target %s is logged in to, and kept", c.Name), c.Name)
	answer.Failed = append(answer.Failed, failed...)
	answer.Missing = d.absent(l)
	return answer, nil
}

// refused explains why a login has failed.
func (d *Daemon) refused(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errCut) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return explain(err)
}

// freeName makes a target's name one that no other has.
func (d *Daemon) freeName(name string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(d.srp.Targets(), func(t *miniport.Target) bool { return t.Name() == name })
	}
	free := name
	for n := 1; taken(free); n++ {
		free = fmt.Sprintf("%s#%d", name, n)
	}
	return free
}

// removeTime bounds what a removal does once it is kept that the target is gone.
const removeTime = 60 * time.Second

// Remove implements control.Admin.
func (a *admin) Remove(ctx context.Context, q *control.RemoveTarget, p control.Progress) (*control.Change, error) {
	d := a.d
	key, name, err := d.named(q.Target)
	if err != nil {
		if q.Idempotent && exitcode.Of(err) == exitcode.NotFound {
			return d.same(err.Error(), q.Target, q.DryRun), nil
		}
		return nil, err
	}
	ctx, end, cut, err := d.begin(ctx, key, name, aimRemove.of(q.DryRun))
	if err != nil {
		return nil, err
	}
	defer end()
	l := d.login(key)
	switch {
	case l == nil && cut:
		return d.change(d.served(), true, fmt.Sprintf("target %s is not logged in to any more", name), name), nil
	case l == nil && q.Idempotent:
		return d.same(fmt.Sprintf("there is no target %s", name), name, q.DryRun), nil
	case l == nil:
		return nil, noTarget(name)
	case l.origin != originControl:
		return nil, exitcode.With(exitcode.Denied, fmt.Errorf("target %s is there %s, and cannot be removed", l.target.Name(), l.whence()),
			"take it out of the configuration; until the daemon is started again: srpctl logout "+l.target.Name())
	}
	name = l.target.Name()
	gone := d.only(l.target)
	if err := d.unused(gone); err != nil && !q.Force {
		return nil, err
	}
	if q.DryRun {
		return d.planned(gone, fmt.Sprintf("target %s would be logged out of, and forgotten", name), name), nil
	}
	if err := d.takeServes(ctx); err != nil {
		return nil, err
	}
	defer d.giveServes()
	before := d.served()
	p.Report("state", name, "forgetting it")
	if err := d.state.DeleteTarget(ctx, key); err != nil {
		return nil, explain(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime) // there is no way back
	defer cancel()
	d.close(ctx, d.only(l.target), p)
	p.Report("logout", name, "logging out")
	d.srp.RemoveTarget(ctx, l.target)
	d.mu.Lock()
	d.logins = slices.DeleteFunc(d.logins, func(o *login) bool { return o == l })
	d.mu.Unlock()
	d.log.Info("target removed", keyTarget, name)
	err = d.reconcile(ctx, false)
	answer := d.change(before, true, fmt.Sprintf("target %s is logged out of, and forgotten", name), name)
	if err != nil {
		answer.Failed = append(answer.Failed, err.Error())
	}
	return answer, nil
}

// close ends the exports of units whose target is about to go, and closes their disks. The caller has taken serves.
func (d *Daemon) close(ctx context.Context, some []*unit, p control.Progress) {
	for _, u := range some {
		p.Report("flush", "", "%s: flushing, and ending its exports", u.name)
		d.unexport(ctx, u)
		d.put(u, &unit{unit: u.unit, name: u.name, err: errLoggedOut})
	}
}
