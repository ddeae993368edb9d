package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
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
	return cli.Program("srpd", "serve the disks of SRP targets as block devices",
		"srpd logs in to SRP targets and serves their logical units as block devices over NBD.", out, errs,
		runCommand(), validateCommand(), snapshotCommand(), cli.VersionCommand("srpd"))
}
