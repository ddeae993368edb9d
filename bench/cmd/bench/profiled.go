package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"path/filepath"
	"runtime"

	"minisrp/bench/peer"
	"minisrp/cmd/srpd/daemon"
	"minisrp/cmd/srpd/embedded"
	"minisrp/cmd/srpd/socket"
	"minisrp/verbs/dispatch/token"
)

// serveDaemon runs the daemon with a ram unit, as srpd run does, and answers who wants profiles, until ctx ends.
func serveDaemon(ctx context.Context, out io.Writer, dir string, size uint64) error {
	cfg := daemon.Defaults()
	cfg.Socket, cfg.Control = filepath.Join(dir, "nbd.sock"), filepath.Join(dir, "control.sock")
	cfg.StateDir, cfg.Program, cfg.Log = dir, "bench", slog.New(slog.NewTextHandler(io.Discard, nil))
	cfg.Embedded = []daemon.Embedded{{Name: daemon.DefaultName, Required: true, Units: []daemon.Unit{{Store: embedded.RAM, Size: size}}}}
	d, err := daemon.Start(ctx, cfg)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(token.Procs(d.Processors()))
	l, err := socket.ListenUnix(peer.ProfileSocket(dir), 0o600)
	if err != nil {
		return errors.Join(err, d.Stop(context.WithoutCancel(ctx)))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	s := http.Server{Handler: mux}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	for _, x := range d.Exports() {
		for _, uri := range x.URIs {
			fmt.Fprintln(out, uri)
		}
	}
	select {
	case <-ctx.Done():
	case err = <-d.Failed():
	}
	err = errors.Join(err, s.Close())
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return errors.Join(err, d.Stop(context.WithoutCancel(ctx)))
}
