package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"minisrp/cmd/bytesize"
	"minisrp/cmd/cli"
	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/cmd/srpd/socket"
)

// serveCommand is contestants that are no program of their own: the NBD server over plain memory, and the daemon where
// its profile is wanted; each in a process of its own as all are.
func serveCommand() *cobra.Command {
	var path, dir string
	var whole bool
	size := bytesize.Size(1 << 30)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "serve plain memory with srpd's NBD server, or be a daemon that tells its profile",
		Long: `serve serves plain memory with srpd's NBD server, until it is told to end. With --daemon it is a daemon with a ram unit
that tells its profile at a socket. It is how run measures the one alone, and looks into the other.`,
		Example: "  bench serve --socket /tmp/slice.sock --size 1G\n  bench serve --daemon --state-dir /tmp/srpd --size 1G",
		Hidden:  true,
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if whole {
				return serveDaemon(cmd.Context(), cmd.OutOrStdout(), dir, uint64(size))
			}
			return serve(cmd.Context(), path, int(size))
		},
	}
	cmd.Flags().StringVar(&path, "socket", "", "`path` of the unix socket")
	cmd.Flags().Var(&size, "size", "of the memory")
	cmd.Flags().BoolVar(&whole, "daemon", false, "be a daemon")
	cmd.Flags().StringVar(&dir, "state-dir", "", "state `directory` of the daemon")
	cmd.MarkFlagsOneRequired("socket", "state-dir")
	return cmd
}

// serve returns when ctx has ended.
func serve(ctx context.Context, path string, size int) error {
	d, err := nbdtest.NewSlice(size)
	if err != nil {
		return err
	}
	s, err := nbd.NewServer(nbd.Config{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return errors.Join(err, d.Close())
	}
	err = errors.Join(s.Add(nbd.Export{Name: "", Description: "memory", Backend: d}), listen(ctx, s, path))
	return errors.Join(err, d.Close())
}

func listen(ctx context.Context, s *nbd.Server, path string) error {
	l, err := socket.ListenUnix(path, 0o600)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case <-ctx.Done():
	case err := <-served:
		served <- err
	}
	err = s.Shutdown(context.WithoutCancel(ctx))
	return errors.Join(err, <-served)
}
