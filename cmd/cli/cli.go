package cli

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"minisrp/cmd/exitcode"
)

// Program makes the root command of a program: it says what the program is for, and its commands do the work.
func Program(name, short, long string, out, errs io.Writer, commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:               name,
		Short:             short,
		Long:              long,
		Example:           "  " + name + " --help",
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              NoArguments,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(out)
	root.SetErr(errs)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, err) })
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { help(cmd) })
	root.AddCommand(commands...)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			describeCompletion(name, c)
		}
	}
	return root
}

// NoArguments refuses words that are no options.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage(cmd, fmt.Errorf("%s: unexpected argument %q", cmd.CommandPath(), args[0]))
}

// Arguments takes between least and most words, which are what what says.
func Arguments(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(cmd, fmt.Errorf("%s: %s is missing", cmd.CommandPath(), what))
		case len(args) > most:
			return usage(cmd, fmt.Errorf("%s: unexpected argument %q", cmd.CommandPath(), args[most]))
		}
		return nil
	}
}

// usage gives an error of the command line its code, and says where to read on.
func usage(cmd *cobra.Command, err error) error {
	return exitcode.With(exitcode.Usage, err, "see: "+cmd.CommandPath()+" --help")
}

// VersionCommand makes the command that prints the version.
func VersionCommand(name string) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "print the version",
		Long:    "version prints the version of the program, of its source and of Go.",
		Example: "  " + name + " version",
		Args:    NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), Version(name))
			return err
		},
	}
}

// Version names a program and its build.
func Version(name string) string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return name + ", of an unknown build"
	}
	s := name + " " + b.Main.Version
	for _, set := range b.Settings {
		if set.Key == "vcs.revision" {
			s += " " + set.Value
		}
	}
	return s + " " + b.GoVersion
}

// exits is the annotation of a command that holds its exit codes.
const exits = "exit codes"

// Exits says which exit codes a command has beside OK, Failure and Usage, which all have.
func Exits(cmd *cobra.Command, codes ...exitcode.Code) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	b := make([]byte, 0, len(codes)+3)
	for _, c := range append([]exitcode.Code{exitcode.OK, exitcode.Failure, exitcode.Usage}, codes...) {
		b = append(b, byte(c))
	}
	slices.Sort(b)
	cmd.Annotations[exits] = string(slices.Compact(b))
	return cmd
}

// ExitsOf returns the exit codes of a command in their order: those that Exits gave it; of one with commands, all.
func ExitsOf(cmd *cobra.Command) []exitcode.Code {
	if !cmd.HasParent() {
		return exitcode.All()
	}
	s, ok := cmd.Annotations[exits]
	if !ok {
		return []exitcode.Code{exitcode.OK, exitcode.Failure, exitcode.Usage}
	}
	codes := make([]exitcode.Code, 0, len(s))
	for _, c := range []byte(s) {
		codes = append(codes, exitcode.Code(c))
	}
	return codes
}
