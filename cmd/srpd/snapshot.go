package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/daemon"
	"minisrp/scsi/lun/thin"
)

// oneDisk wants the name of a disk.
func oneDisk(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exitcode.Errorf(exitcode.Usage, "%s: %d arguments, want the name of a disk", cmd.CommandPath(), len(args))
	}
	return nil
}

// snapshotCommand saves and restores disks of --store badger, while no daemon has them.
func snapshotCommand() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "save and restore the disks of --store badger",
		Long: `snapshot works on the database of thin disks in the state directory, while no daemon has it. The disks have the names
of their target and LUN: embedded-0 is disk0 of --embedded.`,
		Example: "  srpd snapshot save embedded-0 > disk0.snapshot\n  srpd snapshot restore embedded-0 < disk0.snapshot",
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&state, "state-dir", "", "`directory` of state and embedded disks, as run has it")
	with := func(fn func(ctx context.Context, db *thin.DB, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			c := daemon.Config{StateDir: state}
			if err := locate(&c); err != nil {
				return err
			}
			dir := daemon.ThinDir(c.StateDir)
			if _, err := os.Stat(dir); err != nil {
				return exitcode.With(exitcode.NotFound, err, "no disk of --store badger was made there: see --state-dir")
			}
			db, err := thin.Open(dir, thin.Options{})
			if err != nil {
				return daemon.Explain(err)
			}
			err = fn(cmd.Context(), db, cmd, args)
			return daemon.Explain(errors.Join(err, db.Close(context.WithoutCancel(cmd.Context()))))
		}
	}
	cmd.AddCommand(
		cli.Exits(&cobra.Command{
			Use: "list", Short: "the names of the disks",
			Long:    "list prints the names of the disks that the database has, a line each.",
			Example: "  srpd snapshot list",
			Args:    cli.NoArguments,
			RunE: with(func(_ context.Context, db *thin.DB, cmd *cobra.Command, _ []string) error {
				for _, name := range db.Units() {
					fmt.Fprintln(cmd.OutOrStdout(), name)
				}
				return nil
			}),
		}, exitcode.NotFound, exitcode.InUse, exitcode.State),
		cli.Exits(&cobra.Command{
			Use: "save DISK", Short: "write a disk to the standard output",
			Long: "save writes what a disk holds to the standard output: what takes space, and a sum by which restore sees whether all\n" +
				"of it is there.",
			Example: "  srpd snapshot save embedded-0 > disk0.snapshot",
			Args:    oneDisk,
			RunE: with(func(ctx context.Context, db *thin.DB, cmd *cobra.Command, args []string) error {
				s, err := db.Open(args[0], thin.Unit{})
				if err != nil {
					return err
				}
				w := bufio.NewWriter(cmd.OutOrStdout())
				return errors.Join(s.Snapshot(ctx, w), w.Flush(), s.Close(ctx))
			}),
		}, exitcode.NotFound, exitcode.InUse, exitcode.State),
		cli.Exits(&cobra.Command{
			Use: "restore DISK", Short: "make a disk of what is on the standard input",
			Long: "restore makes a disk of the name given of a snapshot on the standard input. There may be none of that name yet; and\n" +
				"there is none afterwards if the snapshot is damaged.",
			Example: "  srpd snapshot restore embedded-0 < disk0.snapshot",
			Args:    oneDisk,
			RunE: with(func(ctx context.Context, db *thin.DB, cmd *cobra.Command, args []string) error {
				return db.Restore(ctx, cmd.InOrStdin(), args[0])
			}),
		}, exitcode.NotFound, exitcode.InUse, exitcode.State),
	)
	return cmd
}
