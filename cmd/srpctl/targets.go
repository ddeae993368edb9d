package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/srp"
)

func (o *options) listCommand() *cobra.Command {
	return cli.Exits(&cobra.Command{
		Use: "list [TARGET…]", Aliases: []string{"targets"}, Short: "list target ports",
		Long: `list prints a line for each target port that the daemon is logged in to, or wants to be: its state, who wants it (the
configuration, the daemon itself, or an earlier srpctl add), and what has gone through it. show tells more.`,
		Example:           "  srpctl list\n  srpctl list --json",
		ValidArgsFunction: o.completeTargets(many),
		RunE: func(cmd *cobra.Command, names []string) error {
			return ask(cmd, o, (*control.Client).Targets, func(v *control.Targets) error { return chooseTargets(v, names) }, printTargets)
		},
	}, exitcode.NotFound)
}

func (o *options) showCommand() *cobra.Command {
	return cli.Exits(&cobra.Command{
		Use: "show [TARGET…]", Short: "tell all about target ports",
		Long: `show tells all that is known of target ports: how they are logged in to, what the login has agreed on, and what their
channels have done.`,
		Example:           "  srpctl show 192.0.2.9:5555",
		ValidArgsFunction: o.completeTargets(many),
		RunE: func(cmd *cobra.Command, names []string) error {
			return ask(cmd, o, (*control.Client).Targets, func(v *control.Targets) error { return chooseTargets(v, names) }, printTargetFacts)
		},
	}, exitcode.NotFound)
}

