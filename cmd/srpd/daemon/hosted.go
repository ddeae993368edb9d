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
			Buffers: min(target.DefaultBuffers, max(leastBuffers, hostedBuffers/len(d.cfg.Embedded))),
		}
		for n := range e.Units {
			u := &e.Units[n]
			serial := who.Serial(n)
			if e.Name == DefaultName {
				var err error
				if serial, err = d.state.UnitSerial(ctx, n); err != nil {
					return err
				}
			}
			cfg.Units = append(cfg.Units, embedded.Unit{Serial: serial, Store: u.Store, Size: u.Size, Path: u.Path, Name: thinName(e.Name, n), ReadOnly: u.ReadOnly})
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
