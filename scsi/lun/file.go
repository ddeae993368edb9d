package lun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// File is a store in a regular file: block n of the disk is at byte n*BlockSize. Blocks never written, unmapped or
// zeroed are holes where the file system has them.
//
// Ownership: the file is locked (flock) from OpenFile to Close, so that no second store, in this process or
// another, has it; those that only read may be several. Nothing else may write to it or change its size meanwhile.
type File struct {
	// Fixed after construction.
	info Info
	path string
	f    *os.File
	fd   int
	only bool // read
	sys  fileSystem
	log  *slog.Logger

	holes holeSupport
	parts rangeLock
	group FlushGroup
	full  fullness
}

// FileOptions says what OpenFile is to open or make.
type FileOptions struct {
	// Size is the disk's size in bytes. A file that does not exist, or is empty, gets it; one that has data must
	// be of this size. Zero takes an existing file as it is.
	Size uint64

	// BlockSize is the logical block size in bytes; zero means 512.
	BlockSize uint32

	// ReadOnly opens a file that is there for reading, which may be on a medium that cannot be written. What would
	// write ends with unix.EROFS.
	ReadOnly bool

	// Log is told when the file system is full, and when there is room again; nil for nobody.
	Log *slog.Logger
}

// fileGranularity is the page size of the file systems that matter; a smaller unmapped piece is cleared but stays.
const fileGranularity = 4096

// OpenFile opens, or makes, the file at path and locks it. A new file is a single hole and is in its directory for
// good when OpenFile returns. Errors: ErrInUse, ErrNotFile, ErrGeometry (the size asked for or found; the file is
// left as it was), and those of the system.
//
//level:passive
func OpenFile(path string, opt FileOptions) (*File, error) {
	if opt.BlockSize == 0 {
		opt.BlockSize = MinBlockSize
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("file store %s: %w", path, ErrNotFile) // before an open that might wait or act on a device
	}
	access := os.O_RDWR
	if opt.ReadOnly {
		access = os.O_RDONLY
	}
	f, err := os.OpenFile(path, access, 0)
	if errors.Is(err, fs.ErrNotExist) && opt.Size > 0 && !opt.ReadOnly {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("file store: %w", err)
	}
	s := &File{path: path, f: f, fd: int(f.Fd()), only: opt.ReadOnly, sys: linuxFile, log: opt.Log}
	if err := s.open(opt); err != nil {
		f.Close()
		return nil, fmt.Errorf("file store %s: %w", path, err)
	}
	return s, nil
}

// open locks the file, gives an empty one its size, and checks what is there.
func (s *File) open(opt FileOptions) error {
	lock := unix.LOCK_EX
	if s.only {
		lock = unix.LOCK_SH
	}
	if err := unix.Flock(s.fd, lock|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return ErrInUse
		}
		return fmt.Errorf("lock: %w", err)
	}
	st, err := s.f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return ErrNotFile
	}
	size := uint64(st.Size())
	fresh := size == 0 && opt.Size > 0 && !s.only
	if fresh {
		size = opt.Size
	}
	s.info = Info{
		Kind: "file", Size: size, BlockSize: opt.BlockSize,
		Granularity: max(opt.BlockSize, fileGranularity), Volatile: true,
	}
	if err := s.info.Check(); err != nil {
		return err
	}
	if opt.Size > 0 && size != opt.Size {
		return fmt.Errorf("it has %d bytes and %d were asked for; a file keeps the size it was made with: %w",
			size, opt.Size, ErrGeometry)
	}
	if !fresh {
		return nil
	}
	if err := s.f.Truncate(int64(size)); err != nil {
		return err
	}
	if err := s.f.Sync(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(s.path))
}

// syncDir makes the names in a directory last.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Path returns the path given to OpenFile.
func (s *File) Path() string { return s.path }

func (s *File) Info() Info { return s.info }

// Read fails with io.ErrUnexpectedEOF when somebody has cut the file.
func (s *File) Read(ctx context.Context, p [][]byte, off uint64) error {
	n := Length(p)
	s.parts.rlock(off, n)
	defer s.parts.runlock(off, n)
	return s.move(s.sys.preadv, p, off)
}

// Write leaves the bytes to the page cache, or, with fua, waits until they are on the medium.
func (s *File) Write(ctx context.Context, p [][]byte, off uint64, fua bool) error {
	if s.only {
		return unix.EROFS
	}
	n := Length(p)
	s.parts.lock(off, n)
	err := s.move(s.sys.pwritev, p, off)
	s.parts.unlock(off, n)
	s.note(ctx, err)
	if err != nil || !fua {
		return err
	}
	// Not RWF_DSYNC: the kernel tells a failed write-back to one caller only, so that another's success would
	// mean nothing. All syncs of the file go through one place.
	return s.Flush(ctx)
}

func (s *File) Flush(ctx context.Context) error {
	if s.only {
		return nil
	}
	err := s.group.Flush(func() error { return retry(func() error { return s.sys.fdatasync(s.fd) }) })
	s.note(ctx, err) // of file systems that look for blocks only then
	return err
}

// Close flushes and lets go of the lock.
func (s *File) Close(ctx context.Context) error {
	err := s.Flush(ctx)
	if cerr := s.f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("file store %s: %w", s.path, err)
	}
	return nil
}