func (o *options) addCommand() *cobra.Command {
	var q control.AddTarget
	cmd := &cobra.Command{
		Use: "add LOGIN", Short: "log in to a target port, now and after a restart",
		Long: `add logs in to a target port, serves its disks, and has the daemon do so again when it is restarted, until remove. The
login string is what ib_srp's add_target takes and ibsrpdm -c prints:

  id_ext=HEX,ioc_guid=HEX,dest=ADDRESS:PORT[,src=ADDRESS]     by the RDMA connection manager
  id_ext=HEX,ioc_guid=HEX,dgid=HEX,pkey=HEX,service_id=HEX    by that of InfiniBand

Further options: initiator_ext io_class max_sect max_cmd_per_lun target_can_queue queue_size cmd_sg_entries allow_ext_sg
sg_tablesize comp_vector tl_retry_count max_it_iu_size ch_count, as for ib_srp; imm_data (bytes) and protect (io, bounce
or region) are this project's own. What the string says wins over --channels and --queue-size.`,
		Example: `  srpctl add id_ext=0000000000000003,ioc_guid=0000000000000004,dest=192.0.2.9:5555
  srpctl add --dry-run 'id_ext=0003,ioc_guid=0004,dest=[2001:db8::9]:5555,ch_count=2,queue_size=32'
  srpctl add --idempotent --lun 0 --lun 3 id_ext=0003,ioc_guid=0004,dest=192.0.2.9:5555`,
		Args:              cli.Arguments(1, 1, "a login string"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Login = args[0]
			if _, err := srp.ParseTarget(q.Login); err != nil {
				return exitcode.With(exitcode.Usage, err, "see: srpctl add --help")
			}
			if err := inRange(cmd, "channels", q.Channels, srp.MaxChannels); err != nil {
				return err
			}
			if err := inRange(cmd, "queue-size", q.QueueSize, srp.MaxQueueSize); err != nil {
				return err
			}
			return o.done(cmd, func(ctx context.Context, c *control.Client, p control.Progress) (*control.Change, error) {
				return c.Add(ctx, q, p)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&q.Channels, "channels", 0, fmt.Sprintf("channels of the session, 1 to %d (default: as the daemon does)", srp.MaxChannels))
	f.IntVar(&q.QueueSize, "queue-size", 0, fmt.Sprintf("commands a channel, 1 to %d (default: as the daemon does)", srp.MaxQueueSize))
	f.IntSliceVar(&q.LUNs, "lun", nil, "`LUN` to serve; may be repeated (default: all that are found)")
	f.BoolVar(&q.Keep, "keep", false, "go on trying when the first login fails, rather than forget the target")
	dryRun(cmd, &q.DryRun)
	idempotent(cmd, &q.Idempotent)
	return cli.Exits(cmd, exitcode.Rejected, exitcode.InUse, exitcode.Unreachable, exitcode.Unusable, exitcode.State, exitcode.Exists)
}

// inRange refuses a number that was given and is out of range.
func inRange(cmd *cobra.Command, option string, n, most int) error {
	if cmd.Flags().Changed(option) && (n < 1 || n > most) {
		return exitcode.Errorf(exitcode.Usage, "--%s is %d, want 1 to %d", option, n, most)
	}
	return nil
}

func (o *options) removeCommand() *cobra.Command {
	var q control.RemoveTarget
	cmd := &cobra.Command{
		Use: "remove TARGET", Short: "log out of a target port, and forget it",
		Long: `remove logs out of a target port and has the daemon forget it. Clients of disks that have no other path are in the way,
unless --force is given. A target of the configuration cannot be removed: logout lasts until the daemon starts again.`,
		Example: "  srpctl remove 192.0.2.9:5555\n  srpctl remove --dry-run 192.0.2.9:5555",
		Args:    cli.Arguments(1, 1, "a target"), ValidArgsFunction: o.completeTargets(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Target = args[0]
			return o.done(cmd, func(ctx context.Context, c *control.Client, p control.Progress) (*control.Change, error) {
				return c.Remove(ctx, q, p)
			})
		},
	}
	force(cmd, &q.Force, "though clients are connected to disks that have no other path")
	dryRun(cmd, &q.DryRun)
	idempotent(cmd, &q.Idempotent)
	return cli.Exits(cmd, exitcode.NotFound, exitcode.InUse, exitcode.State)
}

func (o *options) rescanCommand() *cobra.Command {
	var q control.Rescan
	return cli.Exits(&cobra.Command{
		Use: "rescan [TARGET]", Short: "look for units, at a target port or at all",
		Long:    "rescan asks target ports for their logical units, serves those that are new, and lets go of those that are not there.",
		Example: "  srpctl rescan\n  srpctl rescan 192.0.2.9:5555",
		Args:    cli.Arguments(0, 1, "a target"), ValidArgsFunction: o.completeTargets(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				q.Target = args[0]
			}
			return o.done(cmd, func(ctx context.Context, c *control.Client, p control.Progress) (*control.Change, error) {
				return c.Rescan(ctx, q, p)
			})
		},
	}, exitcode.NotFound, exitcode.Unreachable, exitcode.Unusable)
}

func (o *options) logoutCommand() *cobra.Command {
	var q control.Logout
	cmd := &cobra.Command{
		Use: "logout TARGET", Short: "end the session with a target port, and keep the target",
		Long: `logout ends the session with a target port, until reconnect or the next start of the daemon. Disks that have no other
path are not served meanwhile; clients of such disks are in the way, unless --force is given.`,
		Example: "  srpctl logout 192.0.2.9:5555",
		Args:    cli.Arguments(1, 1, "a target"), ValidArgsFunction: o.completeTargets(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Target = args[0]
			return o.done(cmd, func(ctx context.Context, c *control.Client, p control.Progress) (*control.Change, error) {
				return c.Logout(ctx, q, p)
			})
		},
	}
	force(cmd, &q.Force, "though clients are connected to disks that have no other path")
	dryRun(cmd, &q.DryRun)
	idempotent(cmd, &q.Idempotent)
	return cli.Exits(cmd, exitcode.NotFound, exitcode.InUse)
}

func (o *options) reconnectCommand() *cobra.Command {
	var q control.Reconnect
	cmd := &cobra.Command{
		Use: "reconnect TARGET", Short: "log in to a target port again",
		Long: `reconnect logs in to a target port that was logged out of or has gone away, and waits until that has succeeded or failed.
One that is logged in to is left alone, unless --force is given.`,
		Example: "  srpctl reconnect --now 192.0.2.9:5555",
		Args:    cli.Arguments(1, 1, "a target"), ValidArgsFunction: o.completeTargets(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Target = args[0]
			return o.done(cmd, func(ctx context.Context, c *control.Client, p control.Progress) (*control.Change, error) {
				return c.Reconnect(ctx, q, p)
			})
		},
	}
	cmd.Flags().BoolVar(&q.Now, "now", false, "do not wait until the next attempt is due")
	force(cmd, &q.Force, "end the session that there is; its commands are sent again")
	dryRun(cmd, &q.DryRun)
	return cli.Exits(cmd, exitcode.NotFound, exitcode.Rejected, exitcode.Unreachable)
}

func printTargets(w io.Writer, v *control.Targets) {
	t := newTable(w, "TARGET", "STATE", "ADDRESS", "ORIGIN", "LOGINS", "CHANNELS", "COMMANDS", "READ", "WRITTEN")
	for _, x := range v.Targets {
		var commands, in, out uint64
		for _, c := range x.Channels {
			commands, in, out = commands+c.Commands, in+c.BytesIn, out+c.BytesOut
		}
		t.row(x.Name, stateOf(&x), or(x.Address), or(x.Origin), number(x.Logins), number(len(x.Channels)), number(commands), size(in), size(out))
	}
	t.end()
}

func stateOf(x *control.Target) string {
	if x.Lost {
		return x.State + ", lost"
	}
	return x.State
}

func printTargetFacts(w io.Writer, v *control.Targets) {
	for i, x := range v.Targets {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, x.Name)
		agreed, protect, fewer := "", "", ""
		if s := x.Session; s != nil {
			agreed, protect, fewer = sessionText(s), s.Protect, s.Fewer
		}
		printFacts(w,
			"state", stateOf(&x), "login string", x.String, "target port", x.TargetID, "initiator port", x.Initiator, "adapter", x.Adapter,
			"wanted by", x.Origin, "logins", number(x.Logins), "agreed on", agreed, "protection", protect, "fewer channels", fewer, "last error", x.LastError)
		printChannels(w, "  ", x.Channels)
	}
}

func sessionText(s *control.Session) string {
	immediate := "no immediate data"
	if s.ImmediateData > 0 {
		immediate = size(uint64(s.ImmediateData)) + " of immediate data"
	}
	return fmt.Sprintf("IUs of %d bytes to the target and %d from it; %s descriptors; %s; a command moves up to %s in %d pieces",
		s.MaxITIU, s.MaxTIIU, s.Formats, immediate, size(uint64(s.MaxTransfer)), s.MaxSegments)
}
