package thin

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"minisrp/scsi/lun/dbdir"
)

// room looks at the space that is left on the file system, so that badger never meets its end.
//
// Ownership: its DB's; called by the DB's background goroutine and from any store.
type room struct {
	// Fixed after construction.
	dir     string
	log     *slog.Logger
	free    func(string) (uint64, error)
	reserve dbdir.Reserve

	full  atomic.Bool   // writes are refused
	still atomic.Bool   // all changes are: see still.go
	low   atomic.Bool   // initiators have been warned
	tight chan struct{} // capacity 1: wakes the DB's background goroutine

	moving sync.RWMutex // what is in the reserve is not free, and the other way round: guards both, and held
	held   uint64       // bytes of the reserve

	mu   sync.Mutex // guards lows
	lows map[*Store]func()
}

// check refuses to go on when there are less than need bytes, with the reserve, and warns when they become few. What is
// let through finds the space that badger may want free. Errors: dbdir.ErrSpace.
func (r *room) check(need uint64) error {
	free, held, err := r.look()
	if err != nil {
		return err
	}
	total := free + held
	if low := total < warnNeeds; low != r.low.Load() && r.low.CompareAndSwap(!low, low) && low {
		r.log.Warn("space for thin disks runs short", keyPath, r.dir, keyFree, total>>20)
		r.tell()
	}
	if full := total < writeNeeds; full != r.full.Load() && r.full.CompareAndSwap(!full, full) {
		if full {
			r.log.Error("the file system is full: writes to thin disks are refused until there is room", keyPath, r.dir,
				keyFree, total>>20, keyNeeded, writeNeeds>>20)
		} else {
			r.log.Info("there is room for thin disks again", keyPath, r.dir, keyFree, total>>20)
			r.wake()
		}
	}
	if r.full.Load() {
		r.wake()
	}
	if r.still.Load() {
		r.wake()
		return fmt.Errorf("%w: there was too little in %s when the disks were opened", dbdir.ErrSpace, r.dir)
	}
	if total < need {
		return fmt.Errorf("%w: %d MiB in %s, want %d", dbdir.ErrSpace, total>>20, r.dir, need>>20)
	}
	if free < spendBelow && held > 0 {
		return r.spend()
	}
	return nil
}

func (r *room) wake() {
	select {
	case r.tight <- struct{}{}:
	default:
	}
}

// look returns the free bytes, and those of the reserve, as they were at one time.
func (r *room) look() (free, held uint64, err error) {
	r.moving.RLock()
	defer r.moving.RUnlock()
	free, err = r.free(r.dir)
	return free, r.held, err
}

// available returns what can be written before writes are refused.
func (r *room) available() (uint64, error) {
	free, held, err := r.look()
	total := free + held
	return total - min(total, writeNeeds), err
}

// warn notes whom to tell.
func (r *room) warn(s *Store, low func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lows[s] = low
}

func (r *room) forget(s *Store) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lows, s)
}

func (r *room) tell() {
	r.mu.Lock()
	all := make([]func(), 0, len(r.lows))
	for _, low := range r.lows {
		all = append(all, low)
	}
	r.mu.Unlock()
	for _, low := range all {
		low()
	}
}

// spend gives the reserve back, to what badger is going to write.
func (r *room) spend() error {
	r.moving.Lock()
	defer r.moving.Unlock()
	r.held = 0
	defer r.wake()
	return r.reserve.Spend()
}

// refill sets aside again what there is room for.
func (r *room) refill() error {
	r.moving.Lock()
	defer r.moving.Unlock()
	free, err := r.free(r.dir)
	if err != nil {
		return err
	}
	n := min(free-min(free, keepFree)+r.held, reserveBytes)
	if n <= r.held {
		return nil
	}
	if err := r.reserve.Make(int64(n)); err != nil {
		if errors.Is(err, dbdir.ErrSpace) {
			return nil
		}
		return err
	}
	r.held = n
	return nil
}
