package guest

import (
	"fmt"
	"io"
)

// archive writes a cpio archive of the "newc" kind, which the kernel unpacks as its
// first file system (Documentation/driver-api/early-userspace/buffer-format.rst).
type archive struct {
	w   io.Writer
	n   int64
	ino int
	err error
}

const (
	modeFile = 0o100755
	modeDir  = 0o040755
)

func (a *archive) add(name string, mode int, data []byte) {
	a.ino++
	a.printf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
	a.pad()
	a.write(data)
	a.pad()
}

func (a *archive) dir(name string)               { a.add(name, modeDir, nil) }
func (a *archive) file(name string, data []byte) { a.add(name, modeFile, data) }

func (a *archive) close() error {
	a.add("TRAILER!!!", 0, nil)
	return a.err
}

func (a *archive) printf(format string, args ...any) { a.write(fmt.Appendf(nil, format, args...)) }

func (a *archive) write(b []byte) {
	if a.err == nil {
		var n int
		n, a.err = a.w.Write(b)
		a.n += int64(n)
	}
}

// pad brings the archive to a multiple of four bytes.
func (a *archive) pad() { a.write(make([]byte, -a.n&3)) }
