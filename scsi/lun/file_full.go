package lun

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// fullness is whether the file system of a File has no room left, as its log has been told.
type fullness struct {
	full atomic.Bool
	next atomic.Int64 // before this time, in Unix nanoseconds, nothing is told
}

// note tells the log when a change of the file is the first to find the file system full, and when one ends well and
// there is room again: bytes that have their blocks can be written to all the time.
func (s *File) note(ctx context.Context, err error) {
	switch {
	case s.log == nil:
	case errors.Is(err, unix.ENOSPC):
		now := time.Now().UnixNano()
		if s.full.full.Load() || now < s.full.next.Load() || !s.full.full.CompareAndSwap(false, true) {
			return
		}
		s.full.next.Store(now + int64(fullEvery))
		s.log.Error("the file system is full: writes to the disk's holes fail until there is room", "path", s.path,
			"advice", "make room on the file system of the path: the writes that come then are done")
	case err == nil && s.full.full.Load():
		if p, serr := s.Space(ctx); serr == nil && p.Available >= fullRoom && s.full.full.CompareAndSwap(true, false) {
			s.log.Info("there is room for the disk again", "path", s.path, "free_mib", p.Available>>20)
		}
	}
}
