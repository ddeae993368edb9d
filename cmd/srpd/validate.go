package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/config"
)

func validateCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "check the configuration, and start nothing",
		Long: `validate reads the configuration as run does, and tells all that is wrong with it: file, line, option, and what would be
right. It touches nothing of what the configuration names.`,
		Example: "  srpd validate\n  srpd validate --config ./srpd.toml",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := config.Load(cmd.Context(), file)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			if len(s.Files) == 0 {
				fmt.Fprintf(w, "there is no configuration: neither %s nor a drop-in\n", config.DefaultFile)
				return nil
			}
			units := 0
			for _, e := range s.Daemon.Embedded {
				units += len(e.Units)
			}
			for _, f := range s.Files {
				fmt.Fprintf(w, "%s\n", f)
			}
			fmt.Fprintf(w, "right: %d embedded targets with %d units, %d other targets, %d exports\n",
				len(s.Daemon.Embedded), units, len(s.Daemon.Targets), len(s.Daemon.Exports))
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration `file` (default: "+config.DefaultFile+" if it is there)")
	return cli.Exits(cmd, exitcode.NotFound, exitcode.Denied)
}
