//go:build race

package arena

import (
	"errors"
	"unsafe"
)

// newArena allocates on the Go heap, whose objects do not move either.
func newArena(size int) (*Arena, error) {
	raw := make([]byte, size+PageSize)
	at := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & (PageSize - 1))
	return &Arena{
		raw:  raw,
		buf:  raw[at : at+size : at+size],
		info: Info{Reason: errors.New("Go heap under the race detector")},
	}, nil
}

func reserve(size int) (*Arena, error) { return newArena(size) }

// Populate has nothing to do here.
//
//level:passive
func (a *Arena) Populate(off, n int) error {
	a.part(off, n)
	return nil
}

// Release makes the bytes zeros: who still touches them races with that.
//
//level:passive
func (a *Arena) Release(off, n int) error {
	clear(a.part(off, n))
	return nil
}

// Close drops the memory. No device may know it any more.
//
//level:passive
func (a *Arena) Close() error {
	a.raw, a.buf = nil, nil
	return nil
}
