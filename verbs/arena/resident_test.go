//go:build !race

package arena_test

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"minisrp/verbs/arena"
)

const mapped = true

// resident returns how many bytes of an arena take memory, as the kernel says.
func resident(t *testing.T, a *arena.Arena) (n int) {
	t.Helper()
	pages := make([]byte, a.Size()/arena.PageSize)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(a.Addr()), uintptr(a.Size()), uintptr(unsafe.Pointer(&pages[0])))
	if errno != 0 {
		t.Fatal(errno)
	}
	for _, p := range pages {
		n += int(p&1) * arena.PageSize
	}
	return n
}
