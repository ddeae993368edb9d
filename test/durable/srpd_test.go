package durable_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"minisrp/test/durable"
	"minisrp/test/durable/flushtrace"
	"minisrp/test/need"
)

// srpd builds the daemon, and returns the command that serves its embedded target from a fresh state directory.
func srpd(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat("../../cmd/srpd/main.go"); err != nil {
		t.Skip("there is no cmd/srpd to test")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "srpd")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/srpd").CombinedOutput(); err != nil {
		t.Fatalf("building cmd/srpd: %v\n%s", err, out)
	}
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return []string{program, "run", "--embedded", "--state-dir", filepath.Join(dir, "state")}
}

// TestSrpd is the short form of what cmd/durable does in 50 rounds.
func TestSrpd(t *testing.T) {
	var log bytes.Buffer
	r, err := durable.Run(t.Context(), durable.Config{Argv: srpd(t), Rounds: 3, Seed: 3, Log: &log, Output: &log})
	r.Print(&log)
	t.Log(log.String())
	if err != nil || !r.OK() || r.Rounds != 3 || r.FUA == 0 || r.Hardened == 0 {
		t.Fatalf("after %d rounds: %v, %d blocks wrong, %d durable by flush, %d by FUA", r.Rounds, err, r.Blocks, r.Hardened, r.FUA)
	}
}

// TestSrpdSyncs is the short form of what cmd/flushtrace does.
func TestSrpdSyncs(t *testing.T) {
	argv := srpd(t)
	need.Trace(t)
	trace := filepath.Join(t.TempDir(), "trace")
	if err := flushtrace.Record(t.Context(), flushtrace.Config{Argv: argv, Trace: trace, Groups: 10, Seed: 3}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	calls, err := flushtrace.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	r, err := flushtrace.Check(calls)
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK() {
		var out bytes.Buffer
		r.Print(&out)
		t.Error(out.String())
	}
}
