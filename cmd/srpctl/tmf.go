package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
)

func (o *options) tmfCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tmf", Short: "send task management functions",
		Long: `tmf sends task management functions to logical units and target ports. Commands of the daemon's own that they end are
sent again, unless their effect is not known and they must not be.`,
		Example: "  srpctl tmf lun-reset disk0",
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		o.tmf("abort-task-set", control.AbortTaskSet, "end the daemon's own commands at a unit"),
		o.tmf("clear-task-set", control.ClearTaskSet, "end everybody's commands at a unit"),
		o.tmf("lun-reset", control.UnitReset, "reset a logical unit"),
		o.tmf("target-reset", control.NexusReset, "end the session with a target port, and log in again"),
	)
	return cmd
}

func (o *options) tmf(name string, fn control.TaskFunction, short string) *cobra.Command {
	dry := false
	cmd := &cobra.Command{
		Use: name + " UNIT", Short: short,
		Long:    name + " sends a task management function over every path: it is to " + short + ".\n" + where,
		Example: "  srpctl tmf " + name + " disk0",
		Args:    cli.Arguments(1, 1, "a unit"), ValidArgsFunction: o.completeUnits(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := control.Task{Function: fn}
			if fn == control.NexusReset {
				q.Target = args[0]
			} else {
				var s control.SCSI
				locate(&s, args[0])
				q.Unit, q.Target, q.LUN = s.Unit, s.Target, s.LUN
			}
			if dry {
				return o.would(cmd, "send to %s: %s", args[0], strings.ToUpper(strings.ReplaceAll(name, "-", " ")))
			}
			return o.sendTask(cmd, q)
		},
	}
	if fn == control.NexusReset {
		cmd.Use, cmd.Example = name+" TARGET", "  srpctl tmf "+name+" 192.0.2.9:5555"
		cmd.Args, cmd.ValidArgsFunction = cli.Arguments(1, 1, "a target"), o.completeTargets(1)
		cmd.Long = name + ` ends the session with a target port and logs in again, which is how SRP resets an I_T nexus: all commands of the
session end.`
	}
	dryRun(cmd, &dry)
	return cli.Exits(cmd, exitcode.NotFound, exitcode.Unreachable)
}

// sendTask sends a function, and makes an error of the paths where it was not done.
func (o *options) sendTask(cmd *cobra.Command, q control.Task) error {
	var failed []string
	err := change(cmd, o, func(ctx context.Context, c *control.Client, p control.Progress) (*control.TaskAnswer, error) {
		v, err := c.Task(ctx, q, p)
		if err == nil {
			for _, x := range v.Paths {
				if !x.Done {
					failed = append(failed, pathText(&x)+": "+x.Response)
				}
			}
		}
		return v, err
	}, printTasks)
	if err == nil && len(failed) > 0 {
		err = exitcode.Errorf(exitcode.Failure, "not done: %s", strings.Join(failed, "; "))
	}
	return err
}

func pathText(x *control.TaskPath) string {
	if x.LUN == "" {
		return x.Target
	}
	return x.Target + "/" + x.LUN
}

func printTasks(w io.Writer, v *control.TaskAnswer) {
	t := newTable(w, "PATH", "DONE", "COMMANDS ENDED", "ANSWER")
	for _, x := range v.Paths {
		t.row(pathText(&x), yes(x.Done), number(x.Aborted), x.Response)
	}
	t.end()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
