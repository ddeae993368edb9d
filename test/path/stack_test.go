package path

import "unsafe"

// stackPointer returns an address on the caller's goroutine's stack.
//
//go:noinline
func stackPointer() uintptr {
	var here byte
	return uintptr(unsafe.Pointer(&here))
}
