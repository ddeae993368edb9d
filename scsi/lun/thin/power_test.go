package thin_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minisrp/scsi/lun/thin"
)

// A loss of power may take bytes of extents that were not flushed, while the database has their entries: then what was
// flushed before is there, and nothing else. The same without a loss of power is damage.
func TestPowerCut(t *testing.T) {
	live := t.TempDir()
	d := open(t, live)
	defer closeDB(t, d)
	s := unit(t, d, "disk")
	const n = 64 << 10
	flushed := noise(1, n)
	write(t, s, 0, noise(7, n))
	write(t, s, 0, flushed)
	for range 2 { // what was there before has slots that are used again
		write(t, s, 1<<20, noise(8, n))
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before := t.TempDir()
	copyLive(t, before, live)
	// Extents are written over once and twice, unmapped and written, made zeros, and written for the first time.
	write(t, s, 0, noise(2, n))
	write(t, s, 0, noise(3, n/2))
	if err := errors.Join(s.Unmap(t.Context(), 0, 2*page), s.Zero(t.Context(), 4*page, page, false)); err != nil {
		t.Fatal(err)
	}
	write(t, s, 0, noise(4, page))
	write(t, s, 2<<20, noise(5, n))
	write(t, s, 4<<20, noise(9, 20<<20)) // for which the data file grows
	after := t.TempDir()
	copyLive(t, after, live)

	cut := t.TempDir()
	copyLive(t, cut, after)
	copyData(t, cut, before)
	if _, err := thin.Open(cut, thin.Options{Log: quiet}); !errors.Is(err, thin.ErrDamaged) {
		t.Errorf("bytes are lost and nothing happened: %v", err)
	}
	cut = t.TempDir()
	copyLive(t, cut, after)
	copyData(t, cut, before)
	seal := filepath.Join(cut, "seal")
	if err := os.WriteFile(seal, []byte(`{"boot":"another"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what was mended stays so
		d := open(t, cut)
		s := unit(t, d, "disk")
		expect(t, s, 5*page, flushed[5*page:])
		expect(t, s, 2*page, flushed[2*page:4*page])
		expect(t, s, 0, make([]byte, 2*page)) // had been unmapped
		expect(t, s, 4*page, make([]byte, page))
		expect(t, s, 2<<20, make([]byte, n))
		expect(t, s, 4<<20, make([]byte, 20<<20))
		write(t, s, 3<<20, noise(6, n)) // takes the slots that became free
		expect(t, s, 5*page, flushed[5*page:])
		if err := errors.Join(s.Close(t.Context()), d.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

// A byte of the data file that has changed is found when its extent is read.
func TestDamagedData(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	s := unit(t, d, "disk")
	write(t, s, 0, noise(1, 64<<10))
	if err := errors.Join(s.Close(t.Context()), d.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "data"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte{noise(1, 64<<10)[5*page+9] ^ 1}, 5*page+9)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	d = open(t, dir)
	s = unit(t, d, "disk")
	expect(t, s, 0, noise(1, 64<<10)[:5*page])
	if err := s.Read(t.Context(), [][]byte{make([]byte, page)}, 5*page); !errors.Is(err, thin.ErrDamaged) {
		t.Error(err)
	}
	if err := s.Snapshot(t.Context(), &bytes.Buffer{}); !errors.Is(err, thin.ErrDamaged) {
		t.Error(err)
	}
	// It can be written over, and is whole again.
	write(t, s, 5*page, noise(2, page))
	expect(t, s, 5*page, noise(2, page))
}

// A data file that is not the database's is refused.
func TestLostData(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	s := unit(t, d, "disk")
	write(t, s, 0, noise(1, 64<<10))
	if err := errors.Join(s.Close(t.Context()), d.Close(t.Context()), os.Remove(filepath.Join(dir, "data"))); err != nil {
		t.Fatal(err)
	}
	if _, err := thin.Open(dir, thin.Options{Log: quiet}); !errors.Is(err, thin.ErrDamaged) || !strings.Contains(err.Error(), "slot") {
		t.Error(err)
	}
}
