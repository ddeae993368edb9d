package thin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"minisrp/scsi/lun/dbdir"
)

// lookEvery is how often the files are looked at while something is written.
const lookEvery = 20 * time.Millisecond

// startBackground starts the goroutine that keeps the space in order. It ends after stop.
func (d *DB) startBackground() {
	go func() {
		defer close(d.ended)
		for {
			var look <-chan time.Time
			if d.room.still.Load() {
				look = time.After(lookForRoom)
			}
			select {
			case <-d.stop:
				return
			case <-d.room.tight:
			case <-look:
			}
			d.settle()
		}
	}()
}

// settle sees to it that badger has the space for what it does by itself, until that is done.
func (d *DB) settle() {
	if d.room.still.Load() && !d.stir() {
		return
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		free, held, err := d.room.look()
		busy := d.busy()
		switch {
		case err != nil:
		case busy && free < spendBelow && held > 0:
			d.log.Warn("the file system is full: compactions take what was set aside for them", keyPath, d.dir, keyFree, free>>20)
			err = d.room.spend()
		case !busy:
			err = d.room.refill()
		}
		if err != nil {
			d.log.Warn("reserve of the thin store", keyPath, d.dir, keyError, err)
		}
		if !busy {
			d.tidy()
			return
		}
		select {
		case <-d.stop:
			return
		case <-look.C:
		}
	}
}

// busy reports whether badger is writing tables, or is about to.
func (d *DB) busy() bool {
	if logs, _ := d.logs(); len(logs) > 1 {
		return true
	}
	for _, l := range d.badger.Levels() {
		if l.Score >= 1 {
			return true
		}
	}
	return false
}

// logs returns the numbers of badger's logs, but not that of one that is only prepared.
func (d *DB) logs() (all []int, err error) {
	names, err := filepath.Glob(filepath.Join(d.files(), "*.mem"))
	for _, name := range names {
		n := logNumber(name)
		if st, err := os.Stat(name); err == nil && st.Size() > 0 {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, err
}

// written counts bytes, and gives badger's next log its blocks before badger makes it.
func (d *DB) written(n uint64) error {
	if d.sinceLook.Add(int64(n)) < memTable/4 {
		return nil
	}
	d.sinceLook.Store(0)
	logs, err := d.logs()
	if err != nil || len(logs) == 0 {
		return err
	}
	return dbdir.Prepare(filepath.Join(d.files(), fmt.Sprintf("%05d.mem", logs[len(logs)-1]+1)), 2*memTable)
}
