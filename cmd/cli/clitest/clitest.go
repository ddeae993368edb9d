package clitest

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"minisrp/cmd/cli"
	"minisrp/cmd/exitcode"
)

// Update asks for the files to be written anew.
var Update = flag.Bool("update", false, "write the golden files anew")

// Golden compares what came out with a file, and says whether it is the same.
func Golden(t *testing.T, path, got string) bool {
	t.Helper()
	if *Update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%v; go test -update writes it", err)
		return false
	}
	if got != string(want) {
		t.Errorf("%s has\n%s\nand there came\n%s", path, want, got)
		return false
	}
	return true
}

// Program checks a program: that every command and option is described, that the help of every command is what
// testdata/help.txt has, and that the manual pages in man are those of the commands. make gives a new root each time:
// cobra keeps what was parsed.
func Program(t *testing.T, root func() *cobra.Command) {
	Help(t, root)
	pages(t, root)
}

// Help checks what Program checks, but for manual pages: of a program that is not installed.
func Help(t *testing.T, root func() *cobra.Command) {
	t.Run("described", func(t *testing.T) { walk(root(), func(c *cobra.Command) { described(t, c) }) })
	t.Run("help", func(t *testing.T) {
		var all strings.Builder
		walk(root(), func(c *cobra.Command) {
			args := append(strings.Fields(c.CommandPath())[1:], "--help")
			all.WriteString("$ " + c.CommandPath() + " --help\n" + run(t, root(), args) + "\n")
		})
		Golden(t, filepath.Join("testdata", "help.txt"), all.String())
	})
}

func pages(t *testing.T, root func() *cobra.Command) {
	t.Run("man", func(t *testing.T) {
		made := map[string]bool{}
		walk(root(), func(c *cobra.Command) {
			if !hasPage(c) {
				return
			}
			name := pageName(c) + "." + section
			made[name] = true
			Golden(t, filepath.Join("man", name), Page(c))
		})
		there, err := os.ReadDir("man")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range there {
			if path := filepath.Join("man", e.Name()); !made[e.Name()] {
				t.Errorf("%s is of no command; go test -update removes it", path)
				if *Update {
					_ = os.Remove(path)
				}
			}
		}
	})
}

// run returns what a command prints.
func run(t *testing.T, root *cobra.Command, args []string) string {
	t.Helper()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		t.Errorf("%v: %v", args, err)
	}
	return out.String()
}

// walk calls fn with a command and all below it that users see.
func walk(c *cobra.Command, fn func(*cobra.Command)) {
	c.InitDefaultHelpFlag()
	fn(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			walk(sub, fn)
		}
	}
}

// described checks that nothing of a command is left unsaid.
func described(t *testing.T, c *cobra.Command) {
	for what, text := range map[string]string{"short text": c.Short, "description": c.Long, "example": c.Example} {
		if strings.TrimSpace(text) == "" {
			t.Errorf("%s has no %s", c.CommandPath(), what)
		}
	}
	if strings.HasSuffix(c.Short, ".") || len(c.Short) > 80 {
		t.Errorf("%s: the short text %q is no line of a list", c.CommandPath(), c.Short)
	}
	if c.Example != "" && !strings.Contains(c.Example, c.Root().Name()) {
		t.Errorf("%s: the example does not call it", c.CommandPath())
	}
	if c.HasParent() && len(cli.ExitsOf(c)) == len(exitcode.All()) {
		t.Errorf("%s has every exit code that there is", c.CommandPath())
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, usage := pflag.UnquoteUsage(f); usage == "" {
			t.Errorf("%s: --%s has no description", c.CommandPath(), f.Name)
		}
	})
}
