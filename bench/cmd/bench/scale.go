package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"minisrp/bench/scale"
	"minisrp/cmd/cli"
)

func scaleCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "scale",
		Short: "measure what targets and units cost, and what runs out first with 10,000 units",
		Long: `scale sets up stacks of 1 to 256 targets and 1 to 1024 units, gives each the same load, and looks at what it takes when it
is idle. From what a target and a unit take it computes what 10,000 units would, and which limit of this system is reached
first.`,
		Example: "  bench scale\n  bench scale --json",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := scale.Measure(cmd.Context(), scale.Config{})
			if err != nil {
				return err
			}
			if !asJSON {
				return r.Print(cmd.OutOrStdout())
			}
			e := json.NewEncoder(cmd.OutOrStdout())
			e.SetIndent("", "  ")
			return e.Encode(r)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
