package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// freeSpace returns the bytes that an ordinary user may still write to the file system of path.
func freeSpace(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", path, err)
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// checkSpace refuses when there is less than need, of which have is set aside already.
func (s *Store) checkSpace(need, have uint64) error {
	free, err := s.free(s.dir)
	if err != nil {
		return err
	}
	if free+have < need {
		return fmt.Errorf("%w: %d KiB free in %s, want %d", ErrSpace, (free+have)>>10, s.dir, need>>10)
	}
	return nil
}

// makeReserve sets space aside: n bytes in all.
func (s *Store) makeReserve(n int64) error {
	f, err := os.OpenFile(s.reserve(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(allocate(f, n), f.Close())
}

// spendReserve gives the space that was set aside back, to what is going to need it.
func (s *Store) spendReserve() error {
	if err := os.Truncate(s.reserve(), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// refillReserve sets aside again what there is room for.
func (s *Store) refillReserve() error {
	free, err := s.free(s.dir)
	if err != nil {
		return err
	}
	n := min(free, reserveSize)
	if n < reserveSize {
		s.log.Warn("the file system is full: disks cannot grow, and no new ones get names", "path", s.dir)
	}
	if err := s.makeReserve(int64(n)); err != nil && !errors.Is(err, ErrSpace) {
		return err
	}
	return nil
}

// held returns how much is set aside or in use already.
func (s *Store) held() uint64 {
	names, _ := filepath.Glob(filepath.Join(s.database(), "*"))
	var n uint64
	for _, name := range append(names, s.reserve()) {
		var st unix.Stat_t
		if unix.Stat(name, &st) == nil {
			n += uint64(st.Blocks) * 512
		}
	}
	return n
}

// allocateFiles gives the blocks that they lack to the files which badger has mapped.
func (s *Store) allocateFiles() error {
	var errs []error
	for _, pattern := range []string{"*.mem", "*.vlog", "DISCARD"} {
		names, _ := filepath.Glob(filepath.Join(s.database(), pattern))
		for _, name := range names {
			f, err := os.OpenFile(name, os.O_RDWR, 0)
			if errors.Is(err, fs.ErrNotExist) {
				continue // badger has done with it
			}
			if err == nil {
				var st fs.FileInfo
				if st, err = f.Stat(); err == nil {
					err = allocate(f, st.Size())
				}
				err = errors.Join(err, f.Close())
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// allocate gives a file blocks for its first n bytes. A file system that cannot do so is no error: the free space has
// been looked at.
func allocate(f *os.File, n int64) error {
	if n == 0 {
		return nil
	}
	err := unix.Fallocate(int(f.Fd()), 0, 0, n)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		return nil
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%w: %s: %d KiB cannot be allocated", ErrSpace, f.Name(), n>>10)
	case err != nil:
		return fmt.Errorf("allocate %s: %w", f.Name(), err)
	}
	return nil
}
