package thin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dgraph-io/badger/v4"
	"golang.org/x/sys/unix"
)

// flush makes everything last that was committed before the call. Errors: lun.ErrLost, now and ever after.
//
// badger's own Sync would not do: it leaves out the logs of the tables that are on their way from memory to the disk.
func (d *DB) flush() error { return d.flushes.Flush(d.syncAll) }

// syncAll syncs the data file and the logs, both at a time since entries say when they hold, and the directory when it
// has changed. A log that is gone meanwhile has become a table, which was synced, and stands in the manifest, which was too.
//
// Changes write the number of the flush that will cover them into the logs, and it is noted in a file when all has been
// synced: so that Open sees when a log is gone, and which entries may lack their bytes.
func (d *DB) syncAll() error {
	d.turn.Lock()
	if !d.changed.Swap(false) {
		d.turn.Unlock()
		return nil
	}
	n := d.mark.Add(1)
	marked := d.marked.Load() == n
	leaving := d.slots.flushing()
	d.turn.Unlock()
	data := make(chan error, 1)
	go func() { data <- d.slots.sync() }()
	var err error
	if !marked {
		err = put(d.badger, markKey, n)
	}
	if err == nil {
		err = d.syncFiles()
	}
	if err = errors.Join(err, <-data); err != nil {
		return err
	}
	d.noteMark(n)
	d.settled.Store(n)
	d.slots.flushed(leaving)
	return nil
}

// markDigits is the length of the number in the mark's file, which is written over in its place: that takes no space.
const markDigits = 20

func (d *DB) noteMark(n uint64) {
	if _, err := d.markFile.WriteAt(fmt.Appendf(nil, "%0*d", markDigits, n), 0); err != nil {
		d.log.Warn("the mark of the thin store cannot be noted", keyPath, d.markFile.Name(), keyError, err)
	}
}

// checkMark compares the mark in the database with the one that was synced last.
func (d *DB) checkMark() error {
	d.changed.Store(true)
	var last uint64
	err := d.badger.View(func(tx *badger.Txn) error {
		_, err := get(tx, markKey, &last)
		return err
	})
	if err != nil {
		return err
	}
	d.mark.Store(last)
	b := make([]byte, markDigits)
	if _, err := d.markFile.ReadAt(b, 0); errors.Is(err, io.EOF) {
		return nil // new, or killed when it was
	} else if err != nil {
		return err
	}
	n, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil {
		return damaged("its mark %s is no number", d.markFile.Name())
	}
	if n > last {
		return damaged("it lacks what was written last: it has flush %d, and %d were told", last, n)
	}
	d.settled.Store(n)
	return nil
}

func (d *DB) syncFiles() error {
	st, err := os.Stat(d.files())
	if err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(d.files(), "*.mem"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := syncFile(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if st.ModTime().Equal(d.dirSynced) {
		return nil
	}
	if err := syncDir(d.files()); err != nil {
		return err
	}
	// Changes that came later than the last tick of the file system's clock may have the same time as those before.
	if time.Since(st.ModTime()) > time.Second {
		d.dirSynced = st.ModTime()
	}
	return nil
}

// syncFile brings a file to the disk, with what was written to it through mappings.
func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return fdatasync(f)
}

func fdatasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func syncDir(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
