package lun

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"minisrp/scsi"
)

func newFile(t *testing.T) *File {
	t.Helper()
	f, err := OpenFile(filepath.Join(t.TempDir(), "disk"), FileOptions{Size: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Calls that take less than they were given, or are interrupted, are gone on with.
func TestFileShortCalls(t *testing.T) {
	f := newFile(t)
	defer f.Close(t.Context())
	data := make([]byte, 100<<10)
	for i := range data {
		data[i] = byte(i * 7 / 3)
	}
	n := 0
	stutter := func(call vectorCall) vectorCall {
		return func(fd int, p [][]byte, off int64) (int, error) {
			if n++; n%3 == 0 {
				return 0, unix.EINTR
			}
			want := 1 + n*977%5000
			var cut [][]byte
			for _, b := range p {
				if want == 0 {
					break
				}
				b = b[:min(len(b), want)]
				cut, want = append(cut, b), want-len(b)
			}
			return call(fd, cut, off)
		}
	}
	f.sys.pwritev, f.sys.preadv = stutter(unix.Pwritev), stutter(unix.Preadv)
	var out, in [][]byte
	got := make([]byte, len(data))
	for at, size := 0, 1; at < len(data); size = size*3%4099 + 1 {
		end := min(len(data), at+size)
		out, in = append(out, data[at:end], nil), append(in, got[at:end])
		at = end
	}
	if err := f.Write(t.Context(), out, 512, false); err != nil {
		t.Fatal(err)
	}
	if err := f.Read(t.Context(), in, 512); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(f.Path()); err != nil || !bytes.Equal(raw[512:][:len(data)], data) || !bytes.Equal(got, data) {
		t.Error("what was written in pieces differs")
	}
}

// A file that somebody has cut gives an error, not zeros.
func TestFileCut(t *testing.T) {
	f := newFile(t)
	defer f.Close(t.Context())
	if err := os.Truncate(f.Path(), 4096); err != nil {
		t.Fatal(err)
	}
	if err := f.Read(t.Context(), [][]byte{make([]byte, 8192)}, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("read across the end of a cut file: %v", err)
	}
}

// Once a flush has failed, no later one succeeds, however well the system call goes, and none that ran at the same
// time reports success for what the failed one lost.
func TestFlushFailureSticks(t *testing.T) {
	f := newFile(t)
	fail := true
	f.sys.fdatasync = func(int) error {
		if fail {
			fail = false // as the kernel: it tells once
			return unix.EIO
		}
		return nil
	}
	var wg sync.WaitGroup
	var succeeded atomic.Int32
	for range 8 {
		wg.Go(func() {
			if f.Flush(context.Background()) == nil {
				succeeded.Add(1)
			}
		})
	}
	wg.Wait()
	if n := succeeded.Load(); n != 0 {
		t.Errorf("%d flushes succeeded beside one that failed", n)
	}
	for range 3 {
		if err := f.Flush(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, unix.EIO) {
			t.Errorf("flush after a failed one: %v", err)
		}
		if err := f.Write(t.Context(), [][]byte{make([]byte, 512)}, 0, true); !errors.Is(err, ErrLost) {
			t.Errorf("FUA write after a failed flush: %v", err)
		}
	}
	if err := f.Write(t.Context(), [][]byte{make([]byte, 512)}, 0, false); err != nil {
		t.Errorf("write after a failed flush: %v", err)
	}
	if err := f.Close(t.Context()); !errors.Is(err, ErrLost) {
		t.Errorf("close after a failed flush: %v", err)
	}
}

// Flushes that come while one runs wait for another, which they share: the one that runs may have begun too early.
func TestFlushesShare(t *testing.T) {
	var g FlushGroup
	var wg sync.WaitGroup
	began, goOn := make(chan struct{}), make(chan struct{})
	var syncs atomic.Int32
	wg.Go(func() {
		_ = g.Flush(func() error {
			syncs.Add(1)
			close(began)
			<-goOn
			return nil
		})
	})
	<-began
	const late = 5
	for range late {
		wg.Go(func() { _ = g.Flush(func() error { syncs.Add(1); return nil }) })
	}
	close(goOn)
	wg.Wait()
	if n := syncs.Load(); n < 2 || n > 1+late {
		t.Errorf("%d syncs for one flush and %d that came while it ran", n, late)
	}
}

// Without holes in the file system zeros are written, and each way is tried once.
func TestZerosWithoutHoles(t *testing.T) {
	for _, refuse := range []uint32{unix.FALLOC_FL_PUNCH_HOLE, unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_ZERO_RANGE} {
		f := newFile(t)
		var tried []uint32
		f.sys.fallocate = func(fd int, mode uint32, off, n int64) error {
			if tried = append(tried, mode); mode&refuse != 0 {
				return unix.EOPNOTSUPP
			}
			return unix.Fallocate(fd, mode, off, n)
		}
		data := bytes.Repeat([]byte("something"), 100<<10)[:700<<10]
		if err := f.Write(t.Context(), [][]byte{data}, 0, false); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := f.Unmap(t.Context(), 512, 600<<10); err != nil {
				t.Fatal(err)
			}
			if err := f.Zero(t.Context(), 650<<10, 512, false); err != nil {
				t.Fatal(err)
			}
		}
		clear(data[512:][:600<<10])
		clear(data[650<<10:][:512])
		if raw, err := os.ReadFile(f.Path()); err != nil || !bytes.Equal(raw[:len(data)], data) {
			t.Errorf("refusing %#x: the zeros are not where they belong", refuse)
		}
		once := 0
		for _, mode := range tried {
			if mode&refuse != 0 {
				once++
			}
		}
		if want := 1 + int(refuse>>4&1); once != want {
			t.Errorf("refusing %#x: %d refused calls, want %d", refuse, once, want)
		}
		if err := f.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	f := newFile(t)
	defer f.Close(t.Context())
	f.sys.fallocate = func(int, uint32, int64, int64) error { return unix.ENOSPC }
	if err := f.Unmap(t.Context(), 0, 4096); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("another error: %v", err)
	}
}

func TestSenseOfStoreErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		key  scsi.SenseKey
		code scsi.ASC
	}{
		{unix.ENOSPC, scsi.KeyDataProtect, scsi.ASCSpaceAllocation},
		{&os.PathError{Op: "write", Err: unix.EDQUOT}, scsi.KeyDataProtect, scsi.ASCSpaceAllocation},
		{unix.EROFS, scsi.KeyDataProtect, scsi.ASCWriteProtected},
		{unix.EIO, scsi.KeyMediumError, scsi.ASCUnrecoveredRead},
		{io.ErrUnexpectedEOF, scsi.KeyMediumError, scsi.ASCUnrecoveredRead},
		{errors.Join(unix.ENOSPC, ErrLost), scsi.KeyMediumError, scsi.ASCWriteError},
		{nil, scsi.KeyNoSense, scsi.ASCNone},
	} {
		if s := new(Unit).senseOf(c.err, scsi.ASCUnrecoveredRead); s.Key != c.key || s.ASC != c.code {
			t.Errorf("%v: %v", c.err, s)
		}
	}
}

