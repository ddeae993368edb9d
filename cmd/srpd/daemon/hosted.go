package daemon

import (
	"context"
	"fmt"

	"minisrp/cmd/srpd/embedded"
	"minisrp/srp/target"
	"minisrp/verbs"
)

// startEmbedded starts the targets in the process.
func (d *Daemon) startEmbedded(ctx context.Context) error {
	db := &thinStore{dir: ThinDir(d.cfg.StateDir), log: d.log}
	d.onStop("thin store", db.close)
	buffers, err := d.makeBuffers(ctx)
	if err != nil {
		return err
	}
	for i := range d.cfg.Embedded {
		e := &d.cfg.Embedded[i]
		who := d.identity.Embedded(e.Name)
		if e.Name == DefaultName {
			who.Ext, who.GUID = d.identity.TargetExt, d.identity.TargetGUID
		}
		cfg := embedded.Config{
			Fabric: d.fabric, Processor: d.processors[i%len(d.processors)], Addr: embeddedAt(i), Name: fmt.Sprintf("target%d", i),
			IDExt: uint64(who.Ext), GUID: verbs.GUID(who.GUID), Log: d.log, Thin: db.open, Faults: e.faults,
			Partial: !e.Required,
			Buffers: buffers[i%len(d.processors)], Credits: min(target.DefaultCredits, d.hostedQueue()),
		}
		for n := range e.Units {
			u := &e.Units[n]
			serial := who.Serial(n)
			if e.Name == DefaultName {
				if serial, err = d.state.UnitSerial(ctx, n); err != nil {
					return err
				}
			}
			cfg.Units = append(cfg.Units, embedded.Unit{Serial: serial, Store: u.Store, Size: u.Size, Path: u.Path, Name: thinName(e.Name, n), ReadOnly: u.ReadOnly || d.cfg.ReadOnly})
		}
		t, err := embedded.Start(ctx, cfg)
		if err != nil {
			if len(d.cfg.Embedded) > 1 {
				err = fmt.Errorf("%s: %w", e.Name, err)
			}
			return err
		}
		d.embedded = append(d.embedded, t)
		d.onStop("embedded target "+e.Name, t.Close)
	}
	return nil
}

// hostedQueue is how many commands a channel to an embedded target has under way at most.
func (d *Daemon) hostedQueue() int {
	return max(leastRequests, hostedRequests/max(1, len(d.cfg.Embedded)*len(d.processors)))
}

// makeBuffers makes what the targets of each processor share.
func (d *Daemon) makeBuffers(ctx context.Context) (all []*target.Buffers, err error) {
	n := min(len(d.processors), len(d.cfg.Embedded))
	for _, p := range d.processors[:n] {
		b, err := target.NewBuffers(ctx, p, max(target.DefaultBuffers, hostedBuffers/n), d.log)
		if err != nil {
			return nil, fmt.Errorf("embedded targets: %w", err)
		}
		all = append(all, b)
		d.onStop("buffers of "+p.Name(), b.Close)
	}
	return all, nil
}

// reaches reports whether an address is on the fabric of this process.
func (d *Daemon) reaches(a *verbs.Address) bool {
	for i := range d.cfg.Embedded {
		at := embeddedAt(i).Addr()
		if a.IsRDMA() && a.Dst.Addr() == at || !a.IsRDMA() && a.DGID == gid(at) {
			return true
		}
	}
	return false
}
