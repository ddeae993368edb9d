package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"minisrp/cmd/srpd/hold"
	"minisrp/scsi/lun/dbdir"
)

// Options are what Open can be told. The zero value has the defaults.
type Options struct {
	Log *slog.Logger // default: slog.Default
	// Free returns the free bytes of the file system of path; default: what the system says.
	Free func(path string) (uint64, error)
}

// Store is an open state directory.
//
// Ownership: made by Open, ended by Close of the same caller. Its methods may be called by any goroutine.
type Store struct {
	// Fixed after construction.
	dir  string
	log  *slog.Logger
	free func(string) (uint64, error)
	lock *hold.Lock

	mu     sync.Mutex // guards what follows, and makes changes one at a time
	db     *badger.DB // nil after Close
	broken bool       // a change has failed: see set
}

// Open takes a state directory, making it if need be, and opens its database.
// Errors: *hold.InUseError, *DatabaseError, those of the system.
//
//level:passive
func Open(dir string, opt Options) (*Store, error) {
	s := &Store{dir: dir, log: opt.Log, free: opt.Free}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.free == nil {
		s.free = dbdir.Free
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", dir, err)
	}
	lock, err := hold.New(filepath.Join(dir, "lock"))
	if in := (*hold.InUseError)(nil); errors.As(err, &in) {
		return nil, &hold.InUseError{What: "state directory " + dir, Holder: in.Holder}
	} else if err != nil {
		return nil, fmt.Errorf("state directory %s: %w", dir, err)
	}
	s.lock = lock
	if err := s.open(); err != nil {
		return nil, errors.Join(&DatabaseError{Path: s.database(), Err: err}, lock.Release())
	}
	return s, nil
}

func (s *Store) database() string { return filepath.Join(s.dir, "db") }
func (s *Store) reserve() dbdir.Reserve {
	return dbdir.Reserve(filepath.Join(s.dir, "reserve"))
}

// open opens the database under the lock.
func (s *Store) open() error {
	if err := s.checkSpace(openNeeds, s.held()); err != nil {
		return err
	}
	// What was set aside is for this, should the file system be full; what is left of it is set aside again.
	if err := s.reserve().Spend(); err != nil {
		return err
	}
	sealed, err := s.checkSeal()
	if err != nil {
		return err
	}
	if err := dbdir.RemoveUnborn(s.database()); err != nil {
		return err
	}
	before, err := s.imprints(false)
	if err != nil {
		return err
	}
	db, err := openDB(s.database(), s.log)
	if err != nil {
		return err
	}
	s.db = db
	err = dbdir.AllocateFiles(s.database())
	if err == nil {
		err = s.checkSchema(sealed)
	}
	if err == nil {
		err = s.putSeal(false, before)
	}
	if err == nil {
		dbdir.AwaitTables(s.database()) // they need the space
		err = s.refillReserve()
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}

// openDB opens badger with as little memory as it takes.
func openDB(path string, log *slog.Logger) (*badger.DB, error) {
	return dbdir.Open(badger.DefaultOptions(path).
		WithLogger(dbdir.Log{To: log}).WithMetricsEnabled(false).WithSyncWrites(true).
		WithMemTableSize(memTable).WithNumMemtables(2).WithValueThreshold(4 << 10).WithValueLogFileSize(valueLog).
		WithBaseTableSize(memTable).WithCompression(options.None).WithBlockCacheSize(0).WithIndexCacheSize(0).
		WithNumCompactors(2).WithVerifyValueChecksum(true).
		WithChecksumVerificationMode(options.OnTableRead))
}

// checkSchema refuses what this package cannot read, and says in a new database how it is laid out. One that was in
// use before and has no schema has lost its log.
func (s *Store) checkSchema(old bool) error {
	found := 0
	ok, err := s.get("schema", &found)
	switch {
	case err != nil:
		return err
	case !ok:
		if old {
			return errors.New("damaged: it is empty")
		}
		return s.set(record{"schema", schema})
	case found > schema:
		return fmt.Errorf("%w: it has schema %d, and this program knows %d", ErrSchema, found, schema)
	case found < 1:
		return fmt.Errorf("damaged: its schema is %d", found)
	}
	return nil
}

// Dir returns the directory.
func (s *Store) Dir() string { return s.dir }

// Close closes the database and lets go of the directory. A second Close does nothing.
//
//level:passive
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	note := func(err error) {
		if err != nil {
			s.log.Warn("reserve of the state database", keyPath, s.reserve(), keyError, err)
		}
	}
	note(s.reserve().Spend())
	err := s.db.Close()
	s.db = nil
	if err == nil {
		err = s.putSeal(true, nil)
	}
	note(s.refillReserve()) // for the next Open
	if err != nil {
		err = &DatabaseError{Path: s.database(), Err: err}
	}
	return errors.Join(err, s.lock.Release())
}

// ErrClosed is returned by what is called after Close.
var ErrClosed = errors.New("state is closed")

// get reads a record into v, and reports whether it is there.
func (s *Store) get(key string, v any) (ok bool, err error) {
	err = s.db.View(func(tx *badger.Txn) error {
		item, err := tx.Get([]byte(key))
		if err != nil {
			return err
		}
		return item.Value(func(b []byte) error { return decode(key, b, v) })
	})
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, err
}

func decode(key string, b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("damaged: record %q: %w", key, err)
	}
	return nil
}

// record is what the database keeps under a key.
type record struct {
	key   string
	value any
}

// set writes up to atOnce records, all or none; when it returns they last. After a failure nothing is changed any more:
// whether the files still have their blocks is not known.
func (s *Store) set(all ...record) error {
	if s.broken {
		return fmt.Errorf("an earlier change failed: %w", ErrClosed)
	}
	texts := make([][]byte, len(all))
	for i, r := range all {
		var err error
		if texts[i], err = json.Marshal(r.value); err != nil {
			return err
		}
	}
	if err := s.checkSpace(writeNeeds, 0); err != nil {
		return err
	}
	err := s.db.Update(func(tx *badger.Txn) error {
		for i, r := range all {
			if err := tx.Set([]byte(r.key), texts[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.broken = true
	}
	return err
}

// change runs fn under the lock with an open database.
func (s *Store) change(ctx context.Context, fn func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return &DatabaseError{Path: s.database(), Err: err}
	}
	return nil
}
