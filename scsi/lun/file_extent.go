package lun

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

var (
	_ Sparse     = (*File)(nil)
	_ Prefetcher = (*File)(nil)
)

// Extent asks the file system. One without holes says that all is data.
func (s *File) Extent(ctx context.Context, off uint64) (hole bool, n uint64, err error) {
	left := s.info.Size - off
	data, err := s.seek(off, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO): // none to the end
		return true, left, nil
	case errors.Is(err, unix.EINVAL):
		return false, left, nil
	case err != nil:
		return false, 0, err
	case data > off:
		return true, min(data-off, left), nil
	}
	end, err := s.seek(off, unix.SEEK_HOLE)
	if err != nil {
		return false, 0, err
	}
	return false, min(end-off, left), nil
}

// seek moves the file's offset, which nothing else uses.
func (s *File) seek(off uint64, whence int) (at uint64, err error) {
	err = retry(func() error {
		n, err := s.sys.seek(s.fd, int64(off), whence)
		at = uint64(n)
		return err
	})
	return at, err
}

// Prefetch has the kernel read the bytes into the page cache.
func (s *File) Prefetch(ctx context.Context, off, n uint64) error {
	return retry(func() error { return s.sys.fadvise(s.fd, int64(off), int64(n), unix.FADV_WILLNEED) })
}
