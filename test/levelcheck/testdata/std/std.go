package std

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"sort"
	"sync/atomic"
	"time"
	"unsafe"

	"minisrp/verbs/dispatch"
)

func unlisted(f *dispatch.Frame, file *os.File, b []byte) {
	fmt.Println()                                                // want `\[std\] at Dispatch: calls fmt.Println, which is not on the list`
	file.Sync()                                                  // want `\[std\] at Dispatch: calls os.File.Sync, which is not on the list`
	_ = time.Now()                                               // want `\[std\] at Dispatch: calls time.Now, which is not on the list`
	sort.Ints(nil)                                               // want `\[std\] at Dispatch: calls sort.Ints, which is not on the list`
	binary.Read(nil, nil, nil)                                   // want `\[std\] at Dispatch: calls encoding/binary.Read, which is not on the list`
	_ = bytes.Clone(b)                                           // want `\[std\] at Dispatch: calls bytes.Clone, which is not on the list`
	println("x")                                                 // want `\[std\] at Dispatch: println writes to standard error`
	_ = slices.IndexFunc(b, func(c byte) bool { return c == 0 }) // want `\[std\] at Dispatch: calls slices.IndexFunc, which is not on the list`
}

func listed(f *dispatch.Frame, b []byte, n *atomic.Uint64) []byte {
	binary.BigEndian.PutUint32(b, binary.LittleEndian.Uint32(b))
	n.Add(uint64(bits.Len8(b[0])))
	if bytes.Equal(b, b) && slices.Contains(b, 3) {
		copy(b, b[1:])
		clear(b)
	}
	_ = unsafe.Slice(&b[0], min(4, len(b)))
	return append(b[:0], 1)
}
