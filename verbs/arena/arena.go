package arena

import (
	"fmt"
	"unsafe"
)

// PageSize is the granularity of arenas, in bytes.
const PageSize = 4096

// Arena is a run of memory with a fixed address.
type Arena struct {
	buf  []byte // what was asked for, rounded up to PageSize
	raw  []byte // what was mapped
	info Info
}

// Info says what the kernel granted.
type Info struct {
	Huge   bool  // mapped in huge pages
	Locked bool  // cannot be paged out
	Reason error // why Huge or Locked is false; nil when both hold. What Reserve made says it by Populate
}

// New makes an arena of size bytes (1 to 1<<40, rounded up to whole pages) that
// reads as zeros.
//
//level:passive
func New(size int) (*Arena, error) {
	if size < 1 || size > 1<<40 {
		return nil, fmt.Errorf("arena of %d bytes: want 1 to %d", size, 1<<40)
	}
	return newArena((size + PageSize - 1) &^ (PageSize - 1))
}

// Reserve makes an arena of size bytes of which nothing takes memory yet: Populate makes a part of it present, Release gives
// it back. Only for devices that look at memory by its addresses, as the software HCA does: others make all of it present
// when it is registered, and do not see that a part was given back.
//
//level:passive
func Reserve(size int) (*Arena, error) {
	if size < 1 || size > 1<<40 {
		return nil, fmt.Errorf("arena of %d bytes: want 1 to %d", size, 1<<40)
	}
	return reserve((size + PageSize - 1) &^ (PageSize - 1))
}

// part returns n bytes from off on, which are whole pages of the arena.
func (a *Arena) part(off, n int) []byte {
	if off%PageSize != 0 || n%PageSize != 0 || n < PageSize {
		panic(fmt.Sprintf("arena: bytes %d to %d are not whole pages", off, off+n))
	}
	return a.buf[off : off+n : off+n]
}

// Bytes returns the whole arena.
func (a *Arena) Bytes() []byte { return a.buf }

// Size returns the number of bytes.
func (a *Arena) Size() int { return len(a.buf) }

// Addr returns the address of the first byte, as work requests name it.
func (a *Arena) Addr() uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(a.buf)))) }

// Info returns what the kernel granted.
func (a *Arena) Info() Info { return a.info }
