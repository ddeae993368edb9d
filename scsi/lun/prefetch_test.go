package lun_test

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
)

// resident counts the pages of a file that are in the page cache.
func resident(t *testing.T, path string, off, n int) (pages int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), int64(off), n, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	in := make([]byte, (n+os.Getpagesize()-1)/os.Getpagesize())
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(n), uintptr(unsafe.Pointer(&in[0]))); errno != 0 {
		t.Fatal(errno)
	}
	for _, b := range in {
		pages += int(b & 1)
	}
	return pages
}

// drop takes a file out of the page cache, and reports whether it is.
func drop(t *testing.T, path string, n int) bool {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	return resident(t, path, 0, n) == 0
}

func preFetchEffect(wide bool) func(t *testing.T, u *effectUnit) {
	return func(t *testing.T, u *effectUnit) {
		put := func(c scsi.PreFetch) *command {
			var b scsi.CDB
			n := c.Put(&b)
			if wide {
				n = c.Put16(&b)
			}
			return u.do(0, b[:n], nil, 0)
		}
		met := func(c *command) {
			t.Helper()
			if c.Status != scsi.StatusConditionMet {
				t.Errorf("%v", c.err())
			}
		}
		const size = testSize / 2
		u.put(0, pattern(1, size))
		for _, immediate := range []bool{false, true} {
			reads, _ := u.count.Calls(luntest.Read)
			path := filepath.Join(u.dir, "disk")
			onFile := places[u.place].name == "file" && drop(t, path, size) // some file systems live in the cache
			met(put(scsi.PreFetch{Immediate: immediate, LBA: 0, Blocks: 4096}))
			if n, _ := u.count.Calls(luntest.Read); !immediate && n == reads {
				t.Error("nothing was read")
			}
			if onFile {
				u.wait(func() bool { return resident(t, path, 0, 4096*testBlock) == 4096*testBlock/os.Getpagesize() })
			}
		}
		met(put(scsi.PreFetch{LBA: 0})) // all of it
		put(scsi.PreFetch{LBA: testBlocks, Blocks: 1}).check(scsi.KeyIllegalRequest, scsi.ASCLBAOutOfRange)
		met(put(scsi.PreFetch{LBA: testBlocks}))
	}
}

// PRE-FETCH of more than fits is refused when asked for, and done in part when it is "to the end"; of memory there is
// nothing to fetch.
func TestPreFetchLimits(t *testing.T) {
	s := newServer()
	attach(t, s, 0, lun.Config{Store: luntest.Count(must(lun.NewNull(1<<30, testBlock)))})
	attach(t, s, 1, lun.Config{Store: must(lun.NewNull(1<<30, testBlock)), Serial: "1"})
	x := newInitiator(t, s)
	x.attentions(0)
	x.attentions(1)
	x.do(0, cdb(&scsi.PreFetch{Blocks: 64<<11 + 1}), nil, 0).check(scsi.KeyIllegalRequest, scsi.ASCInvalidFieldInCDB)
	x.do(0, cdb(&scsi.PreFetch{}), nil, 0).good()
	if c := x.do(0, cdb(&scsi.PreFetch{Blocks: 64 << 11}), nil, 0); c.Status != scsi.StatusConditionMet {
		t.Errorf("%v", c.err())
	}
	if c := x.command(1, cdb(&scsi.PreFetch{Blocks: 9}), nil, 0); c.prepare() != lun.Finished || c.Status != scsi.StatusConditionMet {
		t.Errorf("on memory: verdict %d, %v", c.verdict, c.err())
	} else {
		c.release()
	}
}
