package thin

import (
	"context"
	"errors"

	"github.com/dgraph-io/badger/v4"

	"minisrp/scsi/lun"
)

// Flush makes the whole database last, for all of its units.
func (s *Store) Flush(ctx context.Context) error { return s.db.flush() }

// Keep makes b what is kept under a name.
func (s *Store) Keep(ctx context.Context, name string, b []byte) error {
	if err := s.db.room.check(freeNeeds); err != nil {
		return err
	}
	err := s.db.badger.Update(func(tx *badger.Txn) error {
		if len(b) == 0 {
			return tx.Delete(keptKey(s.number, name))
		}
		return tx.Set(keptKey(s.number, name), b)
	})
	if err != nil {
		return err
	}
	s.db.changed.Store(true)
	return s.db.flush()
}

// Kept returns it.
func (s *Store) Kept(ctx context.Context, name string) (b []byte, err error) {
	s.db.swap.RLock()
	defer s.db.swap.RUnlock()
	err = s.db.badger.View(func(tx *badger.Txn) error {
		item, err := tx.Get(keptKey(s.number, name))
		if err != nil {
			return err
		}
		b, err = item.ValueCopy(nil)
		return err
	})
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	return b, err
}

// Space counts the extents that are there, and asks the file system what is left beside what is set aside.
func (s *Store) Space(ctx context.Context) (lun.Space, error) {
	free, err := s.db.room.available()
	return lun.Space{Used: uint64(s.live.Load()) * extentBytes, Available: free}, err
}

// Warn has low called when space runs short.
func (s *Store) Warn(low func()) { s.db.room.warn(s, low) }

// Close makes everything last, and lets others open the unit.
func (s *Store) Close(ctx context.Context) error {
	if s.closed.Swap(true) {
		return nil
	}
	err := s.db.flush()
	s.db.leave(s)
	return err
}
