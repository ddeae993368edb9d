package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/paths"
)

// options are those of every command.
type options struct {
	env      paths.Env
	socket   string
	stateDir string
	json     bool
	quiet    bool
	timeout  time.Duration
}

// client makes a client of the daemon that is meant.
func (o *options) client() (*control.Client, error) {
	if o.timeout < 0 {
		return nil, exitcode.Errorf(exitcode.Usage, "--timeout is %v, want more than 0, as in 30s", o.timeout)
	}
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

// The time that is given to daemons that --timeout does not speak of.
const (
	askTime    = 20 * time.Second
	changeTime = 10 * time.Minute
)

// within calls fn with a client, and a context that ends after --timeout, or else after most.
func within[T any](cmd *cobra.Command, o *options, most time.Duration, fn func(context.Context, *control.Client) (*T, error)) (*T, error) {
	c, err := o.client()
	if err != nil {
		return nil, err
	}
	if o.timeout > 0 {
		most = o.timeout
	}
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, most)
	defer cancel()
	v, err := fn(ctx, c)
	if err != nil && ctx.Err() != nil && exitcode.Of(err) == exitcode.Failure {
		return nil, exitcode.With(exitcode.NoDaemon, fmt.Errorf("no answer within %v (--timeout): %w", most, err),
			"the daemon is busy, stopped or stuck: its log tells more, kill -CONT wakes one that was stopped, --timeout waits longer")
	}
	return v, err
}

// get is a method of a client that asks for something.
type get[T any] func(*control.Client, context.Context) (*T, error)

// ask gets something from the daemon and prints it: as it is, or as a table.
func ask[T any](cmd *cobra.Command, o *options, fn get[T], pick func(*T) error, table func(io.Writer, *T)) error {
	v, err := within(cmd, o, askTime, func(ctx context.Context, c *control.Client) (*T, error) { return fn(c, ctx) })
	if err != nil {
		return err
	}
	if pick != nil {
		if err := pick(v); err != nil {
			return err
		}
	}
	return show(cmd, o, v, table)
}

// show prints what the daemon said.
func show[T any](cmd *cobra.Command, o *options, v *T, table func(io.Writer, *T)) error {
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
			return nil, exitcode.With(exitcode.NotFound, fmt.Errorf("there is no %s %q", kind, name), "there are: "+or(strings.Join(there, ", ")))
		}
		some = append(some, all[i])
	}
	return some, nil
}

// chooseTargets keeps the targets that are named.
func chooseTargets(v *control.Targets, names []string) (err error) {
	v.Targets, err = choose(v.Targets, "target", names, func(t control.Target) []string { return []string{t.Name, t.Address, t.TargetID, t.String} })
	return err
}

// chooseUnits keeps the units that are named.
func chooseUnits(v *control.Units, names []string) (err error) {
	v.Units, err = choose(v.Units, "unit", names, func(u control.Unit) []string { return []string{u.Name, u.Identity} })
	return err
}

// complete makes a function that completes an argument with what the daemon knows.
func complete[T any](o *options, most int, fn get[T], names func(*T) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		v, err := within(cmd, o, 2*time.Second, func(ctx context.Context, c *control.Client) (*T, error) { return fn(c, ctx) })
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(v), cobra.ShellCompDirectiveNoFileComp
	}
}

// any number of arguments.
const many = 1 << 30

func (o *options) completeTargets(most int) cobra.CompletionFunc {
	return complete(o, most, (*control.Client).Targets, func(v *control.Targets) (names []string) {
		for _, t := range v.Targets {
			names = append(names, t.Name)
		}
		return names
	})
}

func (o *options) completeUnits(most int) cobra.CompletionFunc {
	return complete(o, most, (*control.Client).Units, func(v *control.Units) (names []string) {
		for _, u := range v.Units {
			names = append(names, firstOf(u.Name, u.Identity))
		}
		return names
	})
}
