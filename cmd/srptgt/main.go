package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"minisrp/cmd/exitcode"
)

func main() {
	err := command(os.Stdout, os.Stderr).Execute()
	if err != nil {
		exitcode.Print(os.Stderr, "srptgt", err)
	}
	os.Exit(int(exitcode.Of(err)))
}

// command is the whole program.
func command(out, errs io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "srptgt",
		Short: "the SRP target alone",
		Long: `srptgt makes an SRP target and tries it out in its own process.

Other hosts cannot log in: the software HCA of this build has no network. To serve disks to programs on this host, use
srpd run --embedded.

Exit codes:
` + exitcode.Table(),
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
	root.AddCommand(checkCommand(), &cobra.Command{
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
		return "srptgt, of an unknown build"
	}
	s := "srptgt " + b.Main.Version
	for _, set := range b.Settings {
		if set.Key == "vcs.revision" {
			s += " " + set.Value
		}
	}
	return s + " " + b.GoVersion
}
