package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"minisrp/cmd/cli"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srptgt/setup"
	"minisrp/cmd/srptgt/trial"
	"minisrp/scsi/lun"
	"minisrp/srp/target"
	"minisrp/srp/target/fault"
)

// checkOptions are the options of check as they are written.
type checkOptions struct {
	cfg                       setup.Config
	units, luns, groups, asOf []string
	channels                  int
	patience                  time.Duration
	json                      bool
}

func checkCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check",
		Short: "check a target's units, groups and faults, and log in to it",
		Long: `check looks at what a target would be made of, makes it in its own process, logs in to it as each --as, and reads the
first and the last block of every unit that is seen. It writes nothing: files are write protected meanwhile, and an
empty unit stands in for a file that is not there yet and for memory.

  --unit   NAME=file:PATH[,size=SIZE][,block=BYTES][,serial=TEXT]; ram or null in place of file:PATH, with a size
  --lun    N=NAME shows a unit to all who are in no group, GROUP/N=NAME to a group (default: all units to everybody)
  --group  NAME=WHO,… with WHO a port identifier, a GUID, an IP address or prefix, or *
  --fault  what the target does wrong on purpose, as in delay=50ms,op=read,every=10
  --as     ID@ADDRESS of an initiator, of which either may be left out

What --fault can say:

` + fault.Usage,
		Example: `  srptgt check --unit d0=file:/srv/d0.img --unit d1=ram,size=64M
  srptgt check --unit d0=file:/srv/d0.img,size=8G --group lab=192.0.2.0/24 --lun lab/0=d0 --closed --as @192.0.2.7 --as @198.51.100.1
  srptgt check --unit d0=null,size=1G --fault 'delay=50ms,op=read' --fault reject=0x00010003,from=198.51.100.2 --as @198.51.100.1 --as @198.51.100.2`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	c := &o.cfg
	f.StringArrayVar(&o.units, "unit", nil, "`unit` to make; may be repeated")
	f.StringArrayVar(&o.luns, "lun", nil, "`LUN` that shows a unit; may be repeated")
	f.StringArrayVar(&o.groups, "group", nil, "`group` of initiators; may be repeated")
	f.BoolVar(&c.Closed, "closed", false, "refuse initiators that are in no group")
	f.BoolVar(&c.StrictChannels, "strict-channels", false, "refuse logins for more channels before there is a first")
	f.BoolVar(&c.LikeLinux, "like-linux", false, "give the reject reasons that Linux's target gives")
	f.IntVar(&c.Credits, "credits", 0, fmt.Sprintf("request limit of a channel, 1 to %d (default %d)", target.MaxCredits, target.DefaultCredits))
	f.IntVar(&c.MaxIU, "max-iu", 0, fmt.Sprintf("longest information unit that is taken, bytes, %d or more (default %d)", target.MinIU, target.DefaultMaxIU))
	f.IntVar(&c.ChannelsPerInitiator, "channels-per-initiator", 0, fmt.Sprintf("channels that an initiator may have (default %d)", target.DefaultChannelsPerNexus))
	f.StringArrayVar(&c.Faults, "fault", nil, "`fault` of the target; may be repeated")
	f.StringArrayVar(&o.asOf, "as", nil, "`initiator` that logs in; may be repeated (default: one)")
	f.IntVar(&o.channels, "channels", 1, "channels that each initiator asks for, 1 to 16")
	f.DurationVar(&o.patience, "login-timeout", 10*time.Second, "how long a login may take")
	f.BoolVar(&o.json, "json", false, "print the report as JSON, with a format number")
	return cli.Exits(cmd, exitcode.NotFound, exitcode.Rejected, exitcode.InUse, exitcode.Unreachable, exitcode.Unusable, exitcode.Denied)
}

// maxChannels bounds the channels of an initiator of a trial, each with a processor.
const maxChannels = 16

