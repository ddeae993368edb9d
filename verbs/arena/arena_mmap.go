//go:build !race

package arena

import (
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
			return nil, fmt.Errorf("arena of %d bytes: %w", size, err)
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
