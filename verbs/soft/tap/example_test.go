package tap_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"minisrp/verbs/soft"
	"minisrp/verbs/soft/tap"
)

// A capture is made before the fabric that it sees, and closed after what is plugged
// into that.
func Example() {
	dir, err := os.MkdirTemp("", "tap")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	capture, err := tap.Create(filepath.Join(dir, "fabric.pcapng"), tap.Options{})
	if err != nil {
		panic(err)
	}
	fabric := soft.New(soft.Config{Tap: capture})
	if _, err := fabric.Plug(soft.HCAConfig{Name: "hca0", GUID: 1, Addr: netip.MustParseAddr("192.0.2.1")}); err != nil {
		panic(err)
	}
	// Open devices, log in, work, close them.
	if err := capture.Close(); err != nil {
		panic(err)
	}
	fmt.Println(capture.Messages(), "messages,", capture.Dropped(), "dropped")
	// Output: 0 messages, 0 dropped
}
