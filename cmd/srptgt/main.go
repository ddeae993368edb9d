package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
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
	return cli.Program("srptgt", "the SRP target alone", `srptgt makes an SRP target and tries it out in its own process.

Other hosts cannot log in: the software HCA of this build has no network. To serve disks to programs on this host, use
srpd run --embedded.`, out, errs, checkCommand(), cli.VersionCommand("srptgt"))
}
