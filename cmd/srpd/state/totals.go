package state

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"

	"minisrp/scsi"
)

// Totals is what a unit has been asked for, over all runs of the daemon since Since.
type Totals struct {
	Since        time.Time `json:"since"`
	Reads        uint64    `json:"reads"`
	Writes       uint64    `json:"writes"`
	Flushes      uint64    `json:"flushes"`
	Unmaps       uint64    `json:"unmaps"`
	Zeroes       uint64    `json:"zeroes"`
	BytesRead    uint64    `json:"bytes_read"`
	BytesWritten uint64    `json:"bytes_written"`
	Errors       uint64    `json:"errors"`
}

const totalPrefix = "total/"

// PutTotals keeps the totals of units in the place of what was there. Errors: *DatabaseError, ErrClosed.
func (s *Store) PutTotals(ctx context.Context, all map[scsi.UnitID]Totals) error {
	return s.change(ctx, func() error {
		var records []record
		for id, t := range all {
			records = append(records, record{totalPrefix + string(id), t})
		}
		for some := range slices.Chunk(records, atOnce) {
			if err := s.set(some...); err != nil {
				return err
			}
		}
		return nil
	})
}

// Totals returns what is kept, by unit. Errors: *DatabaseError, ErrClosed.
func (s *Store) Totals(ctx context.Context) (map[scsi.UnitID]Totals, error) {
	all := map[scsi.UnitID]Totals{}
	err := s.change(ctx, func() error {
		return s.db.View(func(tx *badger.Txn) error {
			it := tx.NewIterator(badger.IteratorOptions{Prefix: []byte(totalPrefix), PrefetchValues: true, PrefetchSize: 100})
			defer it.Close()
			for it.Rewind(); it.Valid(); it.Next() {
				key := string(it.Item().Key())
				var t Totals
				if err := it.Item().Value(func(v []byte) error { return decode(key, v, &t) }); err != nil {
					return err
				}
				if t.Since.IsZero() {
					return fmt.Errorf("damaged: record %q has no time", key)
				}
				all[scsi.UnitID(strings.TrimPrefix(key, totalPrefix))] = t
			}
			return nil
		})
	})
	return all, err
}
