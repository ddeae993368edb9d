package lun

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"minisrp/scsi"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Unit is a logical unit: a store with the identity and the state that initiators see, and the workers that do what
// would block.
//
// Ownership: made by NewUnit, which takes the store over; shown by Server.Attach; ended by Close after Detach.
type Unit struct {
	// Fixed after construction.
	proc    *dispatch.Processor
	cfg     Config
	store   Store
	memory  Mapping // of a Mapped store
	metered Metered // the store, or one below it; nil if none is
	worker  *dispatch.Worker

	facts atomic.Pointer[facts]

	accessMu dispatch.Mutex[dispatch.RankAccess] // makes changes of access one at a time
	access   atomic.Pointer[access]

	// Counters that each nexus compares with what it saw; see Nexus.look.
	events atomic.Uint32 // all that follow; counted up last
	counts [numEvents]atomic.Uint32

	inside  atomic.Int64  // tasks from Prepare to Release
	closing atomic.Bool   // no task may enter; set before inside is looked at for the last time
	drained chan struct{} // capacity 1: inside has become 0 while closing

	lost atomic.Bool // the store has lost writes that were acknowledged

	// Processor.
	set   taskSet
	modes modes // but for what is fixed in it
	or    orState

	reservation reservation

	stats Stats

	lostTold bool  // what lost says was told
	stopped  bool  // by START STOP UNIT
	logged   Stats // as they were when LOG SELECT reset the log pages
}

// Config is what a unit is made of. Text is printable ASCII.
type Config struct {
	Store Store

	// Serial identifies the unit to everybody, for good: 1 to 64 characters. VPD 80h and 83h are made of it.
	Serial string

	Vendor   string // up to 8 characters; empty means "MINISRP"
	Product  string // up to 16; empty means the store's kind and "disk"
	Revision string // up to 4; empty means "1"

	ReadOnly bool // writes end with WRITE PROTECTED
	Empty    bool // the capacity is 0, whatever the store has, as that of a disk that was not given its blocks yet
	Workers  int  // requests that the store works on at once, 1 to MaxWorkers; 0 means DefaultWorkers, or 1 if Mapped
}

// Stats counts what a unit did since it was made.
type Stats struct {
	Reads, Writes           uint64 // commands that moved data
	ReadBytes, WrittenBytes uint64
	Verifies, VerifiedBytes uint64 // of VERIFY
	Flushes, Unmaps         uint64 // commands; WRITE SAME counts as a write of 0 bytes
	ReadErrors, WriteErrors uint64 // commands that failed at the medium; those that do not read count as writes
	VerifyErrors            uint64
	Checks                  uint64 // tasks that ended with CHECK CONDITION
	Aborted                 uint64 // tasks aborted by a task management function or their target
	Resets                  uint64 // logical unit resets
}

// NewUnit makes a unit that is not attached yet, starts its workers, and takes the store over; if it fails, the store
// is still the caller's. Errors: ErrConfig, ErrGeometry, ErrKept, the store's.
//
//level:passive
func NewUnit(p *dispatch.Processor, cfg Config) (*Unit, error) {
	info := cfg.Store.Info()
	if err := info.Check(); err != nil {
		return nil, err
	}
	mapped, isMapped := cfg.Store.(Mapped)
	if err := cfg.complete(info, isMapped); err != nil {
		return nil, err
	}
	u := &Unit{proc: p, cfg: cfg, store: cfg.Store, drained: make(chan struct{}, 1)}
	u.or.policy = scsi.OrAllRefused
	if isMapped {
		u.memory = mapped.Mapping()
	}
	u.metered, _ = find[Metered](u.store)
	u.access.Store(&access{})
	if err := u.modes.init(u.store, info); err != nil {
		return nil, fmt.Errorf("unit %q: %w", cfg.Serial, err)
	}
	if err := u.reservation.init(u); err != nil {
		return nil, fmt.Errorf("unit %q: %w", cfg.Serial, err)
	}
	u.facts.Store(newFacts(&u.cfg, info))
	if w, ok := find[Warner](u.store); ok {
		w.Warn(u.SpaceLow)
	}
	u.worker = dispatch.NewWorker(cfg.Workers)
	return u, nil
}

