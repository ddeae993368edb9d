package socket_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"minisrp/cmd/srpd/socket"
)

// What a killed process has left is replaced.
func ExampleListenUnix() {
	dir, err := os.MkdirTemp("", "socket")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		fmt.Println(err)
		return
	}
	dead.SetUnlinkOnClose(false)
	fmt.Println(dead.Close())
	l, err := socket.ListenUnix(path, 0o600)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l.Close())
	// Output:
	// <nil>
	// <nil>
}
