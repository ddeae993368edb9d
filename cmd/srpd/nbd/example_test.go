package nbd_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/cmd/srpd/socket"
)

// A disk in memory, served on a unix socket until Shutdown.
func Example() {
	dir, err := os.MkdirTemp("", "nbd")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	d := nbdtest.NewRAM(nbdtest.Disk(1 << 20))
	defer d.Close()

	s, err := nbd.NewServer(nbd.Config{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Add(nbd.Export{Name: "disk0", Description: "scratch", Backend: d}); err != nil {
		fmt.Println(err)
		return
	}
	l, err := socket.ListenUnix(filepath.Join(dir, "nbd.sock"), 0o600)
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()

	fmt.Println(nbd.URI(&net.UnixAddr{Name: "/run/nbd.sock", Net: "unix"}, "disk0"))
	err = s.Shutdown(context.Background())
	fmt.Println(err, <-served)
	// Output:
	// nbd+unix:///disk0?socket=/run/nbd.sock
	// <nil> <nil>
}
