package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/exitcode"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	err := command(os.Stdout, os.Stderr).ExecuteContext(ctx)
	if err != nil {
		exitcode.Print(os.Stderr, "bench", err)
	}
	os.Exit(int(exitcode.Of(err)))
}

// command is the whole program.
func command(out, errs io.Writer) *cobra.Command {
	return cli.Program("bench", "measure minisrp beside a model of its work and beside other programs",
		`bench measures minisrp. Every figure is a ratio of two that were measured in turns in the same run, or a quantity of
the daemon alone, with the median and the spread of several rounds; how much of the processors other programs had
meanwhile is noted for each.`, out, errs, runCommand(), compareCommand(), reportCommand(), loadCommand(), scaleCommand(), serveCommand(), cli.VersionCommand("bench"))
}
