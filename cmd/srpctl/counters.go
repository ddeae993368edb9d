package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/control"
)

func (o *options) countersCommand() *cobra.Command {
	return &cobra.Command{
		Use: "counters", Short: "print what has been counted, by layer",
		Long: `counters prints what has been counted since the daemon was started, and for disks over all its runs too: at the NBD server, for each disk, in the port driver, on
the processors, and at the HCAs. The same is at /metrics on the control socket for Prometheus.`,
		Example: "  srpctl counters\n  srpctl counters --json",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd, o, (*control.Client).Counters, nil, printCounters)
		},
	}
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
	fmt.Fprintln(w, "\nDisks, over all runs of the daemon")
	t = newTable(w, "  DISK", "SINCE", "READS", "WRITES", "FLUSHES", "UNMAPS", "ZEROES", "READ", "WRITTEN", "ERRORS")
	for _, u := range v.Totals {
		t.row("  "+u.Name, u.Since.Format(time.DateTime), number(u.Reads), number(u.Writes), number(u.Flushes), number(u.Unmaps), number(u.Zeroes),
			size(u.BytesRead), size(u.BytesWritten), number(u.Errors))
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
