package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"minisrp/cmd/control"
	"minisrp/cmd/exitcode"
)

// change has the daemon do something, tells how far it has come, and prints what became of it.
func change[A any](cmd *cobra.Command, o *options, fn func(context.Context, *control.Client, control.Progress) (*A, error), table func(io.Writer, *A)) error {
	v, err := within(cmd, o, changeTime, func(ctx context.Context, c *control.Client) (*A, error) {
		if _, err := c.Daemon(ctx); err != nil {
			return nil, err // one that hangs is found out soon, without a change that may come later
		}
		return fn(ctx, c, o.progress(cmd.ErrOrStderr()))
	})
	if err != nil {
		return err
	}
	return show(cmd, o, v, table)
}

// progress prints events on w, if that is a terminal and nobody wants quiet.
func (o *options) progress(w io.Writer) control.Progress {
	f, ok := w.(*os.File)
	if o.quiet || !ok || !isTerminal(f) {
		return nil
	}
	return func(e control.Event) { printEvent(w, e) }
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

func printEvent(w io.Writer, e control.Event) {
	what := e.Stage
	if e.Target != "" {
		what += " " + e.Target
	}
	fmt.Fprintf(w, "%s: %s\n", what, e.Text)
}

// printChange says what was done, and what that did to disks.
func printChange(w io.Writer, v *control.Change) {
	text := v.Text
	if v.DryRun {
		text = "would do: " + text
	}
	fmt.Fprintln(w, text)
	if len(v.Came)+len(v.Went) > 0 {
		t := newTable(w, "  ", "NAME", "PATH", "IDENTITY")
		for _, x := range []struct {
			mark  string
			paths []control.UnitPath
		}{{"  +", v.Came}, {"  -", v.Went}} {
			for _, p := range x.paths {
				t.row(x.mark, or(p.Name), p.Target+"/"+p.LUN, p.Identity)
			}
		}
		t.end()
	}
	for _, s := range v.Failed {
		fmt.Fprintf(w, "  failed: %s\n", strings.ReplaceAll(s, "\n", "\n    "))
	}
}

// done changes targets. What could not be done, of something that was, makes an error.
func (o *options) done(cmd *cobra.Command, fn func(context.Context, *control.Client, control.Progress) (*control.Change, error)) error {
	var failed []string
	err := change(cmd, o, func(ctx context.Context, c *control.Client, p control.Progress) (*control.Change, error) {
		v, err := fn(ctx, c, p)
		if err == nil {
			failed = v.Failed
			for _, n := range v.Missing {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s has no LUN %d; it is served when it comes\n", strings.Join(v.Targets, ", "), n)
			}
		}
		return v, err
	}, printChange)
	if err == nil && len(failed) > 0 {
		err = exitcode.Errorf(exitcode.Failure, "part of it could not be done: %s", strings.Join(failed, "; "))
	}
	return err
}

// would prints what would be done, in the form of a Change: of what is decided here, and not asked of the daemon.
func (o *options) would(cmd *cobra.Command, format string, args ...any) error {
	v := &control.Change{
		Version: control.Version, Changed: true, DryRun: true, Text: fmt.Sprintf("would "+format, args...),
		Targets: []string{}, Came: []control.UnitPath{}, Went: []control.UnitPath{}, Failed: []string{},
	}
	return show(cmd, o, v, func(w io.Writer, v *control.Change) { fmt.Fprintln(w, v.Text) })
}

// dryRun and idempotent declare the flags of changes.
func dryRun(cmd *cobra.Command, v *bool) {
	cmd.Flags().BoolVar(v, "dry-run", false, "say what would be done, and do nothing")
}

func idempotent(cmd *cobra.Command, v *bool) {
	cmd.Flags().BoolVar(v, "idempotent", false, "that all is already as it is asked for is no error")
}

func force(cmd *cobra.Command, v *bool, what string) { cmd.Flags().BoolVar(v, "force", false, what) }
