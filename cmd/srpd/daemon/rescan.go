package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"minisrp/miniport"
	"minisrp/scsi"
)

// list returns the units that are there now, by their names.
func (d *Daemon) list() []*unit {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.units)
}

// put puts a unit into the list, in the place of an old one if that is not nil.
func (d *Daemon) put(old, u *unit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.units = append(slices.DeleteFunc(d.units, func(x *unit) bool { return x == old }), u)
	slices.SortStableFunc(d.units, func(a, b *unit) int { return cmp.Or(len(a.name)-len(b.name), cmp.Compare(a.name, b.name)) })
}

func (d *Daemon) remove(u *unit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.units = slices.DeleteFunc(d.units, func(x *unit) bool { return x == u })
}

// doubt has the targets of a unit asked who is there, since another unit answers in its place.
func (d *Daemon) doubt(u *unit) {
	u.replaced.Store(true)
	for _, l := range d.targets() {
		if l.serves(u.unit) {
			l.scanned.Store(false)
		}
	}
	d.lookAgain()
}

// rescanned is told that the port has looked for the units of a target, which had said that something is other than
// before.
func (d *Daemon) rescanned(t *miniport.Target, err error) {
	d.mu.Lock()
	d.events[t] = err
	d.mu.Unlock()
	d.lookAgain()
}

// followEvents has the disks of targets that said so see what has changed about them: no client may have a command that
// tells. A target of which not all could be found out is scanned again.
func (d *Daemon) followEvents() {
	d.mu.Lock()
	events := d.events
	d.events = map[*miniport.Target]error{}
	d.mu.Unlock()
	for _, l := range d.targets() {
		err, told := events[l.target]
		if !told {
			continue
		}
		if err != nil {
			l.scanned.Store(false)
		}
		for _, u := range d.list() {
			if u.disk != nil && through(u.unit, l.target) {
				u.disk.Refresh()
			}
		}
	}
}

// closeDisks closes the disks that are open.
func (d *Daemon) closeDisks(ctx context.Context) error {
	var errs []error
	for _, u := range d.list() {
		if u.disk == nil {
			continue
		}
		if err := u.disk.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("disk %s: %w", u.name, err))
		}
	}
	return errors.Join(errs...)
}

// reconcile makes of the units that targets have what is served: it takes those away that have gone, and serves those
// that have come; with again, it also tries those again that could not be served. Errors: the state's.
func (d *Daemon) reconcile(ctx context.Context, again bool) error {
	for _, u := range d.list() {
		if len(u.unit.Paths()) == 0 || u.replaced.Load() {
			d.withdraw(ctx, u)
		}
	}
	var fresh []*unit
	var ids []scsi.UnitID
	known := d.list()
	olds := map[*miniport.Unit]*unit{}
	for _, u := range known {
		olds[u.unit] = u
	}
	for _, mu := range d.port.Units() {
		old := olds[mu]
		if len(mu.Paths()) == 0 || !d.wanted(mu) || loggedOut(mu, nil) ||
			old != nil && !errors.Is(old.err, errLoggedOut) && !(again && old.failed()) {
			continue
		}
		fresh, ids = append(fresh, &unit{unit: mu}), append(ids, mu.ID())
	}
	if len(fresh) == 0 {
		return nil
	}
	names, err := d.state.BindAll(ctx, ids)
	if err != nil {
		return err
	}
	for i, u := range fresh {
		u.name = names[i]
		d.openUnit(ctx, u)
		d.put(olds[u.unit], u)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// withdraw ends the exports of a unit that has gone, and closes its disk.
func (d *Daemon) withdraw(ctx context.Context, u *unit) {
	d.remove(u)
	if u.disk != nil {
		d.log.Warn("unit has gone or is another, and is not served any more", keyUnit, u.name, keyIdentity, string(u.unit.ID()))
		d.unexport(ctx, u)
	}
}

// unexport ends the exports of a unit, and closes its disk.
func (d *Daemon) unexport(ctx context.Context, u *unit) {
	ctx, cancel := context.WithTimeout(ctx, withdrawTime)
	defer cancel()
	for _, name := range u.names {
		if err := d.nbd.Remove(ctx, name); err != nil {
			d.log.Warn("ending an export", keyExport, name, keyError, err) // there may be nothing to flush to
		}
	}
	if err := u.disk.Close(ctx); err != nil {
		d.log.Error("closing a disk", keyUnit, u.name, keyError, err)
	}
}
