package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/export"
	"minisrp/cmd/srpd/nbd"
	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/srp"
)

// unit is a logical unit and what was made of it.
type unit struct {
	unit     *miniport.Unit
	name     string     // stable
	disk     *disk.Disk // nil if it is none
	err      error      // why
	names    []string   // of its exports
	readOnly bool       // for all clients

	replaced atomic.Bool // another unit answers in its place, or it has other blocks
}

// failed reports whether the unit cannot be served, though it shall.
func (u *unit) failed() bool {
	return u.err != nil && !errors.Is(u.err, errNotListed) && !errors.Is(u.err, errLoggedOut)
}

// openDisks makes disks of the units that are there, names them, and exports them. What is not there or cannot be used
// is an error only when it is required: see firstRound.
func (d *Daemon) openDisks(ctx, patience context.Context) error {
	d.onStop("disks", d.closeDisks)
	failed := d.scan(ctx, patience)
	for _, l := range d.logins {
		switch err := failed[l]; {
		case err == nil:
		case l.required:
			return err
		default:
			d.once("scan "+l.target.Name(), slog.LevelWarn, err, "units could not be looked for", keyTarget, l.target.Name())
		}
	}
	if err := d.chosen(d.port.Units()); err != nil {
		if slices.ContainsFunc(d.logins, func(l *login) bool { return l.required }) {
			return err
		}
		d.log.Warn("units are not there", keyError, err)
	}
	if err := d.reconcile(ctx, false); err != nil {
		return err
	}
	if err := d.nameMissing(ctx); err != nil {
		return err
	}
	for _, x := range d.cfg.Exports {
		if !slices.ContainsFunc(d.list(), func(u *unit) bool { return x.names(u) }) {
			d.log.Warn("the unit of an export is not there", keyExport, x.Name, keyUnit, x.Unit)
		}
	}
	return d.usable()
}

// usable fails if targets are required and have nothing that can be served, or not what --lun names.
func (d *Daemon) usable() error {
	required, units := false, 0
	var errs []error
	for _, l := range d.logins {
		if !l.required {
			continue
		}
		required = true
		for _, u := range d.list() {
			if !l.serves(u.unit) {
				continue
			}
			units++
			if u.failed() {
				errs = append(errs, u.err)
			}
		}
	}
	switch {
	case required && units == 0:
		return exitcode.With(exitcode.NotFound, errNoUnits, "give the target a unit, or this initiator access to one")
	case len(errs) > 0 && (len(d.cfg.LUNs) > 0 || len(errs) == units):
		return errors.Join(errs...)
	}
	return nil
}

// openUnit opens and exports a unit, if it can be and shall be; else u.err says why not.
func (d *Daemon) openUnit(ctx context.Context, u *unit) {
	if d.cfg.OnlyListed && len(d.listed(u)) == 0 {
		u.err = errNotListed
		return
	}
	if err := d.openDisk(ctx, u); err != nil {
		if u.disk != nil {
			d.unexport(ctx, u)
			u.disk, u.names = nil, nil
		}
		u.err = fmt.Errorf("unit %s, %s: %w", u.name, u.unit.ID(), err)
		d.once("unit "+u.name, slog.LevelError, u.err, "unit is not served", keyUnit, u.name, keyIdentity, string(u.unit.ID()))
		return
	}
	delete(d.told, "unit "+u.name)
}

// names reports whether an export is of a unit.
func (x *Export) names(u *unit) bool { return x.Unit == u.name || x.Unit == string(u.unit.ID()) }

// listed returns the exports of a unit that the user named.
func (d *Daemon) listed(u *unit) (some []Export) {
	for _, x := range d.cfg.Exports {
		if x.names(u) {
			some = append(some, x)
		}
	}
	return some
}

// errNotListed says why a disk is not served that could be.
var errNotListed = errors.New("no export names it, and only those that are named are served")

// openDisk opens one unit and exports it.
func (d *Daemon) openDisk(ctx context.Context, u *unit) error {
	o := disk.Options{Log: d.log, MaxTransfer: disk.DefaultMaxTransfer, MaxSegments: disk.MaxSegments}
	depth, logins := miniport.DefaultDepth, d.targets()
	for _, p := range u.unit.Paths() {
		if i := slices.IndexFunc(logins, func(l *login) bool { return l.target == p.Target() }); i >= 0 {
			t := logins[i].options
			var err error
			if o.Stock, err = d.stock(ctx, logins[i]); err != nil {
				return err
			}
			if t.MaxSectors.Given {
				o.MaxTransfer = uint32(min(uint64(o.MaxTransfer), uint64(t.Sectors())*512))
			}
			depth = t.CommandsPerLUN.Or(t.QueueSize.Or(d.cfg.QueueSize))
		}
		if info := p.Target().Info(); info != nil {
			o.MaxTransfer = min(o.MaxTransfer, info.MaxTransfer)
			o.MaxSegments = min(o.MaxSegments, info.MaxSegments)
		}
	}
	u.unit.SetDepth(min(depth, srp.MaxQueueSize))
	var served atomic.Pointer[export.Backend] // what is told happens from Open on
	o.Event = func(_ context.Context, e disk.Event) {
		if e.Kind == disk.UnitChanged {
			d.doubt(u)
		}
		d.tell(served.Load(), e)
	}
	opened, err := disk.Open(ctx, u.unit, d.port, o)
	if err != nil {
		return err
	}
	u.disk = opened
	info := opened.Info()
	backend := export.New(opened, d.port)
	served.Store(backend)
	about := fmt.Sprintf("%s %s %s, %s", info.Vendor, info.Product, info.Revision, u.unit.ID())
	names := []string{u.name, string(u.unit.ID())}
	u.readOnly = d.cfg.ReadOnly
	access := d.cfg.NBD.access
	for _, x := range d.listed(u) {
		u.readOnly = u.readOnly || x.ReadOnly
		if len(x.Allow) > 0 {
			access = x.access
		}
		if x.Name != "" {
			names = append(names, x.Name)
		}
	}
	for _, name := range names {
		if slices.Contains(u.names, name) {
			continue
		}
		x := nbd.Export{Name: name, Description: about, ReadOnly: u.readOnly, Access: access, Backend: backend}
		if err := d.nbd.Add(x); err != nil {
			return err
		}
		u.names = append(u.names, name)
	}
	d.log.Info("disk exported", keyExport, u.name, keyIdentity, string(u.unit.ID()), keySize, info.Size)
	return nil
}

// stock returns what the disks of a target share: as many commands as its sessions have at it at a time. It stays when
// the target goes, since a disk may have other paths, and is there for the next login.
func (d *Daemon) stock(ctx context.Context, l *login) (*disk.Stock, error) {
	name := l.target.Name()
	d.mu.Lock()
	s := d.stocks[name]
	d.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := disk.NewStock(ctx, d.memory, min(d.targetConfig(l.options).Session.QueueSize, disk.MaxDepth))
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stocks == nil {
		d.stocks = map[string]*disk.Stock{}
	}
	d.stocks[name] = s
	return s, nil
}
