package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minisrp/bench/host"
	"minisrp/bench/peer"
	"minisrp/bench/report"
	"minisrp/bench/result"
	"minisrp/bench/rounds"
	"minisrp/bench/suite"
	"minisrp/cmd/bytesize"
	"minisrp/cmd/cli"
	"minisrp/cmd/exitcode"
)

// runOptions are those of bench run.
type runOptions struct {
	cases   string
	rounds  int
	seconds float64
	size    bytesize.Size
	out     string
	srpd    string
	quick   bool
	layers  bool
	scale   bool
	profile bool
}

func runCommand() *cobra.Command {
	o := &runOptions{size: bytesize.Size(fitting(host.Available()))}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "measure, print the table, write result.json and report.html",
		Long: `run measures every case in rounds: in a round all contestants of a case have their turn, and who is first changes. Then
it prints the table of figures, and what they were made of, and writes result.json and report.html. A figure that could
not be measured is in the table with the reason.

What is there of other programs is measured beside: nbdkit, qemu-storage-daemon, tgt; fio makes the load.`,
		Example: "  bench run\n  bench run --cases nbd-read --rounds 9\n  bench run --quick --out /tmp/bench",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := cmd.Flags().Changed
			if o.quick {
				o.quicken(given)
			}
			if (o.quick || o.cases != "") && !given("layers") {
				o.layers = false
			}
			if (o.quick || o.cases != "") && !given("scale") {
				o.scale = false
			}
			return o.run(cmd)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.cases, "cases", "", "measure only figures whose names this `regexp` matches")
	f.IntVar(&o.rounds, "rounds", 5, "`number` of rounds")
	f.Float64Var(&o.seconds, "seconds", 1, "of each measurement of a client and a server")
	f.Var(&o.size, "size", "of a disk (default: 1G, or less where memory is short)")
	f.StringVar(&o.out, "out", "build/results", "`directory` of result.json and report.html")
	f.StringVar(&o.srpd, "srpd", "", "`path` of srpd (default: beside this program)")
	f.BoolVar(&o.quick, "quick", false, "3 rounds of 0.4 seconds, to see roughly where things stand")
	f.Lookup("size").DefValue = "" // it depends on the machine
	f.BoolVar(&o.layers, "layers", true, "run the benchmarks of packages too, by go test (default with neither --cases nor --quick)")
	f.BoolVar(&o.scale, "scale", true, "measure too what targets and units cost, as bench scale does (default with neither --cases nor --quick)")
	f.BoolVar(&o.profile, "cpuprofile", false, "look at where the time goes in what missed its figure")
	return cmd
}

// fitting returns a size of disks, with which all contestants together leave some of the memory.
func fitting(available uint64) uint64 {
	const contestants = 12 // disks in memory, and what servers need beside
	size := uint64(1 << 30)
	for size > 64<<20 && size*contestants > available {
		size /= 2
	}
	return size
}

// quicken sets what was not given.
func (o *runOptions) quicken(given func(string) bool) {
	if !given("rounds") {
		o.rounds = 3
	}
	if !given("seconds") {
		o.seconds = 0.4
	}
}

// check refuses what is out of range, and completes the options.
func (o *runOptions) check(cmd *cobra.Command) (suite.Config, error) {
	var c suite.Config
	switch {
	case o.rounds < 1 || o.rounds > 1000:
		return c, usage(cmd, "--rounds %d: want 1 to 1000", o.rounds)
	case !(o.seconds >= 0.1 && o.seconds <= 600):
		return c, usage(cmd, "--seconds %v: want 0.1 to 600", o.seconds)
	case o.size < 64<<20 || o.size%(1<<20) != 0:
		return c, usage(cmd, "--size %v: want a number of MiB, 64M or more", &o.size)
	}
	c.Size = uint64(o.size)
	c.Duration = time.Duration(o.seconds * float64(time.Second))
	if o.cases != "" {
		var err error
		if c.Cases, err = regexp.Compile(o.cases); err != nil {
			return c, usage(cmd, "--cases %q: want a regular expression: %v", o.cases, err)
		}
	}
	return c, nil
}

// usage makes the error of an option.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return exitcode.With(exitcode.Usage, fmt.Errorf(format, args...), "see: "+cmd.CommandPath()+" --help")
}

func (o *runOptions) run(cmd *cobra.Command) (err error) {
	ctx, out, progress := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	cfg, err := o.check(cmd)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if o.srpd == "" {
		o.srpd = filepath.Join(filepath.Dir(self), "srpd")
	}
	if err := peer.Have(o.srpd); err != nil {
		return usage(cmd, "--srpd %s: want the program: %w", o.srpd, err)
	}
	if cfg.Pool, err = peer.NewPool(o.srpd, self, uint64(o.size)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cfg.Pool.Close()) }()
	cfg.Dir = cfg.Pool.Dir()
	s, err := suite.New(cfg)
	if err != nil {
		return usage(cmd, "%w", err)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	r := &result.Result{
		Version: result.Version, Started: time.Now().UTC().Truncate(time.Second),
		Settings: result.Settings{Cases: o.cases, Rounds: o.rounds, Seconds: o.seconds, Size: uint64(o.size)},
		Build:    host.Build(), Machine: host.Machine(), Tools: peer.Tools(ctx), Contestants: s.Contestants(),
	}
	err = o.measure(ctx, s, cfg.Pool, r, progress)
	if err == nil && o.profile {
		addProfiles(ctx, s, r, progress)
	}
	if err == nil && o.layers {
		addLayers(ctx, r, progress)
	}
	r.Figures, r.Curves = s.Figures(r.Groups), s.Curves(r.Groups)
	if err == nil && o.scale {
		addScale(ctx, r, progress)
	}
	r.Seconds = time.Since(r.Started).Round(time.Second).Seconds()
	r.Complete = err == nil
	err = errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	return errors.Join(err, o.save(r), show(out, r))
}

// measure has all groups measured, and keeps what there is in r.
func (o *runOptions) measure(ctx context.Context, s *suite.Suite, pool *peer.Pool, r *result.Result, progress io.Writer) error {
	runner := rounds.Runner{
		Rounds: o.rounds, Busy: host.Busy, Now: time.Now,
		Own: func() time.Duration { return host.Own() + pool.CPU() },
		Round: func(n int, g result.Group) error {
			fmt.Fprintf(progress, "%d/%d %s: %s\n", n+1, o.rounds, g.Name, told(g.Rounds[len(g.Rounds)-1]))
			return nil
		},
	}
	var err error
	r.Groups, err = runner.Run(ctx, s.Groups())
	return err
}

// told says in a line what a round has brought.
func told(r result.Round) string {
	var words []string
	others := 0.0
	for _, name := range r.Order {
		s, ok := r.Samples[name]
		if !ok {
			words = append(words, name+" failed")
			continue
		}
		words = append(words, fmt.Sprintf("%s %.1fk", name, s.IOPS/1e3))
		others = max(others, s.Foreign)
	}
	return fmt.Sprintf("%s (others used up to %.1f processors)", strings.Join(words, ", "), others)
}

// save writes the files. The result of the run before stays, to be compared with.
func (o *runOptions) save(r *result.Result) error {
	if err := os.Rename(filepath.Join(o.out, "result.json"), filepath.Join(o.out, "previous.json")); err != nil && !os.IsNotExist(err) {
		return err
	}
	return errors.Join(result.Write(filepath.Join(o.out, "result.json"), r), writePage(filepath.Join(o.out, "report.html"), r))
}

func show(out io.Writer, r *result.Result) error {
	return errors.Join(report.Samples(out, r), report.Table(out, r))
}
