//go:build leveltwin

package dispatch

// goroutine identifies the calling goroutine among those that there are: by the address of what the runtime has for it.
func goroutine() uintptr
