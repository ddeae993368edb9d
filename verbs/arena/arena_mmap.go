//go:build !race

package arena

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

func newArena(size int) (*Arena, error) {
	a := &Arena{}
	prot, flags := unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE
	var err error
	if size >= hugePage {
		rounded := (size + hugePage - 1) &^ (hugePage - 1)
		if a.raw, err = unix.Mmap(-1, 0, rounded, prot, flags|unix.MAP_HUGETLB); err == nil {
			a.info.Huge = true
		} else {
			a.info.Reason = fmt.Errorf("huge pages: %w", err)
		}
	}
	if a.raw == nil {
		if a.raw, err = unix.Mmap(-1, 0, size, prot, flags); err != nil {
			return nil, noMemory(size, err)
		}
		if size >= hugePage {
			// A hint: the kernel may still join pages behind our back.
			_ = unix.Madvise(a.raw, unix.MADV_HUGEPAGE)
		}
	}
	a.buf = a.raw[:size:size]
	if err := unix.Mlock(a.raw); err == nil {
		a.info.Locked = true
	} else {
		a.info.Reason = fmt.Errorf("lock: %w", err)
	}
	return a, nil
}

// reserve maps memory that is not there until it is touched.
func reserve(size int) (*Arena, error) {
	a := &Arena{}
	var err error
	a.raw, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
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
	err := unix.Madvise(b, unix.MADV_POPULATE_WRITE)
	if errors.Is(err, unix.EINVAL) { // before Linux 5.14
		for i := 0; i < n; i += PageSize {
			b[i] = 0
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%d bytes of an arena: %w", n, err)
	}
	return nil
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
