package dbdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrSpace says that a file system is too full to go on safely. The user makes room.
var ErrSpace error = spaceError{}

// spaceError is unix.ENOSPC for errors.Is, as what the system says is.
type spaceError struct{}

func (spaceError) Error() string        { return "not enough free space" }
func (spaceError) Is(target error) bool { return target == unix.ENOSPC }

// Free returns the bytes that an ordinary user may still write to the file system of path.
func Free(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", path, err)
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// Allocated returns the bytes that files take, as far as they are there.
func Allocated(names ...string) uint64 {
	var n uint64
	for _, name := range names {
		var st unix.Stat_t
		if unix.Stat(name, &st) == nil {
			n += uint64(st.Blocks) * 512
		}
	}
	return n
}

// AllocateFiles gives the blocks that they lack to the files of a database which badger has mapped to write.
// Errors: ErrSpace.
func AllocateFiles(dir string) error {
	var errs []error
	for _, pattern := range []string{"*.mem", "*.vlog", "DISCARD"} {
		names, _ := filepath.Glob(filepath.Join(dir, pattern))
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
	return fallocate(f, 0, 0, n)
}

func fallocate(f *os.File, mode uint32, off, n int64) error {
	err := unix.Fallocate(int(f.Fd()), mode, off, n)
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

// Prepare makes an empty file that has blocks for n bytes already: badger takes one of the name of its next log as it
// is. A file that is there gets them too. Errors: ErrSpace.
func Prepare(path string, n int64) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(fallocate(f, unix.FALLOC_FL_KEEP_SIZE, 0, n), f.Close())
}

// Extend makes a file n bytes longer than off, and gives it blocks for them. On a file system that cannot do so they
// come when they are written. Errors: ErrSpace.
func Extend(f *os.File, off, n int64) error {
	if err := fallocate(f, 0, off, n); err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil && st.Size() < off+n {
		err = f.Truncate(off + n)
	}
	return err
}

// Reserve is the path of a file whose blocks are kept for when they are needed.
type Reserve string

// Make sets n bytes aside, in all. Errors: ErrSpace, and less may have been set aside.
func (r Reserve) Make(n int64) error {
	f, err := os.OpenFile(string(r), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(allocate(f, n), f.Close())
}

// Spend gives back what was set aside, to what is going to need it.
func (r Reserve) Spend() error {
	if err := os.Truncate(string(r), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
