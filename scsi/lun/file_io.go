package lun

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// fileSystem is the system calls that a File makes on its descriptor, so that tests can let them fail.
type fileSystem struct {
	preadv    vectorCall
	pwritev   vectorCall
	fdatasync func(fd int) error
	fallocate func(fd int, mode uint32, off, n int64) error
	seek      func(fd int, off int64, whence int) (int64, error)
	fadvise   func(fd int, off, n int64, advice int) error
	statfs    func(fd int, into *unix.Statfs_t) error
}

type vectorCall func(fd int, p [][]byte, off int64) (int, error)

var linuxFile = fileSystem{unix.Preadv, unix.Pwritev, unix.Fdatasync, unix.Fallocate, unix.Seek, unix.Fadvise, unix.Fstatfs}

// maxVector is IOV_MAX: the pieces that one system call takes.
const maxVector = 1024

// move reads or writes all of p, however little of it each call takes.
func (s *File) move(call vectorCall, p [][]byte, off uint64) error {
	var piece [1][]byte // what is left of a piece that a call stopped in
	for len(p) > 0 {
		if len(p[0]) == 0 {
			p = p[1:]
			continue
		}
		n, err := call(s.fd, p[:min(len(p), maxVector)], int64(off))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		off += uint64(n)
		for len(p) > 0 && n >= len(p[0]) {
			n -= len(p[0])
			p = p[1:]
		}
		if n == 0 {
			continue
		}
		piece[0] = p[0][n:]
		p = p[1:]
		if err := s.move(call, piece[:], off); err != nil {
			return err
		}
		off += uint64(len(piece[0]))
	}
	return nil
}

// retry calls fn again for as long as signals interrupt it.
func retry(fn func() error) error {
	for {
		if err := fn(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
