package thin

import (
	"errors"
	"time"

	"github.com/dgraph-io/badger/v4"

	"minisrp/scsi/lun/dbdir"
)

// A database that is opened where there is no room for compactions is still: badger has no compactors, and all changes
// are refused, but it can be read. When there is room again, badger is opened as it is to be.

// lookForRoom is how often that is looked for.
const lookForRoom = time.Second

// openNeeds returns the space without which badger cannot be opened, not even so.
func (d *DB) openNeeds() uint64 {
	logs, _ := d.logs()
	return openBytes + uint64(len(logs))*flushBytes
}

// stir opens badger again if there is room, and reports whether it is in use.
func (d *DB) stir() bool {
	if d.lost != nil {
		return false
	}
	if logs, _ := d.logs(); len(logs) > 1 {
		return false // badger is making tables of them, for which the space is needed
	}
	free, held, err := d.room.look()
	if err == nil && free+held < writeNeeds {
		err = d.room.refill()
	} else if err == nil {
		if err = d.reopen(); err == nil {
			d.log.Info("there is room: thin disks can be written to again", keyPath, d.dir)
			return true
		}
	}
	if err != nil {
		d.log.Error("thin disks cannot be made writable", keyPath, d.dir, keyError, err)
	}
	return false
}

func (d *DB) reopen() error {
	d.swap.Lock()
	defer d.swap.Unlock()
	if d.lost = errors.Join(d.room.spend(), d.badger.Close()); d.lost != nil {
		return d.lost
	}
	var db *badger.DB
	if db, d.lost = d.openBadger(false); d.lost != nil {
		return d.lost
	}
	d.badger = db
	if err := dbdir.AllocateFiles(d.files()); err != nil {
		return err
	}
	d.room.still.Store(false)
	return nil
}
