package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/export"
	"minisrp/cmd/srpd/nbd"
	"minisrp/miniport"
	"minisrp/scsi"
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
}

// openDisks makes disks of the units, names them, and exports them. A unit that cannot be used is an error only when
// it was asked for by --lun, or when there is no other.
func (d *Daemon) openDisks(ctx context.Context) error {
	all, err := d.scan(ctx)
	if err != nil {
		return err
	}
	if all, err = d.chosen(all); err != nil {
		return err
	}
	if len(all) == 0 {
		return exitcode.With(exitcode.NotFound, errNoUnits, "give the target a unit, or this initiator access to one")
	}
	ids := make([]scsi.UnitID, len(all))
	for i, mu := range all {
		ids[i] = mu.ID()
	}
	names, err := d.state.BindAll(ctx, ids)
	if err != nil {
		return err
	}
	d.onStop("disks", d.closeDisks)
	var errs []error
	for i, mu := range all {
		u := &unit{unit: mu, name: names[i]}
		d.openUnit(ctx, u)
		d.add(u)
		if u.err == nil || errors.Is(u.err, errNotListed) {
			continue
		}
		if errs = append(errs, u.err); len(d.cfg.LUNs) > 0 || ctx.Err() != nil {
			return u.err
		}
	}
	for _, x := range d.cfg.Exports {
		if !slices.ContainsFunc(d.list(), func(u *unit) bool { return x.names(u) }) {
			d.log.Warn("the unit of an export is not there", keyExport, x.Name, keyUnit, x.Unit)
		}
	}
	if len(errs) == len(all) {
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
		u.err = fmt.Errorf("unit %s, %s: %w", u.name, u.unit.ID(), err)
		d.log.Error("unit is not served", keyUnit, u.name, keyIdentity, string(u.unit.ID()), keyError, err)
	}
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
	depth := miniport.DefaultDepth
	for _, p := range u.unit.Paths() {
		if i := slices.IndexFunc(d.logins, func(l *login) bool { return l.target == p.Target() }); i >= 0 {
			t := d.logins[i].options
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
		if e.Kind == disk.LUNsChanged {
			d.lookAgain()
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
