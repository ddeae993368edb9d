package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
)

func (o *options) nbdCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "nbd", Short: "show the clients of disks, and see to disks that have lost writes",
		Long:    "nbd is about the NBD server of the daemon.",
		Example: "  srpctl nbd clients",
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(o.clientsCommand(), o.acceptLossCommand())
	return cmd
}

func (o *options) clientsCommand() *cobra.Command {
	return cli.Exits(&cobra.Command{
		Use: "clients [EXPORT…]", Short: "list the connections of NBD clients",
		Long:    "clients lists the connections of NBD clients that have chosen an export, all or those to some exports.",
		Example: "  srpctl nbd clients\n  srpctl nbd clients disk0", ValidArgsFunction: o.completeUnits(many),
		RunE: func(cmd *cobra.Command, names []string) error {
			return ask(cmd, o, (*control.Client).Clients, func(v *control.Clients) error { return chooseClients(v, names) }, printClients)
		},
	}, exitcode.NotFound)
}

// chooseClients keeps the clients of the exports that are named. An export may have several, so choose does not do.
func chooseClients(v *control.Clients, names []string) error {
	if len(names) == 0 {
		return nil
	}
	some := []control.NBDClient{}
	for _, name := range names {
		before := len(some)
		for _, c := range v.Clients {
			if c.Export == name {
				some = append(some, c)
			}
		}
		if len(some) == before {
			return exitcode.With(exitcode.NotFound, fmt.Errorf("no client is connected to an export %q", name), "srpctl nbd clients lists all that are")
		}
	}
	v.Clients = some
	return nil
}

func printClients(w io.Writer, v *control.Clients) {
	t := newTable(w, "EXPORT", "CLIENT", "TLS", "REQUESTS", "IN FLIGHT")
	for _, c := range v.Clients {
		t.row(c.Export, c.Client, yes(c.TLS), number(c.Requests), number(c.InFlight))
	}
	t.end()
}

func (o *options) acceptLossCommand() *cobra.Command {
	q := control.AcceptLoss{}
	dry := false
	cmd := &cobra.Command{
		Use: "accept-loss EXPORT", Short: "have the flushes of a disk that has lost writes succeed again",
		Long: `accept-loss says that somebody has seen to the data of a disk that has lost writes which it had acknowledged. Its flushes
have failed since, so that nobody takes for safe what is not; now they succeed again.`,
		Example: "  srpctl nbd accept-loss disk0",
		Args:    cli.Arguments(1, 1, "an export"), ValidArgsFunction: o.completeUnits(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Export = args[0]
			if dry {
				return o.would(cmd, "let the flushes of %s succeed again, if they fail for a loss", q.Export)
			}
			return change(cmd, o, func(ctx context.Context, c *control.Client, _ control.Progress) (*control.Loss, error) {
				return c.AcceptLoss(ctx, q)
			}, printLoss)
		},
	}
	dryRun(cmd, &dry)
	return cli.Exits(cmd, exitcode.NotFound)
}

func printLoss(w io.Writer, v *control.Loss) {
	if v.Lost {
		fmt.Fprintf(w, "%s: the loss is accepted; flushes succeed again\n", v.Export)
		return
	}
	fmt.Fprintf(w, "%s: there was no loss to accept\n", v.Export)
}