func (o *checkOptions) run(cmd *cobra.Command) error {
	as, err := o.parse()
	if err != nil {
		return exitcode.With(exitcode.Usage, err, "see: "+cmd.CommandPath()+" --help")
	}
	o.cfg.Log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	t, err := setup.Start(ctx, o.cfg)
	if err != nil {
		return explain(err)
	}
	r, err := trial.Run(ctx, t, trial.Config{As: as, Channels: o.channels, Login: o.patience})
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err = errors.Join(err, t.Close(over)); err != nil {
		return err
	}
	if o.json {
		e := json.NewEncoder(cmd.OutOrStdout())
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = print(cmd.OutOrStdout(), r, t.Notes, o.cfg.Unseen())
	}
	return errors.Join(err, verdict(r))
}

// parse reads the options, and returns all that is wrong with them.
func (o *checkOptions) parse() (as []trial.As, err error) {
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	for _, s := range o.units {
		u, err := setup.ParseUnit(s)
		note(err)
		o.cfg.Units = append(o.cfg.Units, u)
	}
	for _, s := range o.luns {
		l, err := setup.ParseLUN(s)
		note(err)
		o.cfg.LUNs = append(o.cfg.LUNs, l)
	}
	for _, s := range o.groups {
		g, err := setup.ParseGroup(s)
		note(err)
		o.cfg.Groups = append(o.cfg.Groups, g)
	}
	if len(o.asOf) == 0 {
		o.asOf = []string{"@"}
	}
	for i, s := range o.asOf {
		a, err := trial.ParseAs(s, i)
		if err != nil {
			note(&setup.Problem{Option: "--as", Value: s, Text: err.Error()})
		}
		for _, b := range as {
			switch {
			case a.Addr == b.Addr:
				note(&setup.Problem{Option: "--as", Value: s, Text: "another initiator has this address"})
			case a.ID == b.ID:
				note(&setup.Problem{Option: "--as", Value: s, Text: "another initiator has this identifier: its login would end that one's session"})
			}
		}
		if a.Addr == setup.Address.Addr() {
			note(&setup.Problem{Option: "--as", Value: s, Text: "this is the target's address"})
		}
		as = append(as, a)
	}
	if o.channels < 1 || o.channels > maxChannels {
		note(&setup.Problem{Option: "--channels", Value: fmt.Sprint(o.channels), Text: fmt.Sprintf("want 1 to %d", maxChannels)})
	}
	if o.patience <= 0 {
		note(&setup.Problem{Option: "--login-timeout", Value: o.patience.String(), Text: "want more than 0"})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return as, o.cfg.Check()
}

// explain gives an error of the setup its exit code.
func explain(err error) error {
	for _, e := range []struct {
		is     error
		code   exitcode.Code
		advice string
	}{
		{target.ErrConfig, exitcode.Usage, ""},
		{lun.ErrInUse, exitcode.InUse, "end the program that has it: srpd, perhaps"},
		{fs.ErrNotExist, exitcode.NotFound, "with size= it is taken as one that is to be made"},
		{fs.ErrPermission, exitcode.Denied, ""},
		{lun.ErrGeometry, exitcode.Usage, ""},
		{lun.ErrNotFile, exitcode.Usage, ""},
		{lun.ErrConfig, exitcode.Usage, ""},
	} {
		if errors.Is(err, e.is) {
			return exitcode.With(e.code, err, e.advice)
		}
	}
	return err
}

// verdict is the error of a trial that did not go well.
func verdict(r *trial.Report) error {
	var ids []string
	for _, x := range r.Initiators {
		if x.Error != "" {
			ids = append(ids, x.ID)
		}
	}
	who := strings.Join(ids, ", ")
	switch r.Outcome() {
	case trial.Refused:
		return exitcode.Errorf(exitcode.Rejected, "the target refuses %s", who)
	case trial.Unreachable:
		return exitcode.Errorf(exitcode.Unreachable, "no session for %s", who)
	case trial.Unusable:
		return exitcode.Errorf(exitcode.Unusable, "not every initiator has units that it can use")
	}
	return nil
}
