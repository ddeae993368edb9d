package main

import (
	"io"
	"testing"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli/clitest"
	"minisrp/cmd/paths"
)

// Help and manual pages say what the program does.
func TestDocumentation(t *testing.T) {
	clitest.Program(t, func() *cobra.Command {
		return command(io.Discard, io.Discard, paths.Env{Get: func(string) string { return "" }, UID: 1})
	})
}
