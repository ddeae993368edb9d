package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"minisrp/test/durable/flushtrace"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var cfg flushtrace.Config
	flags := flag.NewFlagSet("flushtrace", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: flushtrace [flags] -- COMMAND [ARGUMENTS]\n       flushtrace -check TRACE")
		flags.PrintDefaults()
	}
	check := flags.String("check", "", "only judge this `TRACE`")
	flags.IntVar(&cfg.Groups, "groups", 40, "of writes with a flush behind them")
	flags.Uint64Var(&cfg.Seed, "seed", rand.Uint64(), "of places, lengths and data")
	flags.StringVar(&cfg.URI, "uri", "", "of the export; without it the server prints one")
	flags.StringVar(&cfg.Trace, "o", "", "keep the trace in this `FILE`")
	verbose := flags.Bool("v", false, "show what the server prints")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	cfg.Argv = flags.Args()
	if (len(cfg.Argv) == 0) == (*check == "") || cfg.Groups < 1 {
		flags.Usage()
		return 2
	}
	if *verbose {
		cfg.Output = stderr
	}
	report, err := judge(ctx, *check, cfg)
	if err != nil {
		fmt.Fprintln(stderr, "flushtrace:", err)
		return 2
	}
	report.Print(stdout)
	if !report.OK() {
		return 1
	}
	return 0
}

// judge records a trace, unless there is one already, and checks it.
func judge(ctx context.Context, trace string, cfg flushtrace.Config) (*flushtrace.Report, error) {
	if trace == "" {
		if cfg.Trace == "" {
			dir, err := os.MkdirTemp("", "flushtrace")
			if err != nil {
				return nil, err
			}
			defer os.RemoveAll(dir)
			cfg.Trace = filepath.Join(dir, "trace")
		}
		if err := flushtrace.Record(ctx, cfg); err != nil {
			return nil, err
		}
		trace = cfg.Trace
	}
	f, err := os.Open(trace)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	calls, err := flushtrace.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", trace, err)
	}
	return flushtrace.Check(calls)
}
