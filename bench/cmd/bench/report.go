package main

import (
	"bytes"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"minisrp/bench/report"
	"minisrp/bench/result"
	"minisrp/cmd/cli"
	"minisrp/cmd/exitcode"
)

func reportCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "report RESULT.json",
		Short:   "make the page of a result again, and print its tables",
		Long:    "report makes report.html of what run has written, beside it unless --out says where, and prints the tables.",
		Example: "  bench report build/results/result.json",
		Args:    cli.Arguments(1, 1, "RESULT.json"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := read(args[0])
			if err != nil {
				return err
			}
			if out == "" {
				out = strings.TrimSuffix(args[0], ".json") + ".html"
			}
			if err := writePage(out, r); err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), r)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`file` to write (default: RESULT.html)")
	return cli.Exits(cmd, exitcode.NotFound)
}

// read reads a result for a command.
func read(path string) (*result.Result, error) {
	r, err := result.Read(path)
	if os.IsNotExist(err) {
		return nil, exitcode.With(exitcode.NotFound, err, "bench run writes one")
	}
	return r, err
}

// writePage writes the page of a result.
func writePage(path string, r *result.Result) error {
	var b bytes.Buffer
	if err := report.HTML(&b, r); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
