package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
)

func (o *options) sessionsCommand() *cobra.Command {
	return cli.Exits(&cobra.Command{
		Use: "sessions [TARGET…]", Short: "list who is logged in to the targets in the daemon's process",
		Long: `sessions lists the initiators that are logged in to the targets that the daemon has itself (embedded ones), with what
these targets have counted of each channel.`,
		Example: "  srpctl sessions", ValidArgsFunction: o.completeHosted(many),
		RunE: func(cmd *cobra.Command, names []string) error {
			return ask(cmd, o, (*control.Client).Hosted, func(v *control.Hosted) error { return chooseHosted(v, names) }, printSessions)
		},
	}, exitcode.NotFound)
}

func (o *options) completeHosted(most int) cobra.CompletionFunc {
	return complete(o, most, (*control.Client).Hosted, func(v *control.Hosted) (names []string) {
		for _, t := range v.Targets {
			names = append(names, t.Name)
		}
		return names
	})
}

func chooseHosted(v *control.Hosted, names []string) (err error) {
	v.Targets, err = choose(v.Targets, "target in the daemon", names, func(t control.HostedTarget) []string { return []string{t.Name, t.TargetID} })
	return err
}

func printSessions(w io.Writer, v *control.Hosted) {
	t := newTable(w, "TARGET", "INITIATOR PORT", "GROUP", "LUNS", "CHANNEL", "PEER", "AGE", "CREDITS", "OUTSTANDING", "COMMANDS", "TASKS", "READ", "WRITTEN", "FAULTS")
	for _, x := range v.Targets {
		for _, s := range x.Sessions {
			for _, c := range s.Channels {
				age := time.Duration(c.Age * float64(time.Second)).Round(time.Second)
				t.row(x.Name, s.Initiator, or(s.Group), numbers(s.LUNs), number(c.ID), c.Peer, age.String(), number(c.Credits), number(c.Outstanding),
					number(c.Commands), number(c.Tasks), size(c.BytesIn), size(c.BytesOut), number(c.Faults))
			}
		}
	}
	t.end()
}

// numbers writes numbers with commas, and those that follow each other as FIRST-LAST.
func numbers(all []int) string {
	var words []string
	for i := 0; i < len(all); {
		k := i
		for k+1 < len(all) && all[k+1] == all[k]+1 {
			k++
		}
		switch {
		case k > i+1:
			words = append(words, fmt.Sprintf("%d-%d", all[i], all[k]))
			i = k + 1
		default:
			words = append(words, fmt.Sprint(all[i]))
			i++
		}
	}
	return or(strings.Join(words, ","))
}

func (o *options) faultsCommand() *cobra.Command {
	cmd := cli.Exits(&cobra.Command{
		Use: "faults [TARGET…]", Short: "list what the targets in the daemon's process do wrong on purpose",
		Long: `faults lists the faults of the targets that the daemon has itself (embedded ones), and how often each has struck. faults
set and faults clear change them.`,
		Example: "  srpctl faults\n  srpctl faults set embedded 'delay=50ms,op=read' 'lose,every=100'", ValidArgsFunction: o.completeHosted(many),
		RunE: func(cmd *cobra.Command, names []string) error {
			return ask(cmd, o, (*control.Client).Hosted, func(v *control.Hosted) error { return chooseHosted(v, names) }, printFaults)
		},
	}, exitcode.NotFound)
	cmd.AddCommand(
		o.faultsChange("set TARGET RULE…", "have a target do something wrong",
			"set replaces the faults of a target in the daemon's process. srptgt-check(8) lists what rules can say.",
			"  srpctl faults set embedded 'delay=50ms,op=read' 'lose,every=100'", cli.Arguments(2, many, "a target or a rule")),
		o.faultsChange("clear TARGET", "have a target do nothing wrong any more", "clear takes all faults from a target in the daemon's process.",
			"  srpctl faults clear embedded", cli.Arguments(1, 1, "a target")),
	)
	return cmd
}

func (o *options) faultsChange(use, short, long, example string, args cobra.PositionalArgs) *cobra.Command {
	dry := false
	cmd := cli.Exits(&cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: args, ValidArgsFunction: o.completeHosted(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := control.SetFaults{Target: args[0], Rules: strings.Join(args[1:], "; ")}
			if dry {
				return o.would(cmd, "set the faults of %s to: %s", q.Target, or(q.Rules))
			}
			return change(cmd, o, func(ctx context.Context, c *control.Client, _ control.Progress) (*control.Hosted, error) {
				return c.SetFaults(ctx, q)
			}, printFaults)
		},
	}, exitcode.NotFound)
	dryRun(cmd, &dry)
	return cmd
}

func printFaults(w io.Writer, v *control.Hosted) {
	t := newTable(w, "TARGET", "STRUCK", "FAULT")
	for _, x := range v.Targets {
		if len(x.Faults) == 0 {
			t.row(x.Name, "-", "none")
		}
		for _, f := range x.Faults {
			t.row(x.Name, number(f.Hits), f.Rule)
		}
	}
	t.end()
}
