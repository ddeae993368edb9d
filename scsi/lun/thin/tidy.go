package thin

import "errors"

// givenBack counts extents that were given back.
func (d *DB) givenBack(n int) {
	if n > 0 && d.garbage.Add(int64(n)) >= tidyBytes/extentBytes {
		d.room.wake()
	}
}

// tidy gives what was given back to the file system, once that is much.
func (d *DB) tidy() {
	n := d.garbage.Load()
	if n < tidyBytes/extentBytes {
		return
	}
	d.garbage.Add(-n)
	if err := errors.Join(d.flush(), d.slots.punch()); err != nil {
		d.log.Warn("the thin store cannot be tidied up", keyPath, d.dir, keyError, err)
	}
}
