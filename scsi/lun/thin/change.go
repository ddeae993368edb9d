package thin

import (
	"errors"
	"hash/crc32"

	"github.com/dgraph-io/badger/v4"
)

// change is a change of a unit under way: a transaction, and the slots that come and go with it.
//
// Ownership: of the goroutine that DB.update runs it on.
type change struct {
	db     *DB
	tx     *badger.Txn
	number uint32 // of the unit
	flush  uint64 // the number of the flush that will make it last
	taken  []uint64
	left   []uint64
}

// update runs fn and commits what it changes, all or nothing. entries is about how much it is.
func (d *DB) update(number uint32, entries uint64, fn func(c *change) error) error {
	if err := d.written(entries * logEntryBytes); err != nil {
		return err
	}
	// A flush covers what was committed before it begins, and does not begin between a change's number and its commit.
	d.turn.RLock()
	defer d.turn.RUnlock()
	c := &change{db: d, tx: d.badger.NewTransaction(true), number: number, flush: d.mark.Load() + 1}
	defer c.tx.Discard()
	err := fn(c)
	if err == nil {
		err = c.tx.Commit()
	}
	if err != nil {
		d.slots.leave(c.taken) // the database may have got it
		return err
	}
	d.changed.Store(true)
	d.slots.leave(c.left)
	return nil
}

// entry reads the entry of an extent that is there.
func (c *change) entry(key []byte) (e entry, err error) {
	item, err := c.tx.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return e, damaged("its extent is gone")
	} else if err != nil {
		return e, err
	}
	return e, item.Value(e.decode)
}

func (c *change) key(extent uint64) []byte {
	return appendKey(make([]byte, 0, numberedKey), c.number, dataKeys, extent)
}

// set makes data the bytes of the extents from first on. had says which of them are there.
func (c *change) set(first uint64, data []byte, had func(extent uint64) bool) error {
	for len(data) > 0 {
		n := 0 // extents that are not zeros
		for n*extentBytes < len(data) && string(data[n*extentBytes:][:extentBytes]) != string(zeros[:]) {
			n++
		}
		if n == 0 {
			if err := c.put(first, place{slot: noSlot}, had(first)); err != nil {
				return err
			}
			first, data = first+1, data[extentBytes:]
			continue
		}
		slot, got, err := c.db.slots.take(n)
		if err != nil {
			return err
		}
		for i := range got {
			c.taken = append(c.taken, slot+uint64(i))
		}
		if err := c.db.slots.write(data[:got*extentBytes], slot); err != nil {
			return err
		}
		for range got {
			p := place{slot: slot, sum: crc32.Checksum(data[:extentBytes], castagnoli)}
			if err := c.put(first, p, had(first)); err != nil {
				return err
			}
			first, slot, data = first+1, slot+1, data[extentBytes:]
		}
	}
	return nil
}

// put makes a place that of an extent.
func (c *change) put(extent uint64, p place, had bool) error {
	key := c.key(extent)
	e := entry{place: p, flush: c.flush, before: place{slot: noSlot}}
	if had {
		old, err := c.entry(key)
		if err != nil {
			return err
		}
		if e.before = old.place; old.flush > c.db.settled.Load() {
			e.before = old.before
		}
		c.leave(&old)
	}
	return c.tx.Set(key, e.append(make([]byte, 0, entryBytes)))
}

// drop gives an extent that is there back.
func (c *change) drop(extent uint64) error {
	key := c.key(extent)
	old, err := c.entry(key)
	if err != nil {
		return err
	}
	c.leave(&old)
	return c.tx.Delete(key)
}

func (c *change) leave(old *entry) {
	if old.slot != noSlot {
		c.left = append(c.left, old.slot)
	}
}
