package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/cmd/control/controltest"
	"minisrp/cmd/exitcode"
)

// Whatever is in the place of a daemon, the message says what it is and what to do.
func TestUnreachable(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	listen := func(name string) *net.UnixListener {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path(name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	left := listen("left")
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	// One that hangs has the socket: the kernel takes connections for it.
	defer listen("hangs").Close()
	long := path(strings.Repeat("x", 120))
	for _, c := range []struct {
		socket string
		code   exitcode.Code
		text   string
		advice string
	}{
		{path("none"), exitcode.NoDaemon, "there is no control socket " + path("none"), "srpd run"},
		{path("file"), exitcode.NoDaemon, path("file") + ": this is no socket", "--socket"},
		{path("left"), exitcode.NoDaemon, "no daemon listens on the control socket " + path("left"), "srpd run"},
		{path("hangs"), exitcode.NoDaemon, "no answer within 50ms (--timeout)", "kill -CONT"},
		{dir, exitcode.NoDaemon, "this is no socket", "--socket"},
		{long, exitcode.Usage, "the kernel takes 107 at most", ""},
	} {
		for _, args := range [][]string{{"units"}, {"rescan"}, {"inq", "disk0"}} {
			if strings.Contains(c.text, "--timeout") {
				args = append(args, "--timeout", "50ms")
			}
			_, code, err := srpctl(nil, append(args, "--socket", c.socket)...)
			var b strings.Builder
			if err != nil {
				exitcode.Print(&b, "srpctl", err)
			}
			if code != c.code || !strings.Contains(b.String(), c.text) || !strings.Contains(b.String(), c.advice) {
				t.Errorf("%v at %s: %d\n%s", args, c.socket, code, b.String())
			}
		}
	}
}

// The longest path that there can be works.
func TestLongestPath(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	from := serve(t, controltest.Full(), controltest.FullAdmin())
	long := filepath.Join(dir, strings.Repeat("x", 107-1-len(dir)))
	if err := os.Symlink(filepath.Join(from, "control.sock"), long); err != nil {
		t.Fatal(err)
	}
	if _, _, err := srpctl(nil, "units", "--socket", long); err != nil {
		t.Errorf("%d bytes: %v", len(long), err)
	}
}
