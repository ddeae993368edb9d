package iscsi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	out, err := os.ReadFile(filepath.Join("testdata", "perf.txt"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := parse(out, Job{Block: 4096, Depth: 32, Duration: 1500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if s.IOPS != 16411 || s.Bytes != 16411*4096 || s.IOs != 32822 || s.Runtime != 2 {
		t.Errorf("got %+v", s)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, out := range map[string]string{
		"nothing": "", "a number too large": "iops average 1" + strings.Repeat("0", 400) + " (", "no requests": "iops average 0 (0 MB/s)",
	} {
		if s, err := parse([]byte(out), Job{Block: 4096}); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// Whole seconds are what iscsi-perf knows, and it is to run no shorter than the others.
func TestArgs(t *testing.T) {
	j := Job{URI: "iscsi://127.0.0.1:3260/iqn.2026-11.minisrp:bench/1", Block: 4096, Depth: 32, Duration: 400 * time.Millisecond}
	const want = "iscsi-perf -r -m 32 -b 8 -t 1 iscsi://127.0.0.1:3260/iqn.2026-11.minisrp:bench/1"
	if got := j.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
