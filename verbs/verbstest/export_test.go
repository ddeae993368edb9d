package verbstest

import (
	"testing"
	"unsafe"

	"minisrp/verbs/dispatch"
)

// CrossForeign lets the address of a Go object cross.
func CrossForeign(t *testing.T) {
	mem, err := newSpace(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.a.Close()
	q := farQP{mem: &mem}
	wr := new(cSendWR)
	q.postSend(new(dispatch.Frame), uint64(uintptr(unsafe.Pointer(wr))))
}
