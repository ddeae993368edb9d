package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
)

func (o *options) channelsCommand() *cobra.Command {
	return cli.Exits(&cobra.Command{
		Use: "channels [TARGET…]", Short: "list the channels of sessions, and what they have done",
		Long: `channels lists the channels of the sessions: their queue pairs, the processor that serves them, and what has gone through
them since the login. BUSY counts commands that had to wait for credits or room, LATE responses to what had ended.`,
		Example: "  srpctl channels", ValidArgsFunction: o.completeTargets(many),
		RunE: func(cmd *cobra.Command, names []string) error {
			return ask(cmd, o, (*control.Client).Targets, func(v *control.Targets) error { return chooseTargets(v, names) }, func(w io.Writer, v *control.Targets) {
				for i, t := range v.Targets {
					if i > 0 {
						fmt.Fprintln(w)
					}
					fmt.Fprintf(w, "%s: %s\n", t.Name, stateOf(&t))
					printChannels(w, "  ", t.Channels)
				}
			})
		},
	}, exitcode.NotFound)
}

func printChannels(w io.Writer, indent string, channels []control.Channel) {
	if len(channels) == 0 {
		return
	}
	t := newTable(w, indent+"CHANNEL", "STATE", "PROCESSOR", "QP", "COMMANDS", "RESPONSES", "OUTSTANDING", "BUSY", "TASKS", "LATE", "READ", "WRITTEN",
		"IMMEDIATE", "COPIED")
	for _, c := range channels {
		t.row(indent+number(c.Index), c.State, or(c.Processor), number(uint64(c.QPN)), number(c.Commands), number(c.Responses),
			number(c.Outstanding), number(c.Busy), number(c.Tasks), number(c.Late), size(c.BytesIn), size(c.BytesOut), size(c.Immediate), size(c.Copied))
	}
	t.end()
}

func (o *options) creditsCommand() *cobra.Command {
	return cli.Exits(&cobra.Command{
		Use: "credits [TARGET…]", Short: "list how many requests targets take at a time, by channel",
		Long: `credits lists the request limit of each channel as the target has set it by now, how many requests are at the target, and
the fewest credits that were left since the login. One is kept for task management. When LEAST is 1 and BUSY grows, the
target grants fewer credits than there is work; DEPTH is how many commands the daemon has at a time at most.`,
		Example: "  srpctl credits", ValidArgsFunction: o.completeTargets(many),
		RunE: func(cmd *cobra.Command, names []string) error {
			return ask(cmd, o, (*control.Client).Targets, func(v *control.Targets) error { return chooseTargets(v, names) }, func(w io.Writer, v *control.Targets) {
				t := newTable(w, "TARGET", "CHANNEL", "LIMIT", "IN USE", "LEAST", "DEPTH", "BUSY", "REQUESTS BY TARGET")
				for _, x := range v.Targets {
					for _, c := range x.Channels {
						t.row(x.Name, number(c.Index), number(c.Credits.Limit), number(c.Credits.InUse), number(c.Credits.Least), number(c.Depth), number(c.Busy), number(c.CreditReqs))
					}
				}
				t.end()
			})
		},
	}, exitcode.NotFound)
}

func (o *options) latenciesCommand() *cobra.Command {
	return cli.Exits(&cobra.Command{
		Use: "latencies [DISK…]", Short: "tell how long requests took, by disk",
		Long: `latencies tells how long requests took since a disk was opened, from when the daemon had them until they were complete.
Percentiles are at most an eighth too high. --json has the distribution.`,
		Example: "  srpctl latencies disk0", ValidArgsFunction: o.completeUnits(many),
		RunE: func(cmd *cobra.Command, names []string) error {
			return ask(cmd, o, (*control.Client).Latencies, func(v *control.Latencies) (err error) {
				v.Disks, err = choose(v.Disks, "disk", names, func(d control.DiskLatency) []string { return []string{d.Name, d.Identity} })
				return err
			}, printLatencies)
		},
	}, exitcode.NotFound)
}

func printLatencies(w io.Writer, v *control.Latencies) {
	t := newTable(w, "DISK", "REQUEST", "COUNT", "MEAN", "P50", "P90", "P99", "P99.9", "MOST")
	for _, d := range v.Disks {
		for _, x := range []struct {
			name string
			l    *control.Latency
		}{{"read", &d.Read}, {"write", &d.Write}, {"flush", &d.Flush}, {"other", &d.Other}} {
			if x.l.Count == 0 {
				t.row(d.Name, x.name, "0", "-", "-", "-", "-", "-", "-")
				continue
			}
			t.row(d.Name, x.name, number(x.l.Count), micros(x.l.Mean), micros(x.l.P50), micros(x.l.P90), micros(x.l.P99), micros(x.l.P999), micros(x.l.Max))
		}
	}
	t.end()
}

// micros writes a duration of so many microseconds, in three digits or so.
func micros(us float64) string {
	d := time.Duration(us * 1e3)
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}
