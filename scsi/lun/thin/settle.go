package thin

import (
	"errors"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

// settleSlots claims the slots that extents have, of all units. Where a loss of power has left an entry without its
// bytes, what was flushed before takes its place.
func (d *DB) settleSlots() error {
	var back []*badger.Entry
	err := d.badger.View(func(tx *badger.Txn) error {
		it := tx.NewIterator(badger.IteratorOptions{Prefix: []byte{extentKeys}})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			key := it.Item().Key()
			if len(key) != numberedKey || key[prefixSize] != dataKeys {
				continue
			}
			var e entry
			err := it.Item().Value(e.decode)
			if err != nil {
				return err
			}
			// The next flush covers whatever there is.
			d.mark.Store(max(d.mark.Load(), e.flush))
			if whole, err := d.whole(&e); err != nil {
				return err
			} else if !whole {
				back = append(back, badger.NewEntry(slices.Clone(key), e.append(nil)))
			}
			if e.slot != noSlot && !d.slots.claim(e.slot) {
				return damaged("slot %d, which key %x has, is another's, or not there", e.slot, key)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(back) > 0 {
		d.log.Info("writes that were not flushed are gone with the power", keyPath, d.dir, keyExtents, len(back))
	}
	for part := range slices.Chunk(back, chunkExtents) {
		err := d.badger.Update(func(tx *badger.Txn) error {
			for _, e := range part {
				if err := tx.SetEntry(e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// whole reports whether an entry's bytes are there; if not, it makes it the one before. What was flushed is, or will be
// found damaged when it is read.
func (d *DB) whole(e *entry) (bool, error) {
	if e.slot == noSlot || e.flush <= d.settled.Load() {
		return true, nil
	}
	var data [extentBytes]byte
	for before := false; ; before = true {
		err := d.slots.read(data[:], e.slot)
		if err != nil && !errors.Is(err, ErrDamaged) { // that is a slot behind the end, which the file has lost too
			return false, err
		}
		switch {
		case err == nil && e.holds(data[:]):
			return !before, nil
		case before || d.sameBoot:
			return false, damaged("slot %d is not what was written", e.slot)
		}
		if *e = (entry{place: e.before, before: place{slot: noSlot}}); e.slot == noSlot {
			return false, nil
		}
	}
}
