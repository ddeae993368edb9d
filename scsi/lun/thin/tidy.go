package thin

import (
	"encoding/binary"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// givenBack counts extents that were given back.
func (d *DB) givenBack(n int) {
	if n > 0 && d.garbage.Add(int64(n)) >= tidyBytes/extentBytes {
		d.room.wake()
	}
}

// tidy has badger give up what was given back to it, once that is much. By itself it compacts when something is written,
// which a full disk does not let happen.
func (d *DB) tidy() {
	n := d.garbage.Load()
	if n < tidyBytes/extentBytes || d.size() > tidyMost {
		return
	}
	err := d.room.spend()
	if err == nil {
		err = d.pushTable()
	}
	if err == nil && d.tablesWritten() {
		err = d.badger.Flatten(1)
	}
	if err != nil {
		d.log.Warn("the thin store cannot be tidied up", keyPath, d.dir, keyError, err)
	}
	d.garbage.Add(-n)
	if err := d.room.refill(); err != nil {
		d.log.Warn("reserve of the thin store", keyPath, d.dir, keyError, err)
	}
}

// size returns what the tables take.
func (d *DB) size() (n int64) {
	for _, l := range d.badger.Levels() {
		n += l.Size
	}
	return n
}

// pushTable fills badger's table in memory up, so that it goes to the disk with the deletions that are in it: badger has
// no other way to ask for that.
func (d *DB) pushTable() error {
	const entries, batch = memTable / extentBytes, batchBytes / extentBytes
	key := func(i int) []byte { return binary.BigEndian.AppendUint32([]byte(padKeys), uint32(i)) }
	for i := 0; i < entries; i += batch {
		if err := d.written(batchBytes); err != nil {
			return err
		}
		err := d.badger.Update(func(tx *badger.Txn) error {
			for j := i; j < i+batch; j++ {
				if err := tx.Set(key(j), zeros[:]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return d.badger.Update(func(tx *badger.Txn) error {
		for i := range entries {
			if err := tx.Delete(key(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// tablesWritten waits until badger has written the tables that were in memory, and reports whether it has.
func (d *DB) tablesWritten() bool {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		if logs, err := d.logs(); err != nil || len(logs) <= 1 {
			return err == nil
		}
		select {
		case <-d.stop:
			return false
		case <-look.C:
		}
	}
}
