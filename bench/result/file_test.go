package result_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/bench/result"
)

// golden has every field of the format.
const golden = "testdata/result.json"

func TestRoundTrip(t *testing.T) {
	r, err := result.Read(golden)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "again.json")
	if err := result.Write(path, r); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("written again it is\n%s", got)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".result*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestReadRefuses(t *testing.T) {
	tests := []struct{ name, text, says string }{
		{"other version", `{"version": 7, "figures": "other"}`, "format 7, and this program knows 1"},
		{"no version", `{"jobs": []}`, "not a result of bench run: it has no format version"},
		{"no JSON", "\x00\x01", "not a result of bench run"},
		{"empty", "", "not a result of bench run"},
		{"wrong types", `{"version": 1, "figures": 3}`, "not a result of bench run"},
		{"an array", `[1]`, "not a result of bench run"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.json")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := result.Read(path)
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			var other *result.VersionError
			if errors.As(err, &other) != (test.name == "other version") {
				t.Errorf("the error is a %T", err)
			}
		})
	}
	if _, err := result.Read(filepath.Join(t.TempDir(), "absent")); !os.IsNotExist(err) {
		t.Errorf("absent: %v", err)
	}
}

// What cannot be written leaves what was there.
func TestWriteFails(t *testing.T) {
	if err := result.Write(filepath.Join(t.TempDir(), "no", "r.json"), &result.Result{}); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
}
