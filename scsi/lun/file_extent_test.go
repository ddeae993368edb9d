package lun

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What the file system answers to SEEK_DATA and SEEK_HOLE becomes extents; EINTR is asked again.
func TestFileExtentAnswers(t *testing.T) {
	f := newFile(t)
	defer f.Close(t.Context())
	const size = 1 << 20
	for name, c := range map[string]struct {
		data, hole int64
		dataErr    error
		holeErr    error
		wantHole   bool
		n          uint64
		err        error
	}{
		"nothing behind":     {dataErr: unix.ENXIO, wantHole: true, n: size - 4096},
		"no holes known":     {dataErr: unix.EINVAL, n: size - 4096},
		"data later":         {data: 12288, wantHole: true, n: 8192},
		"data here":          {data: 4096, hole: 20480, n: 16384},
		"data to the end":    {data: 4096, hole: size, n: size - 4096},
		"end behind the end": {data: 4096, hole: 2 * size, n: size - 4096},
		"failure":            {dataErr: unix.EIO, err: unix.EIO},
		"failure later":      {data: 4096, holeErr: unix.EIO, err: unix.EIO},
	} {
		interrupted := false
		f.sys.seek = func(fd int, off int64, whence int) (int64, error) {
			if interrupted = !interrupted; interrupted {
				return 0, unix.EINTR
			}
			if whence == unix.SEEK_DATA {
				return c.data, c.dataErr
			}
			return c.hole, c.holeErr
		}
		hole, n, err := f.Extent(t.Context(), 4096)
		if hole != c.wantHole || n != c.n || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %d, %v; want %v, %d, %v", name, hole, n, err, c.wantHole, c.n, c.err)
		}
	}
}

// What a file store keeps is all there or as it was, whatever stands in the way.
func TestFileKeeps(t *testing.T) {
	f := newFile(t)
	defer f.Close(t.Context())
	for _, b := range [][]byte{{1}, bytes.Repeat([]byte{7}, 100_000), {2, 3}} {
		if err := f.Keep(t.Context(), "some", b); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Kept(t.Context(), "some"); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%d bytes, %v; want %d", len(got), err, len(b))
		}
	}
	if got, err := f.Kept(t.Context(), "other"); err != nil || got != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	// A directory where the new file would be.
	if err := os.Mkdir(f.path+".some.new", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Keep(t.Context(), "some", []byte{9}); err == nil {
		t.Error("kept where it cannot be written")
	}
	if got, err := f.Kept(t.Context(), "some"); err != nil || !bytes.Equal(got, []byte{2, 3}) {
		t.Errorf("% x, %v", got, err)
	}
	names, err := filepath.Glob(f.path + "*")
	if err != nil || len(names) != 3 {
		t.Errorf("%q, %v", names, err)
	}
}
