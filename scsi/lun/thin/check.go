package thin

import (
	"os"
	"path/filepath"

	"minisrp/scsi/lun/dbdir"
)

// checkFiles looks at the files before badger does, and reports whether there is no database yet.
func (d *DB) checkFiles() (fresh bool, err error) {
	if err := dbdir.RemoveUnborn(d.files()); err != nil {
		return false, err
	}
	names, err := filepath.Glob(filepath.Join(d.files(), "*"))
	if err != nil {
		return false, err
	}
	if err := os.Remove(filepath.Join(d.dir, "seal")); err != nil && !os.IsNotExist(err) {
		return false, err
	}
	return len(names) == 0, nil
}

// seal notes what the files of a closed database are.
func (d *DB) seal() error { return nil }
