package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"minisrp/bench/load"
	"minisrp/bench/stack"
	"minisrp/cmd/bytesize"
	"minisrp/cmd/exitcode"
	"minisrp/cmd/srpd/embedded"
	"minisrp/scsi/lun"
)

// loadOptions are those of bench load.
type loadOptions struct {
	stack stack.Config
	store string
	size  bytesize.Size
	name  string
	json  bool
	job   []jobOption
}

// jobOption is an option of a job on the command line.
type jobOption struct{ name, value string }

func loadCommand() *cobra.Command {
	o := &loadOptions{}
	cmd := &cobra.Command{
		Use:   "load [JOBFILE]...",
		Short: "make load as fio does, at units of an embedded target, and verify",
		Long: `load makes requests at units of embedded targets, through the port driver and the whole initiator, without a front end.
What it does is said by job files as fio takes them, or by options of the same names for one job. What it prints has fio's
names, with --json too. With --verify what is read is compared with what was written.`,
		Example: `  bench load --rw randread --bs 4k --iodepth 32 --runtime 5 --time_based
  bench load --store file --rw randrw --verify crc32c --bsrange 4k-64k --iodepth 16 --fsync 32
  bench load --units 4 --json jobs.fio`,
		RunE: func(cmd *cobra.Command, files []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), files)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.store, "store", string(embedded.RAM), "`kind` of the units' stores: "+kinds())
	f.Var(&o.size, "unit-size", "of each unit (default 256M in memory, 8G else)")
	f.IntVar(&o.stack.Units, "units", 1, "`number` of units of each target")
	f.IntVar(&o.stack.Targets, "targets", 1, "`number` of targets")
	f.IntVar(&o.stack.Processors, "processors", 1, "`number` of processors; jobs take turns at them")
	f.StringVar(&o.stack.Dir, "dir", "", "`directory` for stores of kind file and badger, which stay there (default: one that is removed)")
	f.StringVar(&o.name, "name", "load", "`name` of the job")
	f.BoolVar(&o.json, "json", false, "print JSON")
	for _, option := range load.Options() {
		name, help := option[0], option[1]
		v := f.VarPF(&jobValue{o: o, name: name}, name, "", help)
		if slices.Contains(load.Flags(), name) {
			v.NoOptDefVal = "1"
		}
	}
	return cmd
}

func kinds() string {
	var all []string
	for _, k := range embedded.Kinds {
		all = append(all, string(k))
	}
	return strings.Join(all, ", ")
}

// jobValue is an option of a job as a flag.
type jobValue struct {
	o    *loadOptions
	name string
}

func (v *jobValue) String() string { return "" }
func (v *jobValue) Type() string   { return "value" }
func (v *jobValue) Set(value string) error {
	v.o.job = append(v.o.job, jobOption{v.name, value})
	return nil
}

// jobs reads the files, or the options.
func (o *loadOptions) jobs(files []string) ([]load.Job, error) {
	if len(files) == 0 {
		j := load.NewJob(o.name)
		for _, option := range o.job {
			if err := j.Set(option.name, option.value); err != nil {
				return nil, err
			}
		}
		return []load.Job{j}, j.Check()
	}
	if len(o.job) > 0 {
		return nil, fmt.Errorf("--%s %s: jobs are in %s; say it there", o.job[0].name, o.job[0].value, files[0])
	}
	var all []load.Job
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		jobs, err := load.ParseFile(name, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, jobs...)
	}
	return all, nil
}

// check refuses what is out of range.
func (o *loadOptions) check() error {
	s := &o.stack
	s.Store, s.Size = embedded.Kind(o.store), uint64(o.size)
	switch {
	case !slices.Contains(embedded.Kinds, s.Store):
		return fmt.Errorf("--store %q: want one of %s", o.store, kinds())
	case o.size%4096 != 0:
		return fmt.Errorf("--unit-size %v: want a multiple of 4096", &o.size)
	case s.Units < 1 || s.Units > lun.MaxUnits:
		return fmt.Errorf("--units %d: want 1 to %d", s.Units, lun.MaxUnits)
	case s.Targets < 1 || s.Targets > stack.MaxTargets:
		return fmt.Errorf("--targets %d: want 1 to %d", s.Targets, stack.MaxTargets)
	case s.Processors < 1 || s.Processors > 64:
		return fmt.Errorf("--processors %d: want 1 to 64", s.Processors)
	}
	return nil
}

func (o *loadOptions) run(ctx context.Context, out io.Writer, files []string) (err error) {
	misused := func(err error) error { return exitcode.With(exitcode.Usage, err, "see: bench load --help") }
	if err := o.check(); err != nil {
		return misused(err)
	}
	jobs, err := o.jobs(files)
	if err != nil {
		return misused(err)
	}
	if o.stack.Dir == "" {
		if o.stack.Dir, err = os.MkdirTemp("", "minisrp-load-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.stack.Dir)) }()
	} else if o.stack.Dir, err = filepath.Abs(o.stack.Dir); err != nil {
		return err
	}
	s, err := stack.New(ctx, o.stack)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	r, err := load.Run(ctx, load.Config{Port: s.Port, Units: s.Units, Jobs: jobs})
	var wrong *load.OptionError
	if errors.As(err, &wrong) {
		return misused(err)
	}
	if r == nil {
		return err
	}
	return errors.Join(o.print(out, r), err, r.Err())
}

func (o *loadOptions) print(out io.Writer, r *load.Report) error {
	if !o.json {
		return r.Print(out)
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
