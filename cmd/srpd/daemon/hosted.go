package daemon

import (
	"context"
	"fmt"
	"path/filepath"

	"minisrp/cmd/srpd/embedded"
	"minisrp/scsi/lun/thin"
	"minisrp/srp/target"
	"minisrp/verbs"
)

// thinName is the name of a target's unit in the database of thin units.
func thinName(target string, n int) string { return fmt.Sprintf("%s-%d", target, n) }

// openThin opens the database of thin units.
func (d *Daemon) openThin() (*thin.DB, error) {
	db, err := thin.Open(filepath.Join(d.cfg.StateDir, "thin"), thin.Options{Log: d.log})
	if err == nil {
		d.onStop("thin store", db.Close)
	}
	return db, err
}

// startEmbedded starts the targets in the process.
func (d *Daemon) startEmbedded(ctx context.Context) error {
	for i := range d.cfg.Embedded {
		e := &d.cfg.Embedded[i]
		who := d.identity.Embedded(e.Name)
		if e.Name == DefaultName {
			who.Ext, who.GUID = d.identity.TargetExt, d.identity.TargetGUID
		}
		cfg := embedded.Config{
			Fabric: d.fabric, Processor: d.processors[i%len(d.processors)], Addr: embeddedAt(i), Name: fmt.Sprintf("target%d", i),
			IDExt: uint64(who.Ext), GUID: verbs.GUID(who.GUID), Log: d.log, Thin: d.thin, Faults: e.faults,
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
