package thin

import (
	"errors"
	"hash/crc32"
	"strconv"

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
		err = c.tx.Set([]byte(markKey), strconv.AppendUint(nil, c.flush, 10))
	}
	if err == nil {
		err = c.tx.Commit()
	}
	if err != nil {
		d.slots.leave(c.taken) // the database may have got it
		return err
	}
	d.marked.Store(c.flush)
	d.changed.Store(true)
	d.slots.leave(c.left)
	return nil
}

// stage writes the bytes of extents to slots, which are the caller's then, and returns the places.
func (d *DB) stage(data []byte) (places []place, err error) {
	places = make([]place, 0, len(data)/extentBytes)
	for len(data) > 0 {
		n := 0 // extents that are not zeros
		for n*extentBytes < len(data) && string(data[n*extentBytes:][:extentBytes]) != string(zeros[:]) {
			n++
		}
		if n == 0 {
			places, data = append(places, place{slot: noSlot}), data[extentBytes:]
			continue
		}
		slot, got, err := d.slots.take(n)
		if err != nil {
			d.unstage(places)
			return nil, err
		}
		part := data[:got*extentBytes]
		data = data[len(part):]
		err = d.slots.write(part, slot)
		for ; len(part) > 0; part, slot = part[extentBytes:], slot+1 {
			places = append(places, place{slot: slot, sum: crc32.Checksum(part[:extentBytes], castagnoli)})
		}
		if err != nil {
			d.unstage(places)
			return nil, err
		}
	}
	return places, nil
}

// unstage gives slots back that the database does not name.
func (d *DB) unstage(places []place) {
	for _, p := range places {
		if p.slot != noSlot {
			d.slots.leave([]uint64{p.slot})
		}
	}
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
	places, err := c.db.stage(data)
	if err != nil {
		return err
	}
	return c.place(first, places, had)
}

// place makes staged places those of the extents from first on, and takes them over.
func (c *change) place(first uint64, places []place, had func(extent uint64) bool) error {
	for _, p := range places {
		if p.slot != noSlot {
			c.taken = append(c.taken, p.slot)
		}
	}
	for i, p := range places {
		if err := c.put(first+uint64(i), p, had(first+uint64(i))); err != nil {
			return err
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
