package thin_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"minisrp/scsi/lun"
	"minisrp/scsi/lun/thin"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

const (
	page = 4096
	size = 64 << 20
)

// open opens a database, which the test closes at its end.
func open(t testing.TB, dir string) *thin.DB {
	t.Helper()
	d, err := thin.Open(dir, thin.Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeDB(t, d) })
	return d
}

func closeDB(t testing.TB, d *thin.DB) {
	t.Helper()
	if err := d.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func unit(t testing.TB, d *thin.DB, name string) *thin.Store {
	t.Helper()
	s, err := d.Open(name, thin.Unit{Size: size})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// noise returns n bytes that no other seed gives.
func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(b)
	return b
}

// write writes in pieces of odd sizes.
func write(t testing.TB, s *thin.Store, off uint64, data []byte) {
	t.Helper()
	var p [][]byte
	for b := data; len(b) > 0; {
		n := min(len(b), 5000)
		p = append(p, b[:n:n])
		b = b[n:]
	}
	if err := s.Write(t.Context(), p, off, false); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, s *thin.Store, off uint64, n int) []byte {
	t.Helper()
	b := bytes.Repeat([]byte{0xee}, n)
	if err := s.Read(t.Context(), [][]byte{b[:n/3], nil, b[n/3:]}, off); err != nil {
		t.Fatal(err)
	}
	return b
}

func expect(t testing.TB, s *thin.Store, off uint64, want []byte) {
	t.Helper()
	got := read(t, s, off, len(want))
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for got[at] == want[at] {
		at++
	}
	t.Fatalf("byte %d is %#02x, want %#02x", off+uint64(at), got[at], want[at])
}

// What is written is there, across batches and chunks and within extents, also after the database was closed.
func TestReadsBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "thin")
	d := open(t, dir)
	s := unit(t, d, "disk")
	disk := make([]byte, 20<<20)
	for i, w := range []struct{ off, n int }{
		{0, 512}, {512, 512}, {4096, 4096}, {8192 - 512, 1024}, {100 << 10, 3 << 20}, {16<<20 - 1<<20, 3 << 20}, {16<<20 - 512, 1024},
		{19 << 20, 1 << 20}, {1536, 2048}, {0, 3 << 20},
	} {
		data := noise(uint64(i), w.n)
		copy(disk[w.off:], data)
		write(t, s, uint64(w.off), data)
		expect(t, s, uint64(w.off), data)
	}
	expect(t, s, 0, disk)
	zero := func(off, n int, hole bool) {
		if err := s.Zero(t.Context(), uint64(off), uint64(n), hole); err != nil {
			t.Fatal(err)
		}
		clear(disk[off:][:n])
	}
	zero(1<<20, 1<<20, true)
	zero(3<<20+512, 512, true)
	zero(4<<20-512, 12<<10, true)
	zero(5<<20-512, 12<<10, false)
	zero(15<<20, 2<<20, true)
	zero(18<<20, 1<<20, true)
	zero(19<<20, 1<<20, false)
	expect(t, s, 0, disk)
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		closeDB(t, d)
		d = open(t, dir)
		s = unit(t, d, "disk")
		expect(t, s, 0, disk)
		expect(t, s, size-page, make([]byte, page))
	}
}

// Units are apart from each other, and their sizes are kept.
func TestUnits(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	a, b := unit(t, d, "a"), unit(t, d, "b")
	write(t, a, 0, noise(1, page))
	write(t, b, 0, noise(2, page))
	expect(t, a, 0, noise(1, page))
	if _, err := d.Open("a", thin.Unit{}); !errors.Is(err, lun.ErrInUse) {
		t.Errorf("open twice: %v", err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		u    thin.Unit
		want error
	}{
		{"a", thin.Unit{Size: size / 2}, lun.ErrGeometry}, {"a", thin.Unit{BlockSize: 4096}, lun.ErrGeometry},
		{"c", thin.Unit{}, thin.ErrNoUnit}, {"c", thin.Unit{Size: 1000}, lun.ErrGeometry},
		{"c", thin.Unit{Size: 1 << 60}, lun.ErrGeometry}, {"c", thin.Unit{Size: size, BlockSize: 999}, lun.ErrGeometry},
	} {
		if _, err := d.Open(c.name, c.u); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	a, err := d.Open("a", thin.Unit{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, a, 0, noise(1, page))
	if i := a.Info(); i.Size != size || i.BlockSize != 512 || !i.Volatile || i.Kind != "badger" {
		t.Errorf("%+v", i)
	}
	if _, err := thin.Open(dir, thin.Options{Log: quiet}); !errors.Is(err, lun.ErrInUse) {
		t.Errorf("second database: %v", err)
	}
}

// A full file system is ENOSPC before anything is written; space can be given back all the same.
func TestFull(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 40)
	d, err := thin.Open(t.TempDir(), thin.Options{Log: quiet, Free: func(string) (uint64, error) { return free.Load(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer closeDB(t, d)
	s := unit(t, d, "disk")
	warned := 0
	s.Warn(func() { warned++ })
	write(t, s, 0, noise(1, 1<<20))
	for _, step := range []struct {
		free   uint64
		refuse bool
		warned int
	}{{200 << 20, false, 1}, {150 << 20, false, 1}, {20 << 20, true, 1}, {1 << 40, false, 1}, {20 << 20, true, 2}} {
		free.Store(step.free)
		err := s.Write(t.Context(), [][]byte{noise(2, page)}, 0, false)
		if errors.Is(err, unix.ENOSPC) != step.refuse || (err != nil) != step.refuse || warned != step.warned {
			t.Errorf("%d MiB free: %v, warned %d times", step.free>>20, err, warned)
		}
	}
	if err := s.Unmap(t.Context(), 0, 1<<20); err != nil {
		t.Error(err)
	}
	expect(t, s, 0, make([]byte, 1<<20))
	if p, err := s.Space(t.Context()); err != nil || p.Used != 0 || p.Available != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}
