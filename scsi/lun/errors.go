package lun

import (
	"errors"
	"fmt"
	"math/bits"
)

// Errors of this package's constructors and of its stores. What goes to an initiator is status and sense.
var (
	// ErrGeometry says that a size or a block size cannot be a disk's. The caller asks for another.
	ErrGeometry = errors.New("not a disk's geometry")

	// ErrInUse says that another process, or another store of this one, has the file. The caller ends that one
	// first, or takes another file.
	ErrInUse = errors.New("in use by another store")

	// ErrNotFile says that what the path names is not a regular file. The caller names one, or none that exists.
	ErrNotFile = errors.New("not a regular file")

	// ErrLost says that a flush has failed: writes acknowledged before it may be lost, whatever later ones say.
	// The caller checks the disk under the file, and opens the store anew.
	ErrLost = errors.New("acknowledged writes may be lost")

	// ErrConfig says that a unit's configuration holds a value that cannot be shown to initiators. The caller
	// corrects the value.
	ErrConfig = errors.New("bad unit configuration")

	// ErrKept says that what a store has kept for its unit cannot be understood. The caller has the store keep nothing
	// under that name (for a file store: removes the file beside it), or finds the version that wrote it.
	ErrKept = errors.New("cannot be understood")

	// ErrLUN says that a LUN is taken, empty, or beyond MaxUnits. The caller takes another.
	ErrLUN = errors.New("no such LUN to be had")
)

// Check holds a store to what the Info fields promise. Errors: ErrGeometry.
func (i Info) Check() error {
	switch {
	case i.BlockSize < MinBlockSize || i.BlockSize > MaxBlockSize || bits.OnesCount32(i.BlockSize) != 1:
		return fmt.Errorf("%s store with blocks of %d bytes, want a power of two from %d to %d: %w",
			i.Kind, i.BlockSize, MinBlockSize, MaxBlockSize, ErrGeometry)
	case i.Size == 0 || i.Size%uint64(i.BlockSize) != 0 || i.Size > 1<<62:
		return fmt.Errorf("%s store of %d bytes, want a multiple of the block size %d, at least one block: %w",
			i.Kind, i.Size, i.BlockSize, ErrGeometry)
	case i.Granularity < i.BlockSize || bits.OnesCount32(i.Granularity) != 1:
		return fmt.Errorf("%s store with a granularity of %d bytes, want a power of two from the block size %d up: %w",
			i.Kind, i.Granularity, i.BlockSize, ErrGeometry)
	}
	return nil
}
