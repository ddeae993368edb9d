package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/paths"
)

func main() {
	err := command(os.Stdout, os.Stderr, paths.Env{Get: os.Getenv, UID: os.Getuid()}).Execute()
	if err != nil {
		exitcode.Print(os.Stderr, "srpctl", err)
	}
	os.Exit(int(exitcode.Of(err)))
}

// options are those of every command.
type options struct {
	env      paths.Env
	socket   string
	stateDir string
	json     bool
}

// client makes a client of the daemon that is meant.
func (o *options) client() (*control.Client, error) {
	if o.socket != "" {
		return control.NewClient(o.socket), nil
	}
	state, named := o.stateDir, o.stateDir != ""
	if !named {
		state = o.env.State()
	}
	dir := o.env.Runtime(state, named)
	if dir == "" {
		return nil, exitcode.Errorf(exitcode.Usage, "which daemon is meant? Give --socket or --state-dir, as it was given")
	}
	return control.NewClient(filepath.Join(dir, paths.ControlSocket)), nil
}

// command is the whole program.
func command(out, errs io.Writer, env paths.Env) *cobra.Command {
	o := &options{env: env}
	root := &cobra.Command{
		Use:           "srpctl",
		Short:         "ask a running srpd what it does",
		Long:          "srpctl asks a running srpd what it does.\n\nExit codes:\n" + exitcode.Table(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(out)
	root.SetErr(errs)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exitcode.With(exitcode.Usage, err, "see: "+cmd.CommandPath()+" --help")
	})
	f := root.PersistentFlags()
	f.StringVar(&o.socket, "socket", "", "control socket (default: control.sock where srpd has it by default)")
	f.StringVar(&o.stateDir, "state-dir", "", "state directory that the daemon was started with")
	f.BoolVar(&o.json, "json", false, "print what the daemon says as it is")
	root.AddCommand(
		&cobra.Command{
			Use: "targets [NAME…]", Short: "list target ports, their sessions and channels",
			RunE: func(cmd *cobra.Command, names []string) error { return o.targets(cmd, names) },
		},
		&cobra.Command{
			Use: "units [NAME…]", Short: "list disks, all or by name or identity",
			RunE: func(cmd *cobra.Command, names []string) error { return o.units(cmd, names) },
		},
		&cobra.Command{
			Use: "counters", Short: "print what has been counted, by layer", Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return o.counters(cmd) },
		},
		&cobra.Command{
			Use: "version", Short: "print this program's version, and the daemon's", Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return o.version(cmd) },
		},
	)
	return root
}

// noArguments refuses words that are no options.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return exitcode.With(exitcode.Usage, fmt.Errorf("%s: unexpected argument %q", cmd.CommandPath(), args[0]), "see: "+cmd.CommandPath()+" --help")
}

// ask gets something from the daemon and prints it: as it is, or as a table.
func ask[T any](cmd *cobra.Command, o *options, get func(*control.Client, context.Context) (*T, error), pick func(*T) error, table func(io.Writer, *T)) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	v, err := get(c, cmd.Context())
	if err != nil {
		return err
	}
	if pick != nil {
		if err := pick(v); err != nil {
			return err
		}
	}
	w := &sticky{w: cmd.OutOrStdout()}
	if o.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return errors.Join(e.Encode(v), w.err)
	}
	table(w, v)
	return w.err
}

// sticky keeps the first error of a writer.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(b)
	s.err = err
	return n, err
}

func (o *options) targets(cmd *cobra.Command, names []string) error {
	return ask(cmd, o, (*control.Client).Targets, func(v *control.Targets) (err error) {
		v.Targets, err = choose(v.Targets, "target", names, func(t control.Target) []string { return []string{t.Name, t.Address, t.TargetID} })
		return err
	}, printTargets)
}

func (o *options) units(cmd *cobra.Command, names []string) error {
	return ask(cmd, o, (*control.Client).Units, func(v *control.Units) (err error) {
		v.Units, err = choose(v.Units, "unit", names, func(u control.Unit) []string { return []string{u.Name, u.Identity} })
		return err
	}, printUnits)
}

func (o *options) counters(cmd *cobra.Command) error {
	return ask(cmd, o, (*control.Client).Counters, nil, printCounters)
}

// version prints this program's version in any case.
func (o *options) version(cmd *cobra.Command) error {
	if !o.json {
		fmt.Fprintln(cmd.OutOrStdout(), program())
	}
	return ask(cmd, o, (*control.Client).Daemon, nil, printDaemon)
}

// choose returns those of all that have one of the names, in the order of the names; all if there is none.
func choose[T any](all []T, kind string, names []string, of func(T) []string) ([]T, error) {
	if len(names) == 0 {
		return all, nil
	}
	some := []T{}
	for _, name := range names {
		i := slices.IndexFunc(all, func(x T) bool { return slices.Contains(of(x), name) })
		if i < 0 {
			var there []string
			for _, x := range all {
				there = append(there, of(x)[0])
			}
			return nil, exitcode.With(exitcode.NotFound, fmt.Errorf("there is no %s %q", kind, name), fmt.Sprintf("there are: %v", there))
		}
		some = append(some, all[i])
	}
	return some, nil
}

// program names the program and its build.
func program() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "srpctl, of an unknown build"
	}
	return "srpctl " + b.Main.Version + " " + b.GoVersion
}
