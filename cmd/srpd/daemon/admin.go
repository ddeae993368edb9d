package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/miniport"
	"minisrp/srp"
)

// admin does what the control socket asks for.
//
// What changes one target is done one after the other; what changes what is served, behind Daemon.serves. LOCK ORDER: the
// operation of a target, Daemon.serves, Daemon.mu.
type admin struct{ d *Daemon }

var _ control.Admin = (*admin)(nil)

// operation is something that is being done with a target.
type operation struct {
	name string // of the target
	aim  aim
	cut  context.CancelCauseFunc
	done chan struct{}
}

// aim is what an operation is for. One with a greater aim has others give up, one with the same waits for them: of several
// who remove a target at once the first does it.
type aim int

const (
	aimUse aim = iota
	aimLogout
	aimRemove
)

// of returns the aim of a request that may be for show only.
func (a aim) of(dryRun bool) aim {
	if dryRun {
		return aimUse
	}
	return a
}

// errCut is why a login that is under way has ended.
var errCut = errors.New("given up, as another request wants to be rid of the target")

// begin waits until nothing else is done with a target, and marks it. What is under way gives up if its aim is less. end
// undoes it; ctx ends when another has a greater aim.
func (d *Daemon) begin(ctx context.Context, key, name string, aim aim) (_ context.Context, end func(), wasCut bool, err error) {
	for {
		d.mu.Lock()
		other := d.busy[key]
		if other == nil {
			op := &operation{name: name, aim: aim, done: make(chan struct{})}
			ctx, op.cut = context.WithCancelCause(ctx)
			d.busy[key] = op
			d.mu.Unlock()
			return ctx, func() {
				op.cut(nil)
				d.mu.Lock()
				delete(d.busy, key)
				d.mu.Unlock()
				close(op.done)
			}, wasCut, nil
		}
		d.mu.Unlock()
		if aim > other.aim {
			other.cut(errCut)
			wasCut = true
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, nil, wasCut, fmt.Errorf("target %s: another request is busy with it: %w", other.name, ctx.Err())
		}
	}
}

// named returns the key of the target that a request names, and its name.
func (d *Daemon) named(text string) (key, name string, err error) {
	o, err := srp.ParseTarget(text)
	if err == nil {
		c := d.targetConfig(o)
		return d.key(o), c.Name, nil
	}
	var there, found []string
	for _, l := range d.targets() {
		c := l.target.Config()
		there = append(there, c.Name)
		if text == c.Name {
			return d.key(l.options), c.Name, nil
		}
		if text == c.Address.String() || text == c.Port.String() {
			key, name = d.key(l.options), c.Name
			found = append(found, c.Name)
		}
	}
	switch len(found) {
	case 0:
		return "", "", exitcode.With(exitcode.NotFound, fmt.Errorf("there is no target %.200q", text), "there are: "+strings.Join(there, ", "))
	case 1:
		return key, name, nil
	}
	return "", "", exitcode.With(exitcode.Usage, fmt.Errorf("several targets are %q", text), "name one of "+strings.Join(found, ", "))
}

// login returns the target with a key, or nil.
func (d *Daemon) login(key string) *login {
	for _, l := range d.targets() {
		if d.key(l.options) == key {
			return l
		}
	}
	return nil
}

func noTarget(name string) error {
	return exitcode.With(exitcode.NotFound, fmt.Errorf("there is no target %s", name), "see: srpctl targets")
}

// served returns the paths to units that are served, or could not be for reasons of their own.
func (d *Daemon) served() (all []control.UnitPath) {
	for _, u := range d.list() {
		if u.disk == nil {
			continue
		}
		for _, p := range u.unit.Paths() {
			all = append(all, control.UnitPath{Identity: string(u.unit.ID()), Name: u.name, Target: p.Target().Name(), LUN: p.LUN().String()})
		}
	}
	return all
}

// change makes an answer: what has come and gone since before.
func (d *Daemon) change(before []control.UnitPath, changed bool, text string, targets ...string) *control.Change {
	c := &control.Change{
		Version: control.Version, Changed: changed, Text: text, Targets: targets,
		Came: []control.UnitPath{}, Went: []control.UnitPath{}, Failed: []string{},
	}
	after := d.served()
	for _, p := range after {
		if !slices.Contains(before, p) {
			c.Came = append(c.Came, p)
		}
	}
	for _, p := range before {
		if !slices.Contains(after, p) {
			c.Went = append(c.Went, p)
		}
	}
	return c
}

// only returns the units that are served by no other way than a target.
func (d *Daemon) only(t *miniport.Target) (some []*unit) {
	for _, u := range d.list() {
		if u.disk != nil && through(u.unit, t) && loggedOut(u.unit, t) {
			some = append(some, u)
		}
	}
	return some
}

// through reports whether a path to a unit leads through a target.
func through(u *miniport.Unit, t *miniport.Target) bool {
	return slices.ContainsFunc(u.Paths(), func(p *miniport.Path) bool { return p.Target() == t })
}

// loggedOut reports whether every path to a unit leads through a target that is logged out of, or through but.
func loggedOut(u *miniport.Unit, but *miniport.Target) bool {
	return !slices.ContainsFunc(u.Paths(), func(p *miniport.Path) bool { return p.Target() != but && !p.Target().LoggedOut() })
}

// errLoggedOut is why a unit is not served.
var errLoggedOut = errors.New("its target is logged out of")

// unused fails if clients are connected to one of some disks.
func (d *Daemon) unused(some []*unit) error {
	for _, c := range d.nbd.Connections() {
		for _, u := range some {
			if slices.Contains(u.names, c.Export) {
				return exitcode.With(exitcode.InUse, fmt.Errorf("%s is in use by %s, and there is no other way to it", u.name, c.Client),
					"disconnect its clients, or force it: they get errors then")
			}
		}
	}
	return nil
}

// planned makes the answer of a dry run.
func (d *Daemon) planned(went []*unit, text, target string) *control.Change {
	c := d.change(d.served(), true, text, target)
	c.DryRun = true
	for _, u := range went {
		for _, p := range u.unit.Paths() {
			c.Went = append(c.Went, control.UnitPath{Identity: string(u.unit.ID()), Name: u.name, Target: p.Target().Name(), LUN: p.LUN().String()})
		}
	}
	return c
}

// same makes the answer when nothing is to be done.
func (d *Daemon) same(text, target string, dry bool) *control.Change {
	c := d.change(d.served(), false, text, target)
	c.DryRun = dry
	return c
}

// find serves what a target has, and reports what failed.
func (d *Daemon) find(ctx context.Context, l *login, p control.Progress) (failed []string, err error) {
	if err := d.takeServes(ctx); err != nil {
		return nil, err
	}
	defer d.giveServes()
	p.Report("scan", l.target.Name(), "looking for units")
	if _, err := d.look(ctx, l); err != nil {
		failed = append(failed, err.Error())
	}
	p.Report("disk", l.target.Name(), "opening disks")
	if err := d.reconcile(ctx, true); err != nil {
		return failed, err
	}
	for _, u := range d.list() {
		if u.failed() && through(u.unit, l.target) {
			failed = append(failed, u.err.Error())
		}
	}
	return failed, ctx.Err()
}
