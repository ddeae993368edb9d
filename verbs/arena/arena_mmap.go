//go:build !race

package arena

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	hugePage = 2 << 20

	// hugeFrom is the size in bytes from which an arena is had in transparent huge pages. They make random access to a disk
	// in memory cheaper, and its first touch; but the kernel clears all of one at once, which takes some ms under nested
	// paging, and memory that comes and goes with a client would pay for what it does not use.
	hugeFrom = 16 << 20

	readWrite = unix.PROT_READ | unix.PROT_WRITE
	private   = unix.MAP_ANON | unix.MAP_PRIVATE
)

func newArena(size int) (*Arena, error) {
	a := &Arena{}
	if size >= hugePage {
		rounded := (size + hugePage - 1) &^ (hugePage - 1)
		var err error
		if a.raw, err = unix.Mmap(-1, 0, rounded, readWrite, private|unix.MAP_POPULATE|unix.MAP_HUGETLB); err == nil {
			a.info.Huge = true
			a.buf = a.raw[:size:size]
		} else {
			a.info.Reason = fmt.Errorf("huge pages: %w", err)
		}
	}
	if a.raw == nil {
		if err := a.mapPages(size); err != nil {
			return nil, noMemory(size, err)
		}
	}
	if err := unix.Mlock(a.buf); err == nil {
		a.info.Locked = true
	} else {
		a.info.Reason = fmt.Errorf("lock: %w", err)
	}
	return a, nil
}

// mapPages maps memory in ordinary pages, or in what huge pages the kernel makes of them: only where it is told to before
// they are there, and at addresses that are multiples of such a page.
func (a *Arena) mapPages(size int) (err error) {
	if size < hugeFrom {
		a.raw, err = unix.Mmap(-1, 0, size, readWrite, private|unix.MAP_POPULATE)
		a.buf = a.raw
		return err
	}
	if a.raw, err = unix.Mmap(-1, 0, size+hugePage, readWrite, private|unix.MAP_NORESERVE); err != nil {
		return err
	}
	at := int(-uintptr(unsafe.Pointer(unsafe.SliceData(a.raw))) & (hugePage - 1))
	a.buf = a.raw[at:][:size:size]
	_ = unix.Madvise(a.buf, unix.MADV_HUGEPAGE) // a hint; kernels may be built without
	if err = populate(a.buf); err != nil {
		_ = unix.Munmap(a.raw)
	}
	return err
}

// reserve maps memory that is not there until it is touched.
func reserve(size int) (*Arena, error) {
	a := &Arena{}
	var err error
	a.raw, err = unix.Mmap(-1, 0, size, readWrite, private|unix.MAP_NORESERVE)
	if err != nil {
		return nil, noMemory(size, err)
	}
	a.buf = a.raw[:size:size]
	a.info.Reason = errors.New("reserved")
	return a, nil
}

// noMemory says what keeps an arena from being mapped.
func noMemory(size int, err error) error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil && limit.Cur != unix.RLIM_INFINITY {
		return fmt.Errorf("arena of %d bytes: %w: the process may have %d bytes of address space (RLIMIT_AS, ulimit -v)", size, err, limit.Cur)
	}
	return fmt.Errorf("arena of %d bytes: %w", size, err)
}

// Populate makes n bytes from off on present, which are not, and locks them where that is allowed; both are multiples of
// PageSize. They read as zeros. On an error, for want of memory, some of them may be present.
//
//level:passive
func (a *Arena) Populate(off, n int) error {
	b := a.part(off, n)
	if unix.Mlock(b) == nil {
		return nil
	}
	if err := populate(b); err != nil {
		return fmt.Errorf("%d bytes of an arena: %w", n, err)
	}
	return nil
}

// populate makes memory that reads as zeros present.
func populate(b []byte) error {
	err := unix.Madvise(b, unix.MADV_POPULATE_WRITE)
	if errors.Is(err, unix.EINVAL) { // before Linux 5.14
		for i := 0; i < len(b); i += PageSize {
			b[i] = 0
		}
		return nil
	}
	return err
}

// Release gives the memory of n bytes from off on back to the kernel. Nobody may touch them before they are populated
// again.
//
//level:passive
func (a *Arena) Release(off, n int) error {
	b := a.part(off, n)
	_ = unix.Munlock(b) // locked memory is not given back
	if err := unix.Madvise(b, unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("giving back %d bytes of an arena: %w", n, err)
	}
	return nil
}

// Close returns the memory to the kernel. No device may know it any more.
//
//level:passive
func (a *Arena) Close() error {
	raw := a.raw
	a.raw, a.buf = nil, nil
	if raw == nil {
		return nil
	}
	return unix.Munmap(raw)
}
