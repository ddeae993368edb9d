package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minisrp/cmd/exitcode"
)

var full = flag.Bool("full", false, "64 targets with 1024 units, instead of 8 with 64")

// Many targets and units come up from a configuration, each unit under a name of its own. The figures are in the log.
func TestScale(t *testing.T) {
	targets, units := 8, 8
	if *full {
		targets, units = 64, 16
	}
	var text strings.Builder
	for n := range targets {
		fmt.Fprintf(&text, "[[embedded]]\nname = \"t%d\"\n", n)
		for range units {
			text.WriteString("[[embedded.unit]]\nsize = \"1M\"\n")
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "srpd.toml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p, ready := launch(t, filepath.Join(dir, "state"), "--config", file)
	select {
	case <-ready:
	case <-p.ended:
		t.Fatal("it has ended")
	case <-time.After(endTime):
		t.Fatalf("not ready after %v", endTime)
	}
	t.Logf("%d targets with %d units are up after %v", targets, targets*units, time.Since(began).Round(10*time.Millisecond))
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmRSS") {
			t.Log(strings.TrimSpace(line))
		}
	}
	out, code := p.srpctl("units")
	if code != exitcode.OK || !strings.Contains(out, fmt.Sprintf("disk%d ", targets*units-1)) || strings.Contains(out, fmt.Sprintf("disk%d ", targets*units)) {
		t.Errorf("srpctl units: %d\n%s", code, out)
	}
	p.stop()
}