// complete fills in defaults and refuses what cannot be shown.
func (c *Config) complete(info Info, mapped bool) error {
	if c.Vendor == "" {
		c.Vendor = "MINISRP"
	}
	if c.Product == "" {
		c.Product = info.Kind + " disk"
	}
	if c.Revision == "" {
		c.Revision = "1"
	}
	if c.Workers == 0 && mapped {
		c.Workers = 1
	} else if c.Workers == 0 {
		c.Workers = DefaultWorkers
	}
	if c.Workers < 1 || c.Workers > MaxWorkers {
		return fmt.Errorf("unit with %d workers, want 1 to %d: %w", c.Workers, MaxWorkers, ErrConfig)
	}
	for _, f := range []struct {
		name, text string
		most       int
	}{{"serial", c.Serial, 64}, {"vendor", c.Vendor, 8}, {"product", c.Product, 16}, {"revision", c.Revision, 4}} {
		if len(f.text) < 1 || len(f.text) > f.most || !printable(f.text) {
			return fmt.Errorf("unit %s %q, want 1 to %d printable ASCII characters: %w", f.name, f.text, f.most, ErrConfig)
		}
	}
	return nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// Close waits until the unit's tasks have been released, ends the workers, and closes the store. It comes after
// Detach, and after the target has deregistered the store's memory. When ctx ends first the unit stays as it is, but
// takes no task any more; Close can be called again. Errors: the store's, ctx's.
func (u *Unit) Close(ctx context.Context) error {
	u.closing.Store(true)
	for u.inside.Load() != 0 {
		select {
		case <-u.drained:
		case <-ctx.Done():
			return fmt.Errorf("unit %q: %d tasks left: %w", u.cfg.Serial, u.inside.Load(), ctx.Err())
		}
	}
	u.worker.Close()
	return u.store.Close(ctx)
}

// enter counts a task in, and reports whether the unit still takes any.
func (u *Unit) enter() bool {
	u.inside.Add(1)
	if u.closing.Load() {
		u.exit()
		return false
	}
	return true
}

// exit counts a task out.
func (u *Unit) exit() {
	if u.inside.Add(-1) == 0 && u.closing.Load() {
		select {
		case u.drained <- struct{}{}:
		default:
		}
	}
}

// Config returns the configuration with its defaults filled in.
func (u *Unit) Config() Config { return u.cfg }

// Info returns the store's properties as initiators know them.
func (u *Unit) Info() Info { return u.facts.Load().info }

// Memory returns the memory of a Mapped store, for a target to register, and nil for any other.
func (u *Unit) Memory() *arena.Arena { return u.memory.Memory }

// Stats returns the counters. Level: Dispatch, on the unit's processor.
func (u *Unit) Stats(f *dispatch.Frame) Stats { return u.stats }

// CapacityChanged takes over the store's new size. Initiators hear of it by the unit attention CAPACITY DATA HAS
// CHANGED, and by INQUIRY DATA HAS CHANGED if the vital product data is other than before, as the unit of thresholds
// that goes with the size. Errors: ErrGeometry, and the unit keeps the size it had.
func (u *Unit) CapacityChanged() error {
	info := u.store.Info()
	if err := info.Check(); err != nil {
		return err
	}
	now := newFacts(&u.cfg, info)
	was := u.facts.Swap(now)
	u.happened(eventCapacity)
	if !slices.EqualFunc(was.pages, now.pages, func(a, b vpdPage) bool { return bytes.Equal(a.data, b.data) }) {
		u.happened(eventInquiry)
	}
	return nil
}

// happened lets every nexus know of an event.
func (u *Unit) happened(e event) {
	u.counts[e].Add(1)
	u.events.Add(1)
}
