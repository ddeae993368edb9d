package lun

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// holeSupport remembers which ways of making zeros the file system has refused, so that each is tried once.
type holeSupport struct {
	noPunch atomic.Bool
	noZero  atomic.Bool
}

// Unmap punches a hole, or writes zeros where the file system has no holes.
func (s *File) Unmap(ctx context.Context, off, n uint64) error {
	return s.Zero(ctx, off, n, true)
}

// Zero punches a hole if it may. Otherwise it makes extents that read as zeros and keep their space. Where the file
// system has neither, it writes.
func (s *File) Zero(ctx context.Context, off, n uint64, hole bool) error {
	if n == 0 {
		return nil
	}
	if s.only {
		return unix.EROFS
	}
	if hole {
		if ok, err := s.fallocate(ctx, &s.holes.noPunch, unix.FALLOC_FL_PUNCH_HOLE, off, n); ok {
			return err
		}
	}
	if ok, err := s.fallocate(ctx, &s.holes.noZero, unix.FALLOC_FL_ZERO_RANGE, off, n); ok {
		return err
	}
	return fill(ctx, s, zeroBlock[:s.info.BlockSize], off, n)
}

// fallocate reports false when the file system cannot do it, now or before.
func (s *File) fallocate(ctx context.Context, refused *atomic.Bool, mode uint32, off, n uint64) (bool, error) {
	if refused.Load() {
		return false, nil
	}
	s.parts.lock(off, n)
	err := retry(func() error {
		return s.sys.fallocate(s.fd, mode|unix.FALLOC_FL_KEEP_SIZE, int64(off), int64(n))
	})
	s.parts.unlock(off, n)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		refused.Store(true)
		return false, nil
	}
	s.note(ctx, err)
	return true, err
}

// zeroBlock is read only.
var zeroBlock [MaxBlockSize]byte

// fill writes n bytes from off with block over and over; n is a multiple of its length.
func fill(ctx context.Context, s Store, block []byte, off, n uint64) error {
	pieces := make([][]byte, min(n, fillBytes)/uint64(len(block)))
	for i := range pieces {
		pieces[i] = block
	}
	for n > 0 {
		step := min(n, uint64(len(pieces)*len(block)))
		if err := s.Write(ctx, pieces[:step/uint64(len(block))], off, false); err != nil {
			return err
		}
		off, n = off+step, n-step
	}
	return nil
}
