package durable

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"minisrp/test/durable/daemon"
	"minisrp/test/need"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envDir); dir != "" {
		fmt.Fprintln(os.Stderr, serve(dir, os.Getenv(envMode)))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// testServer runs the tester against the server in one of its ways.
func testServer(t *testing.T, mode string, rounds int) (*Report, error) {
	t.Helper()
	var log bytes.Buffer
	cfg := Config{
		Argv: []string{os.Args[0]}, Env: []string{envDir + "=" + t.TempDir(), envMode + "=" + mode},
		Rounds: rounds, Seed: 1, Area: 2 << 20, MaxRequests: 1000, Log: &log,
	}
	report, err := Run(t.Context(), cfg)
	report.Print(&log)
	t.Log(log.String())
	return report, err
}

func TestHonestServers(t *testing.T) {
	for _, mode := range []string{writesThrough, holdsBack} {
		t.Run(mode, func(t *testing.T) {
			r, err := testServer(t, mode, 5)
			if err != nil || !r.OK() || r.Rounds != 5 {
				t.Fatalf("after %d rounds: %v, %d blocks wrong", r.Rounds, err, r.Blocks)
			}
			if r.FUA == 0 || r.Hardened == 0 || r.Checked != 5*4096 || r.ReadsVerified == 0 {
				t.Fatalf("proves nothing: %+v", r)
			}
			if lost := r.Forgotten > 0; lost != (mode == holdsBack) {
				t.Errorf("answered writes that were not durable: %d lost", r.Forgotten)
			}
		})
	}
}

// TestLies: each way of losing what was acknowledged is found.
func TestLies(t *testing.T) {
	for mode, found := range map[string]string{
		ignoresFlush:  "possible: ",
		ignoresFUA:    "(FUA, answered)",
		flushesOwn:    "(flushed)",
		forgetsZeroes: "possible: write zeroes",
		tears:         "torn: its checksum is wrong",
		restores:      "after the kill",
		misplaces:     "for offset",
		readsStale:    "while the server ran",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r, err := testServer(t, mode, 10)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			r.Print(&out)
			if r.OK() || !strings.Contains(out.String(), "LOST OR WRONG") || !strings.Contains(out.String(), found) {
				t.Fatalf("not found out, or without %q", found)
			}
		})
	}
}

// TestServersThatCannotBeJudged: what is not a loss is an error, with the reason.
func TestServersThatCannotBeJudged(t *testing.T) {
	for mode, reason := range map[string]string{
		refuses:   syscall.EIO.Error(),
		dies:      "exit status 3; it printed:",
		needsHelp: "the socket is there already",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r, err := testServer(t, mode, 10)
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Fatalf("error %v, without %q", err, reason)
			}
			var ended *daemon.EndedError
			if errors.As(err, &ended) != (mode != refuses) || !r.OK() {
				t.Fatalf("error %#v, %d blocks wrong", err, r.Blocks)
			}
		})
	}
}

// TestNbdkit: a server that others wrote and that keeps its word passes. It has to have its socket removed.
func TestNbdkit(t *testing.T) {
	need.Tool(t, "nbdkit")
	dir := t.TempDir()
	socket, disk := filepath.Join(dir, "nbd"), filepath.Join(dir, "disk")
	if err := os.WriteFile(disk, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(disk, 64<<20); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	r, err := Run(t.Context(), Config{
		Argv: []string{"sh", "-c", `rm -f "$0"; exec nbdkit -f -U "$0" file "$1"`, socket, disk},
		URI:  "nbd+unix:///?socket=" + socket,
		Seed: 2, Rounds: 3, Area: 4 << 20, MaxRequests: 1000, Log: &log,
	})
	r.Print(&log)
	t.Log(log.String())
	if err != nil || !r.OK() || r.Rounds != 3 || r.Hardened+r.FUA == 0 {
		t.Fatalf("after %d rounds: %v, %d blocks wrong, %d durable by flush, %d by FUA", r.Rounds, err, r.Blocks, r.Hardened, r.FUA)
	}
}
