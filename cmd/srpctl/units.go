package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
)

func (o *options) unitsCommand() *cobra.Command {
	return cli.Exits(&cobra.Command{
		Use: "units [UNIT…]", Short: "list logical units: sizes, paths, exports, or why one is not served",
		Long: `units lists the logical units that were found, all or by name or identity: how large they are, what they can, under which
names they are served, and why one is not served as a disk.`,
		Example: "  srpctl units\n  srpctl units disk0 --json", ValidArgsFunction: o.completeUnits(many),
		RunE: func(cmd *cobra.Command, names []string) error {
			return ask(cmd, o, (*control.Client).Units, func(v *control.Units) error { return chooseUnits(v, names) }, printUnits)
		},
	}, exitcode.NotFound)
}

func (o *options) pathsCommand() *cobra.Command {
	return cli.Exits(&cobra.Command{
		Use: "paths [UNIT…]", Short: "list the paths to logical units",
		Long: `paths lists the ways to the logical units: target port, LUN there, the state of the target, and the initiator port that
the target knows the daemon by.`,
		Example: "  srpctl paths disk0", ValidArgsFunction: o.completeUnits(many),
		RunE: func(cmd *cobra.Command, names []string) error {
			return ask(cmd, o, (*control.Client).Units, func(v *control.Units) error { return chooseUnits(v, names) }, printPaths)
		},
	}, exitcode.NotFound)
}

func printPaths(w io.Writer, v *control.Units) {
	t := newTable(w, "UNIT", "PATH", "STATE", "TARGET PORT", "INITIATOR PORT")
	for _, u := range v.Units {
		for _, p := range u.Paths {
			t.row(firstOf(u.Name, u.Identity), p.Target+"/"+p.LUN, p.State, p.TargetID, p.Initiator)
		}
	}
	t.end()
}

func printUnits(w io.Writer, v *control.Units) {
	t := newTable(w, "NAME", "SIZE", "BLOCK", "PATH", "STATE", "VENDOR", "PRODUCT", "IDENTITY")
	for _, u := range v.Units {
		total, block := "", ""
		if u.Disk != nil {
			total, block = size(u.Disk.Size), fmt.Sprintf("%d/%d", u.Disk.LogicalBlock, u.Disk.PhysicalBlock)
		}
		for i, p := range u.Paths {
			path := p.Target + "/" + p.LUN
			if i > 0 {
				t.row("", "", "", path, p.State)
				continue
			}
			t.row(or(u.Name), or(total), or(block), path, p.State, u.Vendor, u.Product, u.Identity)
		}
	}
	t.end()
	for _, u := range v.Units {
		fmt.Fprintf(w, "\n%s\n", firstOf(u.Name, u.Identity))
		printFacts(w, "error", u.Error, "revision", u.Revision, "disk", properties(u.Disk), "serial", serial(u.Disk), "exports", strings.Join(u.Exports, ", "))
	}
}

func serial(d *control.Disk) string {
	if d == nil {
		return ""
	}
	return d.Serial
}

// properties puts what a disk is and can into words.
func properties(d *control.Disk) string {
	if d == nil {
		return ""
	}
	words := []string{"cache " + d.WriteCache, "commands of up to " + size(uint64(d.MaxTransfer))}
	for _, p := range []struct {
		is   bool
		word string
	}{{d.ReadOnly, "read-only"}, {d.Rotational, "rotating"}, {d.Thin, "thin"}, {d.Unmap, "unmap"}, {d.FUA, "FUA"}} {
		if p.is {
			words = append(words, p.word)
		}
	}
	return strings.Join(words, ", ")
}
