package daemon

import (
	"fmt"

	"minisrp/cmd/control"
	"minisrp/scsi/lun"
)

// Exports returns what is served, in the order of the units, the stable name of each before its aliases.
func (d *Daemon) Exports() []control.Export {
	all := []control.Export{}
	for _, u := range d.list() {
		for _, name := range u.names {
			x := control.Export{Name: name, Unit: string(u.unit.ID()), ReadOnly: u.readOnly || u.disk.Info().ReadOnly}
			for _, l := range d.listeners {
				x.URIs = append(x.URIs, d.nbd.URI(l.Addr(), name))
			}
			all = append(all, x)
		}
	}
	return all
}

// Served returns how many units are served.
func (d *Daemon) Served() int {
	n := 0
	for _, u := range d.list() {
		if len(u.names) > 0 {
			n++
		}
	}
	return n
}

// Units returns a line's worth about each unit that was found, and each that has no store.
func (d *Daemon) Units() []control.Unit {
	all := []control.Unit{}
	for _, u := range d.list() {
		all = append(all, describe(u))
	}
	for _, m := range d.missing() {
		id := lun.UnitID(m.serial)
		all = append(all, control.Unit{
			Identity: string(id), Name: d.awaited[id], Error: m.store.Error(), Exports: []string{},
			Paths: []control.Path{{Target: m.target, LUN: fmt.Sprint(m.store.LUN), State: stateFailed}},
		})
	}
	return all
}
