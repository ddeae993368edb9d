package thin

// givenBack counts extents that were given back.
func (d *DB) givenBack(n int) {
	if d.garbage.Add(int64(n)) >= tidyBytes/extentBytes {
		d.room.wake()
	}
}

// tidy has badger give up what was given back.
func (d *DB) tidy(free uint64) {}
