package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"minisrp/bench/result"
	"minisrp/cmd/cli/clitest"
	"minisrp/cmd/exitcode"
	"minisrp/test/need"
)

// golden is a result with every field of the format.
const golden = "../../result/testdata/result.json"

func TestDocumentation(t *testing.T) {
	clitest.Help(t, func() *cobra.Command { return command(io.Discard, io.Discard) })
}

// call runs a command and returns what it prints, what it says, and its error.
func call(ctx context.Context, args ...string) (out, says string, err error) {
	var o, e bytes.Buffer
	c := command(&o, &e)
	c.SetArgs(args)
	err = c.ExecuteContext(ctx)
	return o.String(), e.String(), err
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.json")
	if err := os.WriteFile(other, []byte(`{"version": 2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []string {
		return append([]string{"run", "--out", filepath.Join(dir, "out")}, args...)
	}
	tests := []struct {
		args []string
		code exitcode.Code
		says string
	}{
		{run("--rounds", "0"), exitcode.Usage, "--rounds 0: want 1 to 1000"},
		{run("--rounds", "many"), exitcode.Usage, "many"},
		{run("--seconds", "NaN"), exitcode.Usage, "--seconds NaN: want 0.1 to 600"},
		{run("--seconds", "0.01"), exitcode.Usage, "--seconds 0.01: want 0.1 to 600"},
		{run("--size", "1M"), exitcode.Usage, "--size 1M: want a number of MiB, 64M or more"},
		{run("--size", "70000001"), exitcode.Usage, "--size 70000001"},
		{run("--cases", "("), exitcode.Usage, `--cases "(": want a regular expression`},
		{run("--cases", "nothing-like-it", "--srpd", "/bin/true"), exitcode.Usage, "there are loopback-read-4k-1"},
		{run("--srpd", filepath.Join(dir, "no-srpd")), exitcode.Usage, "--srpd " + filepath.Join(dir, "no-srpd")},
		{run("more"), exitcode.Usage, `unexpected argument "more"`},
		{[]string{"compare", golden}, exitcode.Usage, "BEFORE.json or AFTER.json is missing"},
		{[]string{"compare", golden, filepath.Join(dir, "absent.json")}, exitcode.NotFound, "absent.json"},
		{[]string{"compare", golden, other}, exitcode.Failure, "format 2, and this program knows 1"},
		{[]string{"compare", golden, golden, "--fail-above", "-1"}, exitcode.Usage, "--fail-above -1: want a percentage"},
		{[]string{"compare", golden, golden, "--fail-above", "NaN"}, exitcode.Usage, "--fail-above NaN: want a percentage"},
		{[]string{"report", filepath.Join(dir, "absent.json")}, exitcode.NotFound, "bench run writes one"},
		{[]string{"report", other}, exitcode.Failure, "format 2"},
		{[]string{"serve"}, exitcode.Failure, `at least one of the flags`},
	}
	for _, test := range tests {
		_, _, err := call(t.Context(), test.args...)
		var b bytes.Buffer
		if err != nil {
			exitcode.Print(&b, "bench", err)
		}
		if got := exitcode.Of(err); got != test.code || !strings.Contains(b.String(), test.says) {
			t.Errorf("%q: exit code %d, want %d: %s", test.args, got, test.code, b.String())
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "out", "*")); err != nil || len(left) != 0 {
		t.Errorf("what was refused has left %q, %v", left, err)
	}
}

// compare fails only when it was asked to, only beyond the limit, and only for the worse.
func TestCompare(t *testing.T) {
	r, err := result.Read(golden)
	if err != nil {
		t.Fatal(err)
	}
	r.Figures[0].Values = result.Series{0.9, 0.95}
	slow := filepath.Join(t.TempDir(), "slow.json")
	if err := result.Write(slow, r); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args []string
		fail bool
	}{
		{[]string{golden, slow}, false},
		{[]string{golden, slow, "--fail-above", "10"}, true},
		{[]string{golden, slow, "--fail-above", "50"}, false},
		{[]string{slow, golden, "--fail-above", "0"}, false},
		{[]string{golden, golden, "--fail-above", "0"}, false},
	}
	for _, test := range tests {
		out, _, err := call(t.Context(), append([]string{"compare"}, test.args...)...)
		if (exitcode.Of(err) == exitcode.Failure) != test.fail || !strings.Contains(out, "nbd-read") {
			t.Errorf("%q: %v\n%s", test.args, err, out)
		}
	}
}

func TestReport(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	out, _, err := call(t.Context(), "report", "--out", page, golden)
	if err != nil || !strings.Contains(out, "NBD 4 KiB random read, depth 32") {
		t.Fatalf("%v\n%s", err, out)
	}
	if b, err := os.ReadFile(page); err != nil || !bytes.Contains(b, []byte("<svg")) {
		t.Errorf("%v", err)
	}
}

// One case from end to end, as make bench runs all of them: that figures come out, not how good they are.
func TestRun(t *testing.T) {
	need.Tool(t, "fio")
	need.Tool(t, "nbdkit")
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir+"/", "minisrp/cmd/srpd", "minisrp/bench/cmd/bench")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out := filepath.Join(dir, "results")
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bench"), "run",
		"--cases", "^nbd-read-1$|^loopback-read-4k-1$", "--rounds", "1", "--seconds", "0.5", "--size", "64M", "--out", out)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	r, err := result.Read(filepath.Join(out, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Complete || len(r.Figures) != 2 || len(r.Groups) != 2 {
		t.Errorf("got %+v", r)
	}
	for _, f := range r.Figures {
		if len(f.Values) != 1 || f.Values[0] <= 0 {
			t.Errorf("%s: %v %s", f.Name, f.Values, f.Missing)
		}
	}
	for _, g := range r.Groups {
		for _, c := range []string{"srpd", "nbdkit memory", "slice"} {
			if s := g.Rounds[0].Samples[c]; g.Name == "nbd-read-4k-1" && (s.IOs == 0 || s.ServerCPU <= 0 || s.Resident == 0 || s.Latency.At(result.P99) <= 0) {
				t.Errorf("%s: %+v", c, s)
			}
		}
	}
	for _, file := range []string{"report.html", "result.json"} {
		if st, err := os.Stat(filepath.Join(out, file)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}
