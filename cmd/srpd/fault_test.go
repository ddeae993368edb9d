package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minisrp/test/need"
)

var slowFaults = flag.Bool("faults", false, "TestFaults: also those that a command's deadline of 30 s ends")

// Each fault of the embedded target strikes, by option and by configuration, and the disk works on, or fails in the way
// that goes with it. The log tells at the end how often it has struck.
func TestFaults(t *testing.T) {
	dir := t.TempDir() // of a subtest it would have a name too long for a socket
	for i, c := range []struct {
		fault  string
		least  time.Duration // that writing and reading take
		errors string        // of qemu-io; "": none
		said   string        // in the log or by srpctl targets
		slow   bool
	}{
		{fault: "delay=300ms,op=write,times=1", least: 300 * time.Millisecond},
		{fault: "late=300ms,op=read,times=1", least: 300 * time.Millisecond},
		{fault: "ghost=300ms,op=write,times=1", least: 300 * time.Millisecond},
		{fault: "duplicate,op=write,times=1"},
		{fault: "residual=512,op=write,times=1"},
		{fault: "status=busy,op=write,times=2", least: 500 * time.Millisecond},
		{fault: "status=reservation-conflict,op=write", errors: "write failed"},
		{fault: "sense=3/1100,op=read", errors: "read failed"},
		{fault: "sense=6/2900,op=write,times=2"},
		{fault: "cred-req=7,op=write,times=1"},
		{fault: "withhold=5,op=write,times=1"},
		{fault: "aer=3f0e,op=write,times=1"},
		{fault: "logout=2,op=write,times=1", said: "target logged the channel out"},
		{fault: "disconnect,op=write,times=1", said: "target closed the connection"},
		{fault: "credits=3", said: "credits=3"},
		{fault: "reject=0x00010002,times=1", said: "logged in"}, // asks for smaller information units
		{fault: "iu-limit=300", said: "IUs of 276 bytes"},
		{fault: "stale,times=1", said: "logged in"},
		{fault: "lose,op=write,times=1", least: 30 * time.Second, said: "command has timed out and is aborted", slow: true},
		{fault: "late=1h0m0s,op=write,times=1", least: 30 * time.Second, said: "command has timed out and is aborted", slow: true},
		{fault: "lose,op=tmf; delay=1h0m0s,op=write,times=1", least: 45 * time.Second, said: "recovery: the target is reset", slow: true},
	} {
		t.Run(c.fault, func(t *testing.T) {
			if c.slow && !*slowFaults {
				t.Skip("takes the deadline of a command; give -faults")
			}
			args := []string{"--embedded", "--store", "ram", "--size", "16M"}
			for f := range strings.SplitSeq(c.fault, "; ") {
				args = append(args, "--embedded-fault", f)
			}
			p := start(t, filepath.Join(dir, fmt.Sprint(i)), args...)
			begun := time.Now()
			out := p.qemuIO("disk0", "write -P 7 64k 64k", "read -P 7 64k 64k")
			if took := time.Since(begun); took < c.least {
				t.Errorf("took %v, want %v or more", took, c.least)
			}
			if c.errors == "" && (strings.Contains(out, "failed") || strings.Contains(out, "rror")) || !strings.Contains(out, c.errors) {
				t.Errorf("qemu-io says\n%s", out)
			}
			targets, _ := p.srpctl("show")
			p.stop()
			log := p.errs.String()
			if !strings.Contains(log+targets, c.said) {
				t.Errorf("neither the log nor srpctl show has %q\n%s", c.said, targets)
			}
			for f := range strings.SplitSeq(c.fault, "; ") {
				if !strings.Contains(log, `fault="`+f+`" times=`) && !strings.Contains(log, "fault="+f+" times=") || strings.Contains(log, "times=0\n") {
					t.Errorf("%s has not struck\n%s", f, log)
				}
			}
		})
	}
}

// qemuIO returns what qemu-io says to commands on a disk, be it that they fail.
func (p *proc) qemuIO(disk string, commands ...string) string {
	p.t.Helper()
	path := need.Tool(p.t, "qemu-io")
	args := []string{"-f", "raw", "-t", "none"}
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	out, _ := output(p.t, exec.Command(path, append(args, p.uri(disk))...))
	return out
}

// The configuration gives each embedded target faults of its own.
func TestFaultsByConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "srpd.toml")
	text := `
[[embedded]]
name = "well"
unit = [{store = "ram", size = "16M"}]
[[embedded]]
name = "ill"
faults = ["sense=3/1100,op=read", "credits=5"]
unit = [{store = "ram", size = "16M"}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, t.TempDir(), "--config", file)
	failed := 0
	for _, disk := range []string{"disk0", "disk1"} {
		if out := p.qemuIO(disk, "read 0 4k"); strings.Contains(out, "read failed") {
			failed++
		}
	}
	p.stop()
	if log := p.errs.String(); failed != 1 || strings.Count(log, "credits=5 ") != 1 || strings.Count(log, "goes wrong on purpose") != 1 {
		t.Errorf("%d of 2 disks do not read\n%s", failed, log)
	}
}
