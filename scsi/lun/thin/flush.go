package thin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// flush makes everything last that was committed before the call. Errors: lun.ErrLost, now and ever after.
//
// badger's own Sync would not do: it leaves out the logs of the tables that are on their way from memory to the disk.
func (d *DB) flush() error { return d.flushes.Flush(d.syncLogs) }

// syncLogs syncs the logs, and the directory when it has changed. A log that is gone meanwhile has become a table,
// which was synced, and stands in the manifest, which was too.
func (d *DB) syncLogs() error {
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
