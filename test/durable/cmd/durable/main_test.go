package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/test/need"
)

func TestRun(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{nil, 2, "usage: durable"},
		{[]string{"-rounds", "0", "true"}, 2, "1 or more"},
		{[]string{"--", "/nonexistent/daemon"}, 2, "no such file"},
		{[]string{"--", "sh", "-c", "echo not today >&2; exit 4"}, 2, "exit status 4; it printed:\nnot today"},
		{[]string{"-start", "50ms", "--", "sleep", "100"}, 2, "no export within 50ms"},
		{[]string{"--", "sh", "-c", "echo nbds://127.0.0.1/ nbd://127.0.0.1:1/; exec sleep 100"}, 2, "connection refused"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), c.args, &out, &out); code != c.code || !strings.Contains(out.String(), c.text) {
			t.Errorf("%q: exit status %d, want %d; without %q:\n%s", c.args, code, c.code, c.text, &out)
		}
	}
}

// TestNbdkitMemory: a server that keeps nothing is found out, and the exit status says so.
func TestNbdkitMemory(t *testing.T) {
	need.Tool(t, "nbdkit")
	socket := filepath.Join(t.TempDir(), "nbd")
	var out bytes.Buffer
	code := run(t.Context(), []string{"-rounds", "10", "-requests", "200", "-area", "1", "-uri", "nbd+unix:///?socket=" + socket,
		"--", "sh", "-c", `rm -f "$0"; exec nbdkit -f -U "$0" memory 8M`, socket}, &out, &out)
	if code != 1 || !strings.Contains(out.String(), "LOST OR WRONG") || !strings.Contains(out.String(), "hold zeros; possible: write") {
		t.Errorf("exit status %d:\n%s", code, &out)
	}
}
