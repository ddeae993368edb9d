package thin_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"minisrp/scsi/lun/dbdir"
	"minisrp/scsi/lun/thin"
)

// Where a database that was killed is opened without room for compactions it can be read, and when there is room again,
// written to. Where badger cannot be opened either, it is refused, and is there later.
func TestStill(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	rounds := kill(t, dir, 9)
	if err := os.RemoveAll(filepath.Join(dir, "reserve")); err != nil {
		t.Fatal(err)
	}
	var free atomic.Uint64
	opt := thin.Options{Log: quiet, Free: func(string) (uint64, error) {
		total := free.Load()
		return total - min(total, dbdir.Allocated(filepath.Join(dir, "reserve"))), nil
	}}
	if _, err := thin.Open(dir, opt); !errors.Is(err, dbdir.ErrSpace) {
		t.Fatalf("opened where there is nothing free: %v", err)
	}
	free.Store(64 << 20)
	d, err := thin.Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer closeDB(t, d)
	s := unit(t, d, "disk")
	if err := intact(s, rounds); err != nil {
		t.Fatal(err)
	}
	changes := map[string]func() error{
		"write":   func() error { return s.Write(ctx, [][]byte{noise(1, page)}, size-page, false) },
		"unmap":   func() error { return s.Unmap(ctx, roundAt(0), page) },
		"keep":    func() error { return s.Keep(ctx, "what", []byte("this")) },
		"restore": func() error { return d.Restore(ctx, bytes.NewReader(nil), "other") },
		"make":    func() error { _, err := d.Open("new", thin.Unit{Size: size}); return err },
	}
	for what, change := range changes {
		if err := change(); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Flush(ctx); err != nil {
		t.Error(err)
	}

	// Reads go on meanwhile.
	var readers sync.WaitGroup
	var writable atomic.Bool
	for range 2 {
		readers.Go(func() {
			for !writable.Load() {
				if err := intact(s, rounds); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	free.Store(1 << 40)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-look.C {
		if err = changes["write"](); !errors.Is(err, unix.ENOSPC) || time.Now().After(deadline) {
			break
		}
	}
	writable.Store(true)
	readers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, page)
	if err := s.Read(ctx, [][]byte{got}, size-page); err != nil || !bytes.Equal(got, noise(1, page)) {
		t.Errorf("what was written is not read: %v", err)
	}
	if err := errors.Join(changes["unmap"](), changes["keep"](), s.Flush(ctx)); err != nil {
		t.Error(err)
	}
}
