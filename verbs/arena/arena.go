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
	Reason error // why Huge or Locked is false; nil when both hold
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

// Bytes returns the whole arena.
func (a *Arena) Bytes() []byte { return a.buf }

// Size returns the number of bytes.
func (a *Arena) Size() int { return len(a.buf) }

// Addr returns the address of the first byte, as work requests name it.
func (a *Arena) Addr() uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(a.buf)))) }

// Info returns what the kernel granted.
func (a *Arena) Info() Info { return a.info }
