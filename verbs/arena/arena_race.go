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

// Close drops the memory. No device may know it any more.
//
//level:passive
func (a *Arena) Close() error {
	a.raw, a.buf = nil, nil
	return nil
}
