package state

import (
	"errors"
	"fmt"
	"path/filepath"

	"minisrp/scsi/lun/dbdir"
)

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
	if err := s.reserve().Make(int64(n)); err != nil && !errors.Is(err, ErrSpace) {
		return err
	}
	return nil
}

// held returns how much is set aside or in use already.
func (s *Store) held() uint64 {
	names, _ := filepath.Glob(filepath.Join(s.database(), "*"))
	return dbdir.Allocated(append(names, string(s.reserve()))...)
}
