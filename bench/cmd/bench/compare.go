package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"minisrp/bench/report"
	"minisrp/bench/result"
	"minisrp/cmd/cli"
	"minisrp/cmd/exitcode"
)

func compareCommand() *cobra.Command {
	var failAbove float64
	cmd := &cobra.Command{
		Use:   "compare BEFORE.json AFTER.json",
		Short: "put two results side by side",
		Long: `compare prints the medians of all figures of two results, by how much they have changed, and whether that is beyond what
the rounds of both runs differ by. Only then is it worth a thought.

With --fail-above PERCENT its exit code is 1 if a figure has become worse by more than that, beyond both spreads.`,
		Example: "  bench compare build/results/previous.json build/results/result.json\n  bench compare --fail-above 10 main.json branch.json",
		Args:    cli.Arguments(2, 2, "BEFORE.json or AFTER.json"),
		RunE: func(cmd *cobra.Command, args []string) error {
			limited := cmd.Flags().Changed("fail-above")
			if limited && !(failAbove >= 0 && failAbove < 1e6) {
				return usage(cmd, "--fail-above %v: want a percentage of 0 or more", failAbove)
			}
			before, err := read(args[0])
			if err != nil {
				return err
			}
			after, err := read(args[1])
			if err != nil {
				return err
			}
			changes := result.Compare(before, after)
			if err := report.Compare(cmd.OutOrStdout(), changes); err != nil || !limited {
				return err
			}
			return worse(changes, failAbove)
		},
	}
	cmd.Flags().Float64Var(&failAbove, "fail-above", 0, "fail if a figure is worse by more than this `percentage`, beyond both spreads")
	return cli.Exits(cmd, exitcode.NotFound)
}

// worse names the figures that are worse by more than a limit.
func worse(changes []result.Change, limit float64) error {
	var names []string
	for _, c := range changes {
		if c.Apart() && c.Worse() > limit {
			names = append(names, fmt.Sprintf("%s by %.1f %%", c.Name, c.Worse()))
		}
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("worse by more than %v %%: %s", limit, strings.Join(names, ", "))
}
