package lun_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/test/need"
)

func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "disk")
	write := func(name string, n int) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, c := range map[string]struct {
		path string
		opt  lun.FileOptions
		want error
	}{
		"absent, no size":       {path, lun.FileOptions{}, os.ErrNotExist},
		"no directory":          {filepath.Join(dir, "no", "disk"), lun.FileOptions{Size: 1 << 20}, os.ErrNotExist},
		"directory":             {dir, lun.FileOptions{Size: 1 << 20}, lun.ErrNotFile},
		"device":                {"/dev/null", lun.FileOptions{Size: 1 << 20}, lun.ErrNotFile},
		"odd size":              {path, lun.FileOptions{Size: 1<<20 + 1}, lun.ErrGeometry},
		"odd block":             {path, lun.FileOptions{Size: 1 << 20, BlockSize: 1000}, lun.ErrGeometry},
		"other size":            {write("other", 1<<20), lun.FileOptions{Size: 2 << 20}, lun.ErrGeometry},
		"odd file":              {write("odd", 1000), lun.FileOptions{}, lun.ErrGeometry},
		"empty file, no size":   {write("empty", 0), lun.FileOptions{}, lun.ErrGeometry},
		"file of another block": {write("block", 512), lun.FileOptions{BlockSize: 4096}, lun.ErrGeometry},
	} {
		before, _ := os.Stat(c.path)
		f, err := lun.OpenFile(c.path, c.opt)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if f != nil {
			t.Errorf("%s: a store", name)
		}
		if after, err := os.Stat(c.path); before != nil && before.Mode().IsRegular() && (err != nil || after.Size() != before.Size()) {
			t.Errorf("%s: the file was changed", name)
		}
		_ = os.Remove(path)
	}
	for name, c := range map[string]struct {
		path string
		opt  lun.FileOptions
	}{
		"new":         {path, lun.FileOptions{Size: 1 << 20}},
		"empty":       {write("empty", 0), lun.FileOptions{Size: 1 << 20, BlockSize: 4096}},
		"same size":   {write("same", 1<<20), lun.FileOptions{Size: 1 << 20}},
		"as it is":    {write("as", 1<<20), lun.FileOptions{}},
		"as it is 4k": {write("as4k", 1<<20), lun.FileOptions{BlockSize: 4096}},
	} {
		f, err := lun.OpenFile(c.path, c.opt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if i := f.Info(); i.Size != 1<<20 || i.BlockSize != max(c.opt.BlockSize, 512) || !i.Volatile {
			t.Errorf("%s: %+v", name, i)
		}
		if other, err := lun.OpenFile(c.path, lun.FileOptions{}); !errors.Is(err, lun.ErrInUse) || other != nil {
			t.Errorf("%s: opened a second time: %v", name, err)
		}
		if err := f.Close(context.Background()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again, err := lun.OpenFile(c.path, lun.FileOptions{Size: 1 << 20})
		if err != nil {
			t.Errorf("%s: opened after it was closed: %v", name, err)
			continue
		}
		again.Close(context.Background())
	}
}

// A file that is only read has several readers, but no writer beside them, and is neither made nor changed.
func TestOpenFileReadOnly(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "disk")
	only := lun.FileOptions{Size: 1 << 20, ReadOnly: true}
	if _, err := lun.OpenFile(path, only); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lun.OpenFile(path, only); !errors.Is(err, lun.ErrGeometry) {
		t.Errorf("empty: %v", err)
	}
	if err := os.Truncate(path, 1<<20); err != nil {
		t.Fatal(err)
	}
	var all []*lun.File
	for range 2 {
		f, err := lun.OpenFile(path, only)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	if _, err := lun.OpenFile(path, lun.FileOptions{}); !errors.Is(err, lun.ErrInUse) {
		t.Errorf("for writing too: %v", err)
	}
	b := [][]byte{make([]byte, 512)}
	for _, f := range all {
		for what, err := range map[string]error{
			"write": f.Write(ctx, b, 0, true), "zero": f.Zero(ctx, 0, 4096, false), "unmap": f.Unmap(ctx, 0, 4096),
		} {
			if !errors.Is(err, unix.EROFS) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := errors.Join(f.Read(ctx, b, 0), f.Flush(ctx), f.Close(ctx)); err != nil {
			t.Error(err)
		}
	}
}

// What a store fails with reaches the initiator as the sense data that fit.
func TestStoreErrorsAsSense(t *testing.T) {
	s := newServer()
	var fail error
	store := luntest.Count(luntest.Fail(ram(testSize), func(luntest.Call) error { return fail }))
	attach(t, s, 0, lun.Config{Store: &volatile{store}})
	x := newInitiator(t, s)
	x.attentions(0)
	for _, c := range []struct {
		err         error
		write, read [2]uint16 // key and code
	}{
		{unix.ENOSPC, [2]uint16{7, 0x2707}, [2]uint16{7, 0x2707}},
		{unix.EIO, [2]uint16{3, 0x0c00}, [2]uint16{3, 0x1100}},
	} {
		fail = c.err
		for _, cmd := range [][]byte{
			cdb(&scsi.RW{Write: true, Blocks: 1}), cdb(&scsi.RW{Write: true, FUA: true, Blocks: 1}), cdb(&scsi.WriteSame{Blocks: 9}),
			cdb(&scsi.SyncCache{}), cdb(&scsi.Unmap{ParameterListLength: 24}),
		} {
			out := make([]byte, testBlock)
			copy(out, unmapList(scsi.Extent{Blocks: 1}))
			x.do(0, cmd, out, 0).check(scsi.SenseKey(c.write[0]), scsi.ASC(c.write[1]))
		}
		x.do(0, cdb(&scsi.RW{Blocks: 1}), nil, testBlock).check(scsi.SenseKey(c.read[0]), scsi.ASC(c.read[1]))
	}
	fail = nil
	x.read(0, testBlock)
	if n, failed := store.Calls(luntest.Flush); n != 2 || failed != 2 {
		t.Errorf("%d flushes, %d failed", n, failed)
	}
}

// volatile is a store that needs flushes.
type volatile struct{ lun.Store }

func (v *volatile) Info() lun.Info {
	i := v.Store.Info()
	i.Volatile = true
	return i
}

// A flush, and a read with FUA, reach the store; a flush begins when the writes before it have ended.
func TestFlushReachesStore(t *testing.T) {
	s := newServer()
	count := luntest.Count(ram(testSize))
	attach(t, s, 0, lun.Config{Store: &volatile{count}})
	x := newInitiator(t, s)
	x.attentions(0)
	for i, c := range [][]byte{
		cdb(&scsi.SyncCache{}), cdb(&scsi.SyncCache{Immediate: true}), cdb(&scsi.SyncCache{LBA: 5, Blocks: 1}),
		cdb(&scsi.RW{FUA: true, Blocks: 1}),
	} {
		x.do(0, c, nil, testBlock).good()
		if n, _ := count.Calls(luntest.Flush); n != int64(i+1) {
			t.Errorf("%s: %d flushes, want %d", scsi.CommandName(c), n, i+1)
		}
	}
	x.do(0, cdb(&scsi.SyncCache{LBA: testBlocks, Blocks: 1}), nil, 0).check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
}

// The kernel is asked to make a write last between the write and the answer to FLUSH, and between a write with FUA and
// its own answer.
func TestFlushReachesKernel(t *testing.T) {
	strace := need.Trace(t)
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace")
	cmd := exec.Command(strace, "-f", "-qq", "-o", trace, "-e", "trace=pwritev,pwrite64,pwritev2,fsync,fdatasync,write", "-s", "80", os.Args[0])
	cmd.Env = append(os.Environ(), "LUN_TEST_FLUSHES="+filepath.Join(dir, "disk"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	// Calls that another thread interrupts in the trace end in a line of their own.
	done := `(?:\) += 0| <unfinished[^\n]*(?:\n[^\n]*)*?<\.\.\. fdatasync resumed>\) += 0)`
	order := regexp.MustCompile(`(?s)pwritev\(.*?write status GOOD.*?fdatasync\(\d+` + done +
		`.*?flush status GOOD.*?pwritev\(.*?fdatasync\(\d+` + done + `.*?fua status GOOD`)
	if !order.Match(text) {
		t.Errorf("no write, fdatasync, answer to flush, write, fdatasync, answer to FUA in this order:\n%s", text)
	}
}