// That the file system is full is told once, with the way out, and that there is room again, when there is: bytes that
// have their blocks can be written to also while it is full.
func TestFileFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f := newFile(t)
		defer f.Close(t.Context())
		f.log = slog.New(slog.NewTextHandler(&log, nil))
		var room uint64
		var full bool
		f.sys.statfs = func(fd int, into *unix.Statfs_t) error {
			*into = unix.Statfs_t{Bavail: room / 4096, Bsize: 4096}
			return nil
		}
		f.sys.pwritev = func(fd int, p [][]byte, off int64) (int, error) {
			if full && off > 0 {
				return 0, unix.ENOSPC
			}
			return unix.Pwritev(fd, p, off)
		}
		block := [][]byte{make([]byte, 4096)}
		step := func(what string, filled bool, free uint64, off uint64, want ...string) {
			t.Helper()
			full, room = filled, free
			err := f.Write(t.Context(), block, off, false)
			if errors.Is(err, unix.ENOSPC) != (filled && off > 0) {
				t.Errorf("%s: %v", what, err)
			}
			said := log.String()
			log.Reset()
			if n := strings.Count(said, "\n"); n != min(len(want), 1) {
				t.Errorf("%s: it has said %q", what, said)
			}
			for _, w := range append(want, f.Path()) {
				if len(want) > 0 && !strings.Contains(said, w) {
					t.Errorf("%s: it has said %q, without %q", what, said, w)
				}
			}
		}
		step("with room", false, 1<<30, 4096)
		step("at the end", true, 0, 4096, "level=ERROR", "file system is full", "make room")
		step("again", true, 0, 8192)
		step("where there are blocks", true, 0, 0)
		step("with a little", false, fullRoom-4096, 4096)
		step("with enough", false, fullRoom, 4096, "level=INFO", "room for the disk again")
		step("and more", false, fullRoom, 4096)
		step("at the end soon", true, 0, 4096)
		time.Sleep(fullEvery)
		step("at the end later", true, 0, 4096, "level=ERROR")
		step("with room again", false, 1<<30, 4096, "level=INFO")
	})
}
