package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/bench/load"
	"minisrp/cmd/exitcode"
)

// runLoad runs bench load and returns what it printed.
func runLoad(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, errs strings.Builder
	cmd := command(&out, &errs)
	cmd.SetArgs(append([]string{"load"}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestLoad(t *testing.T) {
	out, err := runLoad(t, "--unit-size", "1M", "--rw", "randwrite", "--verify", "crc32c", "--iodepth=4", "--time_based=0", "--sync")
	if err != nil || !strings.Contains(out, "write: IOPS ") || !strings.Contains(out, "verify: IOPS ") {
		t.Errorf("%v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "jobs")
	if err := os.WriteFile(file, []byte("[global]\nbs=64k\n[a]\nrw=write\nunit=0,1,2,3\n[b]\nrw=read\nstonewall\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = runLoad(t, "--store", "file", "--unit-size", "1M", "--units", "2", "--targets", "2", "--json", file)
	var r load.Report
	if jerr := json.Unmarshal([]byte(out), &r); err != nil || jerr != nil || len(r.Jobs) != 2 || r.Jobs[0].Write.Bytes != 4<<20 || r.Jobs[1].Read.IOs != 16 {
		t.Errorf("%v, %v\n%s", err, jerr, out)
	}
	for _, kept := range []string{"badger", "null"} {
		if out, err := runLoad(t, "--store", kept, "--unit-size", "1M", "--rw", "read"); err != nil {
			t.Errorf("%s: %v\n%s", kept, err, out)
		}
	}
}

// What is wrong with options is said, with the code for that.
func TestLoadUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs")
	if err := os.WriteFile(file, []byte("[a]\nrw=read\niodepth=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"rw=: want one of read": nil,
		"bs=1: want":            {"--rw", "read", "--bs", "1"},
		`--store "tape": want one of file, badger`: {"--store", "tape", "--rw", "read"},
		"--units 257: want 1 to 256":               {"--units", "257", "--rw", "read"},
		"--targets 0: want 1 to":                   {"--targets", "0", "--rw", "read"},
		"--processors 65: want 1 to 64":            {"--processors", "65", "--rw", "read"},
		"--unit-size 1000: want a multiple":        {"--unit-size", "1000", "--rw", "read"},
		"size=8M: want a region":                   {"--unit-size", "1M", "--rw", "read", "--size", "8M"},
		file + ":3: job a: iodepth=x: want 1 to":   {file},
		"--bs 4k: jobs are in " + file:             {"--bs", "4k", file},
	} {
		want = strings.Replace(want, "size=8M", "size=8388608", 1)
		if out, err := runLoad(t, args...); exitcode.Of(err) != exitcode.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q\n%s", args, err, want, out)
		}
	}
	if _, err := runLoad(t, "/nonexistent"); err == nil || exitcode.Of(err) == exitcode.OK {
		t.Errorf("a file that is not there: %v", err)
	}
}
