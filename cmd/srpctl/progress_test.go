package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"minisrp/cmd/control/controltest"
	"minisrp/cmd/paths"
)

// terminal returns the two sides of a terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs a terminal: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// How far something has come is told on a terminal, and nowhere else.
func TestProgress(t *testing.T) {
	dir := serve(t, controltest.Full(), controltest.FullAdmin())
	for _, c := range []struct {
		args     string
		terminal bool
		want     string
	}{
		{"rescan", true, "login far: logging in to 192.0.2.9:5555\r\nscan far: asking for its units\r\n"},
		{"tmf lun-reset disk0", true, "login far: logging in to 192.0.2.9:5555\r\nscan far: asking for its units\r\n"},
		{"rescan --quiet", true, ""},
		{"rescan", false, ""},
	} {
		from, to, err := os.Pipe()
		if c.terminal {
			from, to = terminal(t)
		} else if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cmd := command(&out, to, paths.Env{Get: func(string) string { return "" }, UID: 1})
		cmd.SetArgs(append(strings.Fields(c.args), "--state-dir", dir))
		if err := cmd.Execute(); err != nil {
			t.Error(err)
		}
		_ = to.Close()
		got, _ := io.ReadAll(from) // a terminal ends with an error
		_ = from.Close()
		if string(got) != c.want || out.Len() == 0 {
			t.Errorf("%s, on a terminal: %v: %q, and\n%s", c.args, c.terminal, got, out.String())
		}
	}
}
