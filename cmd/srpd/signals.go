package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"minisrp/cmd/exitcode"
)

// sameSignal is how soon after the first a signal is the same one, by another way: make and timeout send what they get
// to their child, which had it already as one of their process group.
const sameSignal = time.Second

// signals waits for what users and service managers end the program by.
//
// Ownership: made by startSignals, whose goroutine stop ends.
type signals struct {
	ctx    context.Context // ends with the first signal
	cancel context.CancelFunc
	got    chan os.Signal
	quit   chan struct{}
	done   chan struct{}
}

// startSignals starts a goroutine that ends ctx at the first SIGTERM, SIGINT or SIGHUP, and the process at another
// that comes later than sameSignal.
func startSignals(log *slog.Logger, errs io.Writer) *signals {
	s := &signals{got: make(chan os.Signal, 2), quit: make(chan struct{}), done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	// A terminal that is closed ends the program like Ctrl-C. A reader of its output that goes away does not: the disks
	// are more than the log.
	signal.Notify(s.got, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE)
	go s.watch(log, errs)
	return s
}

func (s *signals) watch(log *slog.Logger, errs io.Writer) {
	defer close(s.done)
	var first time.Time
	select {
	case sig := <-s.got:
		first = time.Now()
		log.Info("ending: clients are not read from any more; a second signal ends at once", "signal", sig.String())
		s.cancel()
	case <-s.quit:
		return
	}
	for {
		select {
		case sig := <-s.got:
			if time.Since(first) < sameSignal {
				continue
			}
			fmt.Fprintf(errs, "srpd: %v again: ended at once; what was not flushed may be lost\n", sig)
			os.Exit(int(exitcode.Cut))
		case <-s.quit:
			return
		}
	}
}

// stop ends the goroutine.
func (s *signals) stop() {
	signal.Stop(s.got)
	close(s.quit)
	<-s.done
	s.cancel()
}
