package thin_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"minisrp/scsi/lun/thin"
)

// A kill may hit badger while it copies an entry to its log, at any page fault, and the copy does not go from the first
// byte to the last. Whatever is there of the entry, the store opens, and what was acknowledged before is there.
func TestTorn(t *testing.T) {
	const entry = 64 // an extent's, with its key and header, or a little less
	torn := map[string]func(b []byte){
		"nothing":                    func(b []byte) { clear(b) },
		"its first bytes":            func(b []byte) { clear(b[20:]) },
		"all but its first 13 bytes": func(b []byte) { clear(b[:13]) },
		"all but its middle":         func(b []byte) { clear(b[16:48]) },
		"its first half":             func(b []byte) { clear(b[entry/2:]) },
		"its last half":              func(b []byte) { clear(b[:entry/2]) },
		"its middle":                 func(b []byte) { clear(b[:16]); clear(b[48:]) },
		"its last byte":              func(b []byte) { clear(b[:entry-1]) },
	}
	live := t.TempDir()
	d := open(t, live)
	defer closeDB(t, d)
	s := unit(t, d, "disk")
	log := func() []byte { // the only one
		t.Helper()
		names, err := filepath.Glob(filepath.Join(live, "db", "*.mem"))
		if err != nil || len(names) != 1 {
			t.Fatalf("logs are %v, %v", names, err)
		}
		b, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	told := noise(1, 64<<10)
	if err := s.Write(t.Context(), [][]byte{told}, 0, true); err != nil {
		t.Fatal(err)
	}
	before := log()
	killed := t.TempDir()
	copyLive(t, killed, live)
	if err := s.Write(t.Context(), [][]byte{noise(2, 64<<10)}, 1<<20, false); err != nil {
		t.Fatal(err)
	}
	copyData(t, killed, live)
	after := log()
	end := 0
	for end < len(after) && before[end] == after[end] {
		end++ // to what begins the entry, which is no zero
	}
	if end == len(after) || len(bytes.Trim(before[end:], "\x00")) != 0 {
		t.Fatal("the log was written over")
	}
	names, _ := filepath.Glob(filepath.Join(killed, "db", "*.mem"))
	at := end
	for what, tear := range torn {
		at = 2*end + 5*entry - at // the transaction's first entry, or a later one
		b := slices.Concat(after[:at+entry], make([]byte, len(after)-at-entry))
		tear(b[at:][:entry])
		dir := t.TempDir()
		err := os.CopyFS(dir, os.DirFS(killed))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "db", filepath.Base(names[0])), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		d, err := thin.Open(dir, thin.Options{Log: quiet})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		s := unit(t, d, "disk")
		got := make([]byte, len(told))
		if err := s.Read(t.Context(), [][]byte{got}, 0); err != nil || !bytes.Equal(got, told) {
			t.Errorf("%s: what was told is not there, %v", what, err)
		}
		if err := errors.Join(s.Write(t.Context(), [][]byte{noise(3, page)}, 1<<20, true), s.Close(t.Context()), d.Close(t.Context())); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// copyLive copies a database, but for its reserve, which takes long.
func copyLive(t *testing.T, to, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "reserve" {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o700), os.WriteFile(filepath.Join(to, name), b, 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// copyData brings the data file of a copy up to date.
func copyData(t *testing.T, to, from string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(from, "data"))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "data"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
