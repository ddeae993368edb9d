package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/paths"
	"minisrp/cmd/srpd/config"
	"minisrp/cmd/srpd/daemon"
	"minisrp/cmd/srpd/embedded"
)

// complete puts the configuration together: the files, what options replace of it, and what both left open.
func (o *runOptions) complete(cmd *cobra.Command) error {
	s, err := config.Load(cmd.Context(), o.file)
	if err != nil {
		return err
	}
	o.cfg = s.Daemon
	c := &o.cfg
	changed := cmd.Flags().Changed
	o.nbd.complete(&o.given.NBD)
	replace(c, &o.given, changed)
	if !changed("log-level") {
		o.logLevel = s.LogLevel
	}
	if !changed("log-format") {
		o.logFormat = s.LogFormat
	}
	c.Program = cli.Version("srpd")
	if c.Log, err = logger(cmd.ErrOrStderr(), o.logLevel, o.logFormat); err != nil {
		return err
	}
	if len(s.Files) > 0 {
		c.Log.Info("configuration read", "files", s.Files)
	}
	for _, option := range []string{"store", "size", "luns", "embedded-fault"} {
		if changed(option) && !o.embedded && (option != "embedded-fault" || len(c.Embedded) == 0) {
			return exitcode.Errorf(exitcode.Usage, "--%s is for the embedded target, and --embedded is not given", option)
		}
	}
	if o.embedded {
		if o.luns < 1 || o.luns > daemon.MaxUnits {
			return exitcode.Errorf(exitcode.Usage, "--luns is %d, want 1 to %d", o.luns, daemon.MaxUnits)
		}
		e := daemon.Embedded{Name: daemon.DefaultName, Required: true}
		for range o.luns {
			e.Units = append(e.Units, daemon.Unit{Store: embedded.Kind(o.store), Size: uint64(o.size)})
		}
		c.Embedded = []daemon.Embedded{e}
	}
	if changed("embedded-fault") {
		c.Embedded[0].Faults = o.faults
	}
	if changed("target") {
		c.Targets = nil
		for _, t := range o.targets {
			c.Targets = append(c.Targets, daemon.Target{Login: t, Required: true})
		}
	}
	return locate(c)
}

// replace puts what options gave in the place of what files say.
func replace(c, given *daemon.Config, changed func(string) bool) {
	for option, put := range map[string]func(){
		"lun":           func() { c.LUNs = given.LUNs },
		"channels":      func() { c.Channels = given.Channels },
		"queue-size":    func() { c.QueueSize = given.QueueSize },
		"protect":       func() { c.Protect = given.Protect },
		"dpc-budget":    func() { c.Budget = given.Budget },
		"state-dir":     func() { c.StateDir = given.StateDir },
		"socket":        func() { c.Socket = given.Socket },
		"tcp":           func() { c.TCP = given.TCP },
		"control":       func() { c.Control = given.Control },
		"control-group": func() { c.Group = given.Group },
		"metrics":       func() { c.Metrics = given.Metrics },
		"capture":       func() { c.Capture = given.Capture },
		"capture-size":  func() { c.CaptureSize = given.CaptureSize },
		"read-only":     func() { c.ReadOnly = given.ReadOnly },
	} {
		if changed(option) {
			put()
		}
	}
	replaceNBD(&c.NBD, &given.NBD, changed)
}

// logger makes the daemon's log.
func logger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, exitcode.Errorf(exitcode.Usage, "--log-level is %q, want debug, info, warn or error", level)
	}
	h := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, h)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, h)), nil
	}
	return nil, exitcode.Errorf(exitcode.Usage, "--log-format is %q, want text or json", format)
}

// locate finds the state directory and the sockets, where nobody named them.
func locate(c *daemon.Config) error {
	env := paths.Env{Get: os.Getenv, UID: os.Getuid()}
	named := c.StateDir != ""
	if !named {
		c.StateDir = env.State()
	}
	if c.StateDir == "" {
		return exitcode.Errorf(exitcode.Usage, "--state-dir is not given, and neither $STATE_DIRECTORY, $XDG_STATE_HOME nor $HOME is set")
	}
	runtimeDir := env.Runtime(c.StateDir, named)
	for _, p := range []struct {
		path *string
		name string
	}{{&c.Socket, paths.NBDSocket}, {&c.Control, paths.ControlSocket}} {
		if *p.path == "" {
			*p.path = filepath.Join(runtimeDir, p.name)
		}
	}
	for _, p := range []*string{&c.StateDir, &c.Socket, &c.Control, &c.Capture} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return err
		}
		*p = abs
	}
	return nil
}
