//go:build leveltwin && !amd64

package dispatch

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutine identifies the calling goroutine: by the number that its stack trace starts with.
func goroutine() uintptr {
	var b [64]byte
	fields := bytes.Fields(b[:runtime.Stack(b[:], false)])
	n, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		panic("dispatch: a stack trace without a goroutine's number: " + err.Error())
	}
	return uintptr(n)
}
