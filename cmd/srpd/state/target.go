package state

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Target is a target port that the daemon logs in to again after a restart.
type Target struct {
	Login string    `json:"login"`          // in its canonical form
	LUNs  []int     `json:"luns,omitempty"` // to serve; none means all
	Since time.Time `json:"since"`
}

const targetPrefix = "target/"

// maxTargets bounds how many are kept.
const maxTargets = 4096

// ErrTargets says that no more targets are kept. The caller has the user remove some.
var ErrTargets = fmt.Errorf("%d targets are known, which is the most", maxTargets)

// PutTarget keeps a target under a key of the caller's, which tells targets apart, and replaces what was there.
// Errors: *DatabaseError, ErrTargets, ErrClosed.
func (s *Store) PutTarget(ctx context.Context, key string, t Target) error {
	t.Since = time.Now().UTC().Truncate(time.Second)
	return s.change(ctx, func() error {
		all, err := s.targets()
		if err != nil {
			return err
		}
		if _, known := all[key]; !known && len(all) >= maxTargets {
			return ErrTargets
		}
		return s.set(record{targetPrefix + key, t})
	})
}

// DeleteTarget forgets a target; one that is not there is no error. Errors: *DatabaseError, ErrClosed.
func (s *Store) DeleteTarget(ctx context.Context, key string) error {
	return s.change(ctx, func() error { return s.delete(targetPrefix + key) })
}

// Targets returns all that are kept, by key. Errors: *DatabaseError, ErrClosed.
func (s *Store) Targets(ctx context.Context) (all map[string]Target, err error) {
	err = s.change(ctx, func() (err error) {
		all, err = s.targets()
		return err
	})
	return all, err
}

func (s *Store) targets() (map[string]Target, error) {
	all := map[string]Target{}
	err := s.db.View(func(tx *badger.Txn) error {
		it := tx.NewIterator(badger.IteratorOptions{Prefix: []byte(targetPrefix), PrefetchValues: true, PrefetchSize: 100})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			key := string(it.Item().Key())
			var t Target
			if err := it.Item().Value(func(v []byte) error { return decode(key, v, &t) }); err != nil {
				return err
			}
			if t.Login == "" {
				return fmt.Errorf("damaged: record %q has no login string", key)
			}
			all[strings.TrimPrefix(key, targetPrefix)] = t
		}
		return nil
	})
	return all, err
}

// delete takes a record away; when it returns that lasts. See set.
func (s *Store) delete(key string) error {
	if s.broken {
		return fmt.Errorf("an earlier change failed: %w", ErrClosed)
	}
	err := s.db.View(func(tx *badger.Txn) error {
		_, err := tx.Get([]byte(key))
		return err
	})
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil
	}
	if err == nil {
		err = s.checkSpace(writeNeeds, 0)
	}
	if err != nil {
		return err
	}
	if err := s.db.Update(func(tx *badger.Txn) error { return tx.Delete([]byte(key)) }); err != nil {
		s.broken = true
		return err
	}
	return nil
}
