package control_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"minisrp/cmd/control"
	"minisrp/cmd/control/controltest"
)

func ExampleClient() {
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "control.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := control.NewServer(controltest.Full(), controltest.FullAdmin(), quiet)
	done := make(chan error)
	go func() { done <- s.Serve(l) }()

	units, err := control.NewClient(path).Units(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, u := range units.Units {
		fmt.Printf("%s: %q %s\n", u.Identity, u.Name, u.Paths[0].Target)
	}
	fmt.Println(s.Shutdown(context.Background()), <-done)
	// Output:
	// naa.6000000000000001: "disk0" embedded
	// naa.6000000000000002: "" embedded
	// <nil> <nil>
}
