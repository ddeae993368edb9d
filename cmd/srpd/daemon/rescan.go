package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"minisrp/miniport"
	"minisrp/scsi"
)

// list returns the units that are there now.
func (d *Daemon) list() []*unit {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.units)
}

func (d *Daemon) add(u *unit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.units = append(d.units, u)
}

func (d *Daemon) remove(u *unit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.units = slices.DeleteFunc(d.units, func(x *unit) bool { return x == u })
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

// lookAgain has the targets asked for their units, soon. It does not wait.
func (d *Daemon) lookAgain() {
	select {
	case d.rescan <- struct{}{}:
	default: // it is going to be done
	}
}

// startRescans starts the goroutine that looks for units when a target says that it has others.
func (d *Daemon) startRescans() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-d.rescan:
				if err := d.scanAgain(ctx); err != nil && ctx.Err() == nil {
					d.log.Error("units were looked for", keyError, err)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	d.onStop("rescans", func(over context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-over.Done():
			return over.Err()
		}
	})
}

// scanAgain serves the units that have come, and takes those away that have gone.
func (d *Daemon) scanAgain(ctx context.Context) error {
	found, err := d.scan(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, u := range d.list() {
		if len(u.unit.Paths()) == 0 {
			errs = append(errs, d.withdraw(ctx, u))
		}
	}
	for _, mu := range found {
		if slices.ContainsFunc(d.list(), func(u *unit) bool { return u.unit == mu }) || !d.wanted(mu) {
			continue
		}
		names, err := d.state.BindAll(ctx, []scsi.UnitID{mu.ID()})
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		u := &unit{unit: mu, name: names[0]}
		d.openUnit(ctx, u)
		d.add(u)
	}
	return errors.Join(errs...)
}

// wanted reports whether the LUNs that the user named are a unit's, or none are named.
func (d *Daemon) wanted(mu *miniport.Unit) bool {
	return len(d.cfg.LUNs) == 0 || slices.ContainsFunc(mu.Paths(), func(p *miniport.Path) bool {
		n, ok := p.LUN().Unit()
		return ok && slices.Contains(d.cfg.LUNs, int(n))
	})
}

// withdraw ends the exports of a unit that has gone, and closes its disk.
func (d *Daemon) withdraw(ctx context.Context, u *unit) error {
	d.log.Warn("unit has gone, and is not served any more", keyUnit, u.name, keyIdentity, string(u.unit.ID()))
	for _, name := range u.names {
		if err := d.nbd.Remove(ctx, name); err != nil {
			d.log.Warn("ending an export", keyExport, name, keyError, err) // there is nothing to flush to
		}
	}
	d.remove(u)
	if u.disk == nil {
		return nil
	}
	return u.disk.Close(ctx)
}
