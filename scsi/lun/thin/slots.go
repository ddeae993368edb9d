package thin

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"minisrp/scsi/lun/dbdir"
)

// slots is the data file, which is cut into slots of extentBytes, and which of them are free. Nothing in a slot is ever
// written over before a flush has made last that nobody refers to it: so what was flushed is there whatever happens.
//
//	free ──take──► written, then named by the database ──leave──► leaving ──flush──► free
//
// Ownership: its DB's; called from any store.
type slots struct {
	f     *os.File    // fixed after construction
	dirty atomic.Bool // something was written since the last sync began

	mu      sync.Mutex // guards what follows; held over growth of the file
	taken   []uint64   // a bit a slot
	free    int
	next    int      // where free ones are looked for first
	leaving []uint64 // since the last flush began
	held    []uint64 // flushed, but snapshots may read them
	readers int      // snapshots
}

func openSlots(path string) (*slots, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s := &slots{f: f}
	s.add(int(st.Size() / extentBytes / 64))
	return s, nil
}

// add adds free slots, 64 for each word. mu is held, or nobody else has s yet.
func (s *slots) add(words int) {
	s.taken = append(s.taken, make([]uint64, words)...)
	s.free += 64 * words
}

// claim takes a slot that the database names, while it is opened. It reports false if that cannot be.
func (s *slots) claim(slot uint64) bool {
	if slot >= uint64(64*len(s.taken)) || s.taken[slot/64]>>(slot%64)&1 != 0 {
		return false
	}
	s.taken[slot/64] |= 1 << (slot % 64)
	s.free--
	return true
}

// take takes up to n slots that follow each other, at least one. Errors: dbdir.ErrSpace.
func (s *slots) take(n int) (first uint64, got int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		if err := s.grow(); err != nil {
			return 0, 0, err
		}
	}
	at := s.find(s.next)
	for got < n && at+got < 64*len(s.taken) && s.taken[(at+got)/64]>>((at+got)%64)&1 == 0 {
		s.taken[(at+got)/64] |= 1 << ((at + got) % 64)
		got++
	}
	s.free -= got
	s.next = at + got
	return uint64(at), got, nil
}

// find returns the first free slot from one on, or from the beginning; there is one. mu is held.
func (s *slots) find(from int) int {
	if from < 64*len(s.taken) {
		if w := ^s.taken[from/64] >> (from % 64); w != 0 {
			return from + bits.TrailingZeros64(w)
		}
	}
	for i := range s.taken {
		at := (from/64 + 1 + i) % len(s.taken)
		if w := ^s.taken[at]; w != 0 {
			return 64*at + bits.TrailingZeros64(w)
		}
	}
	panic(fmt.Sprintf("thin: %d slots are free, and none is", s.free))
}

// grow makes the file longer, by blocks that it has then. mu is held.
func (s *slots) grow() error {
	const words = growBytes / extentBytes / 64
	at := int64(64*len(s.taken)) * extentBytes
	if err := dbdir.Extend(s.f, at, growBytes); err != nil {
		return err
	}
	s.add(words)
	s.next = 64 * (len(s.taken) - words)
	return nil
}

// write writes data to slots that were taken.
func (s *slots) write(data []byte, slot uint64) error {
	_, err := s.f.WriteAt(data, int64(slot)*extentBytes)
	s.dirty.Store(true) // afterwards: a sync that has begun meanwhile may lack it
	return err
}

// read reads a slot.
func (s *slots) read(data []byte, slot uint64) error {
	_, err := s.f.ReadAt(data, int64(slot)*extentBytes)
	if errors.Is(err, io.EOF) {
		return damaged("slot %d lies behind the end of %s", slot, s.f.Name())
	}
	return err
}

// leave notes slots that nobody will refer to when the next flush has ended.
func (s *slots) leave(all []uint64) {
	if len(all) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = append(s.leaving, all...)
}

// flushing returns what is leaving with the flush that begins.
func (s *slots) flushing() (all []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, s.leaving = s.leaving, nil
	return all
}

// flushed frees them when it has ended.
func (s *slots) flushed(all []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers > 0 {
		s.held = append(s.held, all...)
	} else {
		s.release(all)
	}
}

// release frees slots. mu is held.
func (s *slots) release(all []uint64) {
	for _, slot := range all {
		s.taken[slot/64] &^= 1 << (slot % 64)
	}
	s.free += len(all)
}

// hold keeps all slots that are taken until fn has ended.
func (s *slots) hold(fn func() error) error {
	s.mu.Lock()
	s.readers++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.readers--; s.readers == 0 {
			s.release(s.held)
			s.held = nil
		}
	}()
	return fn()
}

// sync makes last what was written.
func (s *slots) sync() error {
	if !s.dirty.Swap(false) {
		return nil
	}
	return fdatasync(s.f)
}

// punch gives the blocks of free slots back to the file system, words at a time.
func (s *slots) punch() error {
	for at := 0; ; {
		first, n := s.seize(&at)
		if n == 0 {
			return nil
		}
		err := unix.Fallocate(int(s.f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE,
			int64(first)*64*extentBytes, int64(n)*64*extentBytes)
		s.mu.Lock()
		clear(s.taken[first : first+n])
		s.free += 64 * n
		s.mu.Unlock()
		if errors.Is(err, unix.EOPNOTSUPP) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// seize takes some words of free slots, from one on, and moves on behind them.
func (s *slots) seize(at *int) (first, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for *at < len(s.taken) && s.taken[*at] != 0 {
		*at++
	}
	for first = *at; *at < len(s.taken) && s.taken[*at] == 0 && n < punchWords; *at++ {
		s.taken[*at] = ^uint64(0)
		n++
	}
	s.free -= 64 * n
	return first, n
}

func (s *slots) close() error { return s.f.Close() }
