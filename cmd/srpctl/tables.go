package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"minisrp/cmd/control"
)

// table writes rows of columns below each other.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, head ...string) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(head...)
	return t
}

func (t table) row(cells ...string) { fmt.Fprintln(t.w, strings.Join(cells, "\t")) }
func (t table) end()                { _ = t.w.Flush() } // the writer below keeps its error

// or returns a dash in place of nothing.
func or(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// size writes a number of bytes for people: three digits and a power of 1024.
func size(n uint64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1023.95 && i < 5 {
		f, i = f/1024, i+1
	}
	s := fmt.Sprintf("%.1f", f)
	return strings.TrimSuffix(s, ".0") + " " + string("KMGTPE"[i]) + "iB"
}

func number[T int | int64 | uint64](n T) string { return fmt.Sprint(n) }

func printTargets(w io.Writer, v *control.Targets) {
	t := newTable(w, "TARGET", "STATE", "ADDRESS", "LOGINS", "CHANNELS", "CREDITS", "COMMANDS", "READ", "WRITTEN")
	for _, x := range v.Targets {
		state := x.State
		if x.Lost {
			state += ", lost"
		}
		credits := ""
		if x.Session != nil {
			credits = number(x.Session.Credits)
		}
		var commands, in, out uint64
		for _, c := range x.Channels {
			commands, in, out = commands+c.Commands, in+c.BytesIn, out+c.BytesOut
		}
		t.row(x.Name, state, x.Address, number(x.Logins), number(len(x.Channels)), or(credits), number(commands), size(in), size(out))
	}
	t.end()
	for _, x := range v.Targets {
		fmt.Fprintf(w, "\n%s\n", x.Name)
		printFacts(w,
			"login string", x.String,
			"initiator port", x.Initiator,
			"adapter", x.Adapter,
			"agreed on", agreed(x.Session),
			"protection", protection(x.Session),
			"fewer channels", fewer(x.Session),
			"last error", x.LastError,
		)
		if len(x.Channels) == 0 {
			continue
		}
		t := newTable(w, "  CHANNEL", "COMMANDS", "RESPONSES", "BUSY", "TASKS", "LATE", "READ", "WRITTEN", "IMMEDIATE", "COPIED")
		for i, c := range x.Channels {
			t.row(fmt.Sprintf("  %d", i), number(c.Commands), number(c.Responses), number(c.Busy), number(c.Tasks), number(c.Late),
				size(c.BytesIn), size(c.BytesOut), size(c.Immediate), size(c.Copied))
		}
		t.end()
	}
}

// printFacts prints what there is of names and values.
func printFacts(w io.Writer, facts ...string) {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	for i := 0; i < len(facts); i += 2 {
		if facts[i+1] != "" {
			t.row("  "+facts[i], facts[i+1])
		}
	}
	t.end()
}

func agreed(s *control.Session) string {
	if s == nil {
		return ""
	}
	immediate := "no immediate data"
	if s.ImmediateData > 0 {
		immediate = size(uint64(s.ImmediateData)) + " of immediate data"
	}
	return fmt.Sprintf("IUs of %d bytes to the target and %d from it; %s descriptors; %s; a command moves up to %s in %d pieces",
		s.MaxITIU, s.MaxTIIU, s.Formats, immediate, size(uint64(s.MaxTransfer)), s.MaxSegments)
}

func protection(s *control.Session) string {
	if s == nil {
		return ""
	}
	return s.Protect
}

func fewer(s *control.Session) string {
	if s == nil {
		return ""
	}
	return s.Fewer
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

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
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

func printCounters(w io.Writer, v *control.Counters) {
	n := &v.NBD
	fmt.Fprintf(w, "NBD: %d connections, %d accepted, %d refused, %d broken in negotiation, %d timed out; %s of %s memory\n",
		n.Connections, n.Accepted, n.Refused, n.Broken, n.TimedOut, size(uint64(n.Memory)), size(uint64(n.MemoryMax)))
	t := newTable(w, "  EXPORT", "CLIENTS", "READS", "WRITES", "FLUSHES", "TRIMS", "ZEROES", "READ", "WRITTEN", "ERRORS", "BROKEN")
	for _, x := range n.Exports {
		t.row("  "+x.Name, number(x.Connections), number(x.Reads), number(x.Writes), number(x.Flushes), number(x.Trims), number(x.Zeroes),
			size(x.BytesRead), size(x.BytesWritten), number(x.Errors), number(x.Broken))
	}
	t.end()
	fmt.Fprintln(w, "\nDisks")
	t = newTable(w, "  DISK", "READS", "WRITES", "FLUSHES", "UNMAPS", "ZEROES", "ERRORS", "COMMANDS", "COMPLETED", "WAITS", "NOT GOOD")
	for _, d := range v.Disks {
		errs := d.Read.Errors + d.Write.Errors + d.Flush.Errors + d.Unmap.Errors + d.WriteZeroes.Errors
		t.row("  "+d.Name, number(d.Read.Ops), number(d.Write.Ops), number(d.Flush.Ops), number(d.Unmap.Ops), number(d.WriteZeroes.Ops),
			number(errs), number(d.Commands), number(d.Completed), number(d.Waits), or(counts(d.NotGood)))
	}
	t.end()
	fmt.Fprintln(w, "\nPort driver")
	t = newTable(w, "  UNIT", "COMPLETED", "IN FLIGHT", "DEPTH", "QUEUE FULL", "ABORTS", "RESETS")
	for _, u := range v.Units {
		t.row("  "+or(u.Name), number(u.Completed), number(u.InFlight), number(u.Depth), number(u.QueueFull), number(u.Aborts), number(u.Resets))
	}
	t.end()
	fmt.Fprintln(w, "\nDispatch")
	t = newTable(w, "  PROCESSOR", "DPCS", "DRAINS", "HANDOFFS", "TIMERS")
	for _, p := range v.Processors {
		t.row("  "+p.Name, number(p.Items), number(p.Drains), number(p.Handoffs), number(p.Timers))
	}
	t.end()
	fmt.Fprintln(w, "\nHCAs")
	t = newTable(w, "  HCA", "PORT", "KIND", "COUNTERS")
	for _, h := range v.HCAs {
		c := counts(h.Counters)
		if h.Error != "" {
			c = h.Error
		}
		t.row("  "+h.Name, number(h.Port), h.Kind, or(c))
	}
	t.end()
	printCapture(w, v.Capture)
}

func printCapture(w io.Writer, c *control.Capture) {
	if c != nil {
		fmt.Fprintf(w, "\nCapture in %s: %d messages, %d dropped\n", c.File, c.Messages, c.Dropped)
	}
}

// counts writes named numbers in the order of their names.
func counts(m map[string]uint64) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		words = append(words, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(words, ", ")
}

func printDaemon(w io.Writer, v *control.Daemon) {
	fmt.Fprintf(w, "%s, process %d since %s\n", v.Program, v.PID, v.Started.Format(time.RFC3339))
	printFacts(w, "state", v.StateDir, "listens on", strings.Join(v.Listen, ", "))
}
