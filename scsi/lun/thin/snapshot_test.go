package thin_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"minisrp/scsi/lun/dbdir"
	"minisrp/scsi/lun/thin"
)

// A snapshot has what was acknowledged before it, and nothing that came after; the restored disk is like it.
func TestSnapshot(t *testing.T) {
	d := open(t, t.TempDir())
	s := unit(t, d, "disk")
	disk := make([]byte, 20<<20)
	for _, off := range []int{0, 5 << 20, 17 << 20} {
		copy(disk[off:], noise(uint64(off>>20), 1<<20))
		write(t, s, uint64(off), disk[off:][:1<<20])
	}
	if err := errors.Join(s.Keep(t.Context(), "some", []byte{1, 2}), s.Unmap(t.Context(), 5<<20, 64<<10)); err != nil {
		t.Fatal(err)
	}
	clear(disk[5<<20:][:64<<10])
	var b bytes.Buffer
	if err := s.Snapshot(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	write(t, s, 0, noise(99, 1<<20))
	for _, to := range []*thin.DB{d, open(t, t.TempDir())} {
		if err := to.Restore(t.Context(), bytes.NewReader(b.Bytes()), "copy"); err != nil {
			t.Fatal(err)
		}
		r := unit(t, to, "copy")
		expect(t, r, 0, disk)
		if kept, err := r.Kept(t.Context(), "some"); err != nil || !bytes.Equal(kept, []byte{1, 2}) {
			t.Errorf("% x, %v", kept, err)
		}
		if a, b := space(t, s), space(t, r); a != b {
			t.Errorf("%d bytes used, want %d", b, a)
		}
		if err := to.Restore(t.Context(), bytes.NewReader(b.Bytes()), "copy"); !errors.Is(err, thin.ErrThere) {
			t.Errorf("restored over another: %v", err)
		}
	}
}

func space(t *testing.T, s *thin.Store) uint64 {
	t.Helper()
	p, err := s.Space(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p.Used
}

// A snapshot that is damaged or cut anywhere leaves no disk behind.
func TestBadSnapshot(t *testing.T) {
	d := open(t, t.TempDir())
	s := unit(t, d, "disk")
	write(t, s, 0, noise(1, 64<<10))
	var b bytes.Buffer
	if err := s.Snapshot(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, 10, 100, 200, 5000, b.Len() - 40, b.Len() - 33, b.Len() - 1} {
		flipped := slices.Clone(b.Bytes())
		flipped[at] ^= 0x40
		for what, data := range map[string][]byte{"cut": b.Bytes()[:at], "flipped": flipped} {
			if err := d.Restore(t.Context(), bytes.NewReader(data), "copy"); !errors.Is(err, thin.ErrSnapshot) {
				t.Errorf("%s at %d: %v", what, at, err)
			}
		}
	}
	if names := d.Units(); !slices.Equal(names, []string{"disk"}) {
		t.Errorf("%q", names)
	}
	if err := d.Restore(t.Context(), &b, "copy"); err != nil {
		t.Error(err)
	}
}

// FuzzRestore: whatever it is given, a restore ends with a whole disk or none.
func FuzzRestore(f *testing.F) {
	d := open(f, f.TempDir())
	s := unit(f, d, "disk")
	write(f, s, 0, noise(1, page))
	var b bytes.Buffer
	if err := s.Snapshot(f.Context(), &b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:100])
	f.Add([]byte(`{"format":"minisrp thin snapshot","version":1,"size":4096,"block_size":512}` + "\n\x04\x00\x00\x00\x00\x00\x00\x00\x0a\x02\x0a\x00"))
	n := 0
	f.Fuzz(func(t *testing.T, data []byte) {
		n++
		dest := "copy" + string(rune('a'+n%26))
		before := d.Units()
		if err := d.Restore(t.Context(), bytes.NewReader(data), dest); err != nil && !slices.Equal(d.Units(), before) {
			t.Errorf("%q, %v", d.Units(), err)
		}
	})
}

// What is given back, the file system has again.
func TestGivesBack(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	s := unit(t, d, "disk")
	const n = 40 << 20
	for off := uint64(0); off < n; off += 1 << 20 {
		write(t, s, off, noise(off>>20, 1<<20))
	}
	takes := func() uint64 { return dbdir.Allocated(filepath.Join(dir, "data")) }
	if takes() < n {
		t.Fatalf("%d bytes take %d", n, takes())
	}
	if err := s.Unmap(t.Context(), 0, n); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if takes() < n/2 {
			return
		}
	}
	t.Errorf("%d bytes are left", takes())
}
