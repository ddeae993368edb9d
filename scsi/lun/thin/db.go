package thin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"golang.org/x/sys/unix"

	"minisrp/scsi/lun"
	"minisrp/scsi/lun/dbdir"
)

// ErrClosed is returned by what is called after Close.
var ErrClosed = errors.New("thin store is closed")

// Options are what Open can be told. The zero value has the defaults.
type Options struct {
	Log *slog.Logger // default: slog.Default
	// Free returns the free bytes of the file system of path; default: what the system says.
	Free func(path string) (uint64, error)
}

// DB is an open database of units.
//
// Ownership: made by Open, ended by Close of the same caller after its Stores have been closed. Its methods may be
// called by any goroutine.
type DB struct {
	// Fixed after construction.
	dir  string
	log  *slog.Logger
	lock *os.File
	room room
	// sameBoot says that the system has not been started anew since it was opened the last time, or that it was closed.
	sameBoot bool
	// unclean says that it was not closed the last time, and is small enough for units to be read through.
	unclean bool
	stop    chan struct{}
	ended   chan struct{} // the background goroutine has

	slots     *slots    // fixed after construction
	buffers   sync.Pool // *[batchBytes]byte
	pages     sync.Pool // *[extentBytes]byte
	flushes   lun.FlushGroup
	dirSynced time.Time     // by flushes: the directory as it was last synced
	garbage   atomic.Int64  // extents given back and not tidied up yet
	changed   atomic.Bool   // something was committed since the last flush began
	mark      atomic.Uint64 // the last flush that has begun: see syncAll
	marked    atomic.Uint64 // the last one whose number a change has written
	settled   atomic.Uint64 // the last one that has ended
	markFile  *os.File

	// turn is held for reading over a change, and for writing when a flush begins. After chunks' locks.
	turn sync.RWMutex

	sinceLook atomic.Int64 // bytes written since the logs were looked at

	// swap guards badger while changes are refused (see still.go). When they are not, it does not change.
	swap   sync.RWMutex
	badger *badger.DB
	lost   error // it could not be opened again; by the background goroutine, and Close when that has ended

	mu     sync.Mutex // guards what follows
	open   map[string]*Store
	units  map[string]record
	closed bool
}

// Open opens, or makes, the database in a directory. Errors: *Error, which wraps lun.ErrInUse, dbdir.ErrSpace,
// ErrDamaged, ErrVersion, or those of the system.
//
//level:passive
func Open(dir string, opt Options) (*DB, error) {
	d := &DB{
		dir: dir, log: opt.Log, stop: make(chan struct{}), ended: make(chan struct{}),
		open: make(map[string]*Store), units: make(map[string]record),
	}
	d.pages.New = func() any { return new([extentBytes]byte) }
	d.buffers.New = func() any { return new([batchBytes]byte) }
	if d.log == nil {
		d.log = slog.Default()
	}
	d.room = room{dir: dir, log: d.log, free: opt.Free, reserve: dbdir.Reserve(filepath.Join(dir, "reserve")),
		tight: make(chan struct{}, 1), lows: make(map[*Store]func())}
	if d.room.free == nil {
		d.room.free = dbdir.Free
	}
	if err := d.start(); err != nil {
		return nil, &Error{Path: dir, Err: err}
	}
	return d, nil
}

// files is where badger's files are.
func (d *DB) files() string { return filepath.Join(d.dir, "db") }

func (d *DB) start() error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	var err error
	if d.lock, err = lockDir(d.dir); err != nil {
		return err
	}
	if d.markFile, err = os.OpenFile(filepath.Join(d.dir, "mark"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return errors.Join(err, d.lock.Close())
	}
	if d.slots, err = openSlots(filepath.Join(d.dir, "data")); err != nil {
		return errors.Join(err, d.markFile.Close(), d.lock.Close())
	}
	if err := d.openFiles(); err != nil {
		return errors.Join(err, d.slots.close(), d.markFile.Close(), d.lock.Close())
	}
	d.startBackground()
	d.room.wake() // to set the reserve aside, when badger has settled
	return nil
}

