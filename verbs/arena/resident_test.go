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

// Large arenas begin where a huge page can, are all there, and are given back as a whole.
func TestLarge(t *testing.T) {
	const size = 20<<20 + 12288
	a, err := arena.New(size)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if at := a.Addr() % (2 << 20); at != 0 {
		t.Errorf("it begins %d bytes into a huge page", at)
	}
	if a.Size() != size || len(a.Bytes()) != size || cap(a.Bytes()) != size {
		t.Errorf("%d bytes, %d in a slice of %d", a.Size(), len(a.Bytes()), cap(a.Bytes()))
	}
	if n := resident(t, a); n != size {
		t.Errorf("%d of %d bytes are present", n, size)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
