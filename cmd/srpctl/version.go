package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/control"
)

func (o *options) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print this program's version, and the daemon's",
		Long: `version prints the version of this program, in any case, and then who the daemon is: its version, process and age, its
state directory, and where it serves NBD.`,
		Example: "  srpctl version",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !o.json {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), cli.Version("srpctl")); err != nil {
					return err
				}
			}
			return ask(cmd, o, (*control.Client).Daemon, nil, printDaemon)
		},
	}
}

func printDaemon(w io.Writer, v *control.Daemon) {
	fmt.Fprintf(w, "%s, process %d since %s\n", v.Program, v.PID, v.Started.Format(time.RFC3339))
	printFacts(w, "state", v.StateDir, "listens on", strings.Join(v.Listen, ", "))
}