// lockDir locks a directory for as long as the file returned is open.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, lun.ErrInUse
		}
		return nil, fmt.Errorf("lock: %w", err)
	}
	return f, nil
}

// openFiles opens the database under the lock.
func (d *DB) openFiles() error {
	have := dbdir.Allocated(string(d.room.reserve))
	if free, err := d.room.free(d.dir); err != nil {
		return err
	} else if need := d.openNeeds(); free+have < need {
		return fmt.Errorf("%w: %d MiB free, want %d", dbdir.ErrSpace, (free+have)>>20, need>>20)
	} else if free+have < d.openNeeds()+compactBytes {
		d.room.still.Store(true)
		d.log.Error("the file system is full: thin disks can be read, and changes are refused until there is room", keyPath, d.dir,
			keyFree, (free+have)>>20, keyNeeded, writeNeeds>>20)
	}
	// What was set aside is for this, should the file system be full; what is left of it is set aside again.
	if err := d.room.spend(); err != nil {
		return err
	}
	fresh, err := d.checkFiles()
	if err != nil {
		return err
	}
	if d.unclean {
		d.log.Info("the thin store was not closed the last time: it is repaired", keyPath, d.dir)
	}
	if err := d.sealOpen(); err != nil {
		return err
	}
	db, err := d.openBadger(d.room.still.Load())
	if errno := unix.Errno(0); err != nil && !errors.As(err, &errno) {
		return damaged("%w", err)
	} else if err != nil {
		return err
	}
	d.badger = db
	err = dbdir.AllocateFiles(d.files())
	if err == nil {
		err = checkSuper(db, fresh)
	}
	if err == nil {
		err = d.loadUnits()
	}
	if err == nil {
		err = d.checkMark()
	}
	if err == nil {
		err = d.settleSlots()
	}
	if err == nil {
		err = d.flush()
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}

// openBadger opens badger with as little memory and as few goroutines as it takes; with
// no compactors if it is to be still.
func (d *DB) openBadger(still bool) (*badger.DB, error) {
	o := badger.DefaultOptions(d.files()).
		WithLogger(dbdir.Log{To: d.log}).WithMetricsEnabled(false).
		WithSyncWrites(false). // flush does what it would not
		WithDetectConflicts(false).
		WithMemTableSize(memTable).WithNumMemtables(2).WithValueThreshold(2 * extentBytes).WithValueLogFileSize(valueLog).
		WithBaseTableSize(tableBytes).WithBaseLevelSize(levelBytes).WithLevelSizeMultiplier(levelFactor).WithNumLevelZeroTables(4).WithNumLevelZeroTablesStall(stallTables).
		WithBlockSize(blockBytes).WithCompression(options.None).WithBlockCacheSize(0).WithIndexCacheSize(0).
		WithChecksumVerificationMode(options.OnBlockRead).
		WithNumCompactors(2).WithNumGoroutines(1).WithExternalMagic(magic)
	o.TableSizeMultiplier = 1 // a compaction takes about as much space on every level
	if still {
		o = o.WithNumCompactors(0).WithNumLevelZeroTablesStall(math.MaxInt32)
	}
	return dbdir.Open(o)
}

// loadUnits reads the records of the units.
func (d *DB) loadUnits() error {
	return d.badger.View(func(tx *badger.Txn) error {
		it := tx.NewIterator(badger.IteratorOptions{Prefix: []byte(unitKeys), PrefetchValues: true, PrefetchSize: 16})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			key := string(it.Item().Key())
			var r record
			err := it.Item().Value(func(b []byte) error { return decode(key, b, &r) })
			if err != nil {
				return err
			}
			d.units[key[len(unitKeys):]] = r
		}
		return nil
	})
}

// Unit is what a unit is to be.
type Unit struct {
	// Size is the disk's size in bytes. A new unit gets it; one that is there must be of this size. Zero takes one as it
	// is, and makes none.
	Size uint64

	// BlockSize is the logical block size in bytes; zero means 512.
	BlockSize uint32
}

