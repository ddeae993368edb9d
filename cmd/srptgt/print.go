package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"minisrp/cmd/bytesize"
	"minisrp/cmd/srptgt/trial"
)

// print tells people what a trial has found.
func print(w io.Writer, r *trial.Report, notes map[string]string, unseen []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "target %s\n", r.Target)
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		fmt.Fprintf(&b, "  unit %s: %s\n", name, notes[name])
	}
	for _, name := range unseen {
		fmt.Fprintf(&b, "  unit %s: no --lun shows it\n", name)
	}
	for i := range r.Initiators {
		printInitiator(&b, &r.Initiators[i])
	}
	if len(r.Sessions) > 0 {
		b.WriteString("\nsessions, as the target lists them\n")
	}
	for _, s := range r.Sessions {
		group := s.Group
		if group == "" {
			group = "no group"
		}
		fmt.Fprintf(&b, "  %s  %s  %s\n", s.Initiator, group, orNone(s.Units))
		for i, c := range s.Channels {
			fmt.Fprintf(&b, "    channel %d from %s: %d credits, %d commands", i, c.Address, c.Credits, c.Commands)
			if c.Faults > 0 {
				fmt.Fprintf(&b, ", %d with faults", c.Faults)
			}
			b.WriteString("\n")
		}
	}
	if len(r.Faults) > 0 {
		b.WriteString("\nfaults, and how often they struck\n")
	}
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "  %6d  %s\n", f.Hits, f.Rule)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printInitiator(b *strings.Builder, x *trial.Initiator) {
	fmt.Fprintf(b, "\ninitiator %s at %s\n", x.ID, x.Address)
	if x.Channels > 0 {
		fmt.Fprintf(b, "  logged in within %s: %d channels, %d credits, information units of %d bytes, immediate data of %d\n",
			duration(x.Login), x.Channels, x.Credits, x.MaxITIU, x.ImmediateData)
	}
	if x.Fewer != "" {
		fmt.Fprintf(b, "  fewer channels than asked for: %s\n", x.Fewer)
	}
	if x.Error != "" {
		fmt.Fprintf(b, "  %s\n", x.Error)
	}
	if x.Advice != "" {
		fmt.Fprintf(b, "  %s\n", x.Advice)
	}
	for _, u := range x.Units {
		fmt.Fprintf(b, "  LUN %s  %s  %s", u.LUN, orDash(u.Serial), u.Identity)
		if u.Size > 0 {
			fmt.Fprintf(b, "  %s in blocks of %d, read within %s", bytesize.Format(u.Size), u.Block, duration(u.Read))
		}
		if u.Error != "" {
			fmt.Fprintf(b, "  %s", u.Error)
		}
		b.WriteString("\n")
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func orNone(words []string) string {
	if len(words) == 0 {
		return "no units"
	}
	return strings.Join(words, " ")
}

// duration writes seconds for people, to two digits or so.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= 10*unit {
			return d.Round(unit).String()
		}
		if d >= unit {
			return d.Round(unit / 10).String()
		}
	}
	return "1µs"
}
