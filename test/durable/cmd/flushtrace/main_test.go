package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{nil, 2, "usage: flushtrace"},
		{[]string{"-check", "trace", "--", "true"}, 2, "usage: flushtrace"},
		{[]string{"-check", "/nonexistent"}, 2, "no such file"},
		{[]string{"-check", "main.go"}, 2, "main.go: line 1: want a process number"},
		{[]string{"-check", "../../flushtrace/testdata/nbdkit-file.strace"}, 0, "all 22 promises proved"},
		{[]string{"-check", "testdata/no-sync.strace"}, 1, "NOT PROVED: 2 of 2 promises"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), c.args, &out, &out); code != c.code || !strings.Contains(out.String(), c.text) {
			t.Errorf("%q: exit status %d, want %d; without %q:\n%s", c.args, code, c.code, c.text, &out)
		}
	}
}