// Open opens the unit with a name, making it if it is not there and has a size. A new one is there for good when Open
// returns. Errors: lun.ErrGeometry, lun.ErrInUse, ErrNoUnit, dbdir.ErrSpace; *Error,
// which wraps ErrDamaged.
//
//level:passive
func (d *DB) Open(name string, u Unit) (*Store, error) {
	s, err := d.openUnit(name, u)
	if errors.Is(err, ErrDamaged) {
		return nil, &Error{Path: d.dir, Err: fmt.Errorf("unit %q: %w", name, err)}
	} else if err != nil {
		return nil, fmt.Errorf("thin store %s, unit %q: %w", d.dir, name, err)
	}
	return s, nil
}

// ErrNoUnit says that the database has no unit of that name. The caller gives a size to have it made.
var ErrNoUnit = errors.New("no such unit")

func (d *DB) openUnit(name string, u Unit) (*Store, error) {
	if u.BlockSize == 0 {
		u.BlockSize = lun.MinBlockSize
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.swap.RLock()
	defer d.swap.RUnlock()
	if d.badger.IsClosed() {
		return nil, ErrClosed
	}
	if d.open[name] != nil {
		return nil, lun.ErrInUse
	}
	r, there := d.units[name]
	if !there {
		if u.Size == 0 {
			return nil, ErrNoUnit
		}
		r = record{Size: u.Size, BlockSize: u.BlockSize}
	}
	s := &Store{db: d, name: name, number: r.Number, chunks: make(map[uint64]*chunk), info: lun.Info{
		Kind: "badger", Size: r.Size, BlockSize: r.BlockSize, Granularity: extentBytes, Volatile: true,
	}}
	if err := s.info.Check(); err != nil {
		return nil, err
	}
	switch {
	case u.Size > 0 && u.Size != r.Size:
		return nil, fmt.Errorf("it has %d bytes and %d were asked for; a unit keeps the size it was made with: %w",
			r.Size, u.Size, lun.ErrGeometry)
	case u.BlockSize != r.BlockSize:
		return nil, fmt.Errorf("it has blocks of %d bytes and %d were asked for: %w", r.BlockSize, u.BlockSize, lun.ErrGeometry)
	case r.Size > maxSize:
		return nil, fmt.Errorf("%d bytes, want %d at most: %w", r.Size, uint64(maxSize), lun.ErrGeometry)
	case r.Restoring:
		return nil, fmt.Errorf("%w: a snapshot was not restored to its end", ErrDamaged)
	}
	if !there {
		if err := d.makeUnit(name, &r); err != nil {
			return nil, err
		}
		s.number = r.Number
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	if d.unclean {
		if err := s.verify(); err != nil {
			return nil, err
		}
	}
	d.open[name] = s
	return s, nil
}

// makeUnit gives a unit a number, and writes its record. mu is held.
func (d *DB) makeUnit(name string, r *record) error {
	if len(name) < 1 || len(name) > maxName {
		return fmt.Errorf("a name of %d bytes, want 1 to %d", len(name), maxName)
	}
	if err := d.room.check(writeNeeds); err != nil {
		return err
	}
	for _, other := range d.units {
		r.Number = max(r.Number, other.Number+1)
	}
	if err := put(d.badger, unitKeys+name, r); err != nil {
		return err
	}
	d.changed.Store(true)
	if err := d.flush(); err != nil {
		return err
	}
	d.units[name] = *r
	return nil
}

// Units returns the names of the units, sorted.
func (d *DB) Units() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.units))
}

// leave lets a unit be opened again.
func (d *DB) leave(s *Store) {
	d.room.forget(s)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, s.name)
}

// Close makes everything last and closes the database. Stores that are still open fail from then on. A second Close
// does nothing.
//
//level:passive
func (d *DB) Close(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	close(d.stop)
	<-d.ended
	err := d.lost
	if err == nil {
		err = errors.Join(d.flush(), d.room.spend(), d.badger.Close())
	}
	if err == nil {
		err = d.sealClosed()
	}
	err = errors.Join(err, d.room.refill(), d.slots.close(), d.markFile.Close(), d.lock.Close())
	if err != nil {
		return &Error{Path: d.dir, Err: err}
	}
	return nil
}
