package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"minisrp/cmd/exitcode"
)

func main() {
	err := command(os.Stdout, os.Stderr).ExecuteContext(context.Background())
	if err != nil {
		exitcode.Print(os.Stderr, "srpd", err)
	}
	os.Exit(int(exitcode.Of(err)))
}

// command is the whole program.
func command(out, errs io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "srpd",
		Short:         "serve the disks of SRP targets as block devices",
		Long:          "srpd logs in to SRP targets and serves their logical units as block devices over NBD.\n\nExit codes:\n" + exitcode.Table(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(out)
	root.SetErr(errs)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exitcode.With(exitcode.Usage, err, "see: "+cmd.CommandPath()+" --help")
	})
	root.AddCommand(runCommand(), validateCommand(), &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  noArguments,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), program()) },
	})
	return root
}

// noArguments refuses words that are no options.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return exitcode.With(exitcode.Usage, fmt.Errorf("%s: unexpected argument %q", cmd.CommandPath(), args[0]), "see: "+cmd.CommandPath()+" --help")
}

// program names the program and its build.
func program() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "srpd, of an unknown build"
	}
	s := "srpd " + b.Main.Version
	for _, set := range b.Settings {
		if set.Key == "vcs.revision" {
			s += " " + set.Value
		}
	}
	return s + " " + b.GoVersion
}
