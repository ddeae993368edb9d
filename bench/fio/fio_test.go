package fio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minisrp/bench/result"
)

func TestParse(t *testing.T) {
	tests := []struct {
		file         string
		iops, bytes  float64
		ios          uint64
		p50          float64
		milliseconds float64
	}{
		{"randread.txt", 5217.821782, 21372198, 1054, 3850240, 202},
		{"randwrite.txt", 820.38835, 3360310, 169, 6324224, 206},
	}
	for _, test := range tests {
		b, err := os.ReadFile(filepath.Join("testdata", test.file))
		if err != nil {
			t.Fatal(err)
		}
		s, err := parse(b)
		if err != nil {
			t.Fatal(err)
		}
		if s.IOPS != test.iops || s.Bytes != test.bytes || s.IOs != test.ios || s.Runtime != test.milliseconds/1000 || s.Latency.At(result.P50) != test.p50 {
			t.Errorf("%s: got %+v", test.file, s)
		}
		if len(s.Latency.Percentile) != 13 || s.Latency.At(result.P999) < s.Latency.At(result.P99) {
			t.Errorf("%s: percentiles %v", test.file, s.Latency.Percentile)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"": "fio's output", "fio: no such engine": "fio's output", `{"jobs": []}`: "0 jobs", `{"jobs": [{"error": 5}]}`: "error 5",
		`{"jobs": [{"read": {"total_ios": 0}}]}`: "no request",
	} {
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %q", text, err, says)
		}
	}
}

func TestArgs(t *testing.T) {
	j := Job{
		URI: "nbd+unix:///?socket=/tmp/s", Load: result.Load{Mode: "randwrite", Block: 4096, Depth: 32, Fsync: 32},
		Span: 1 << 20, Duration: 1500 * time.Millisecond,
	}
	got := j.String()
	for _, want := range []string{"--rw=randwrite", "--bs=4096", "--iodepth=32", "--fsync=32", "--size=1048576", "--runtime=1500ms", "--time_based"} {
		if !strings.Contains(got+" ", " "+want+" ") {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
}

// Whatever fio prints, there is a sample of requests, or an error.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"randread.txt", "randwrite.txt"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parse(b); err == nil && s.IOs == 0 {
			t.Errorf("a sample without requests: %+v", s)
		}
	})
}
