package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"minisrp/test/durable"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg := durable.Config{Log: stdout}
	flags := flag.NewFlagSet("durable", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: durable [flags] -- COMMAND [ARGUMENTS]")
		flags.PrintDefaults()
	}
	flags.IntVar(&cfg.Rounds, "rounds", 50, "how often to kill the server")
	flags.Uint64Var(&cfg.Seed, "seed", rand.Uint64(), "of everything that is drawn; the order in which the server answers is its own")
	flags.IntVar(&cfg.Connections, "connections", 4, "at a time, where the server says that a flush covers all of them")
	area := flags.Uint64("area", 32, "how much of the device to write, in `MiB`, spread over it")
	flags.IntVar(&cfg.MaxRequests, "requests", 3000, "answered before a kill, at most")
	flags.DurationVar(&cfg.MaxRound, "round", 0, "how long to wait for them, at most (default 2s)")
	flags.DurationVar(&cfg.StartTime, "start", 0, "how long the server may take to start (default 30s)")
	flags.StringVar(&cfg.URI, "uri", "", "of the export; without it the server prints one")
	verbose := flags.Bool("v", false, "show what the server prints")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if cfg.Argv = flags.Args(); len(cfg.Argv) == 0 {
		flags.Usage()
		return 2
	}
	if cfg.Rounds < 1 || cfg.Connections < 1 || cfg.MaxRequests < 1 || *area < 1 {
		fmt.Fprintln(stderr, "durable: -rounds, -connections, -requests and -area want 1 or more")
		return 2
	}
	cfg.Area = *area << 20
	if *verbose {
		cfg.Output = stderr
	}

	fmt.Fprintf(stdout, "seed %d\n", cfg.Seed)
	report, err := durable.Run(ctx, cfg)
	report.Print(stdout)
	if err != nil {
		fmt.Fprintln(stderr, "durable:", err)
	}
	switch {
	case !report.OK():
		return 1
	case err != nil:
		return 2
	}
	return 0
}
