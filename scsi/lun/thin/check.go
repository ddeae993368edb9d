package thin

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"

	"minisrp/scsi/lun/dbdir"
)

// manifest is the file that tells badger which tables there are.
const manifest = "MANIFEST"

// checkFiles looks at the files before badger does, and reports whether there is no database yet. badger ends the
// process over some damage, begins anew without a manifest, goes on without a table that it cannot read, and takes a
// log that is damaged to end there.
func (d *DB) checkFiles() (fresh bool, err error) {
	found, err := os.ReadDir(d.files())
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(found) == 0 {
		return true, nil // also when somebody has moved it away, to begin anew
	} else if err != nil {
		return false, err
	}
	seal, err := d.readSeal()
	if err != nil {
		return false, err
	}
	for _, f := range found {
		if !f.Type().IsRegular() {
			return false, damaged("%s is not a regular file", f.Name())
		}
	}
	if seal.Files != nil {
		if err := d.compare(seal.Files, found); err != nil {
			return false, err
		}
	}
	c := checker{dir: d.files(), clean: seal.Files != nil}
	if err := c.readManifest(); err != nil {
		return false, err
	}
	size, err := c.checkTables()
	d.unclean = !c.clean && size <= verifyMost
	d.sameBoot = c.clean || seal.Boot == bootID()
	if err == nil {
		err = c.checkRegistry()
	}
	if err == nil {
		err = c.checkLogs(seal.Boot == bootID())
	}
	if err != nil {
		return false, err
	}
	fresh = len(c.tables) == 0 && !c.logged // killed before it was laid out
	return fresh, dbdir.RemoveUnborn(d.files())
}

// checker has what it found in a database's files.
type checker struct {
	dir    string
	clean  bool // it was closed
	tables []uint64
	logged bool // there is something in logs
}

// readManifest finds out which tables there are to be.
func (c *checker) readManifest() error {
	f, err := os.Open(filepath.Join(c.dir, manifest))
	if err != nil {
		return damaged("%w", err)
	}
	defer f.Close()
	m, size, err := badger.ReplayManifestFile(f, magic, badger.DefaultOptions(c.dir))
	if err != nil {
		return damaged("%s: %w", manifest, err)
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if c.clean && size != st.Size() {
		return damaged("%s: %d of its %d bytes make sense", manifest, size, st.Size())
	}
	c.tables = slices.Sorted(maps.Keys(m.Tables))
	return nil
}

// checkTables reads the tables, all of them if that does not take long, and returns their size.
func (c *checker) checkTables() (total uint64, err error) {
	for _, id := range c.tables {
		total += dbdir.Allocated(table.NewFilename(id, c.dir))
	}
	mode := options.OnTableRead
	if total > verifyMost {
		mode = options.NoVerification
	}
	for _, id := range c.tables {
		t, err := openTable(table.NewFilename(id, c.dir), mode)
		if err != nil {
			return total, damaged("%s: %w", table.IDToFilename(id), err)
		}
		if err := t.Close(-1); err != nil {
			return total, err
		}
	}
	return total, nil
}

// openTable opens a table as badger does, but comes back when it is damaged. Part of a damaged one may stay mapped.
func openTable(path string, mode options.ChecksumVerificationMode) (t *table.Table, err error) {
	defer func() {
		if r := recover(); r != nil {
			text, _, _ := strings.Cut(fmt.Sprint(r), "\n")
			err = errors.New(text)
		}
	}()
	f, err := z.OpenMmapFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	if !hasFooter(f.Data) {
		return nil, errors.Join(errors.New("its end is not a table's"), f.Close(-1))
	}
	return table.OpenTable(f, table.Options{BlockSize: blockBytes, ChkMode: mode})
}

// hasFooter reports whether the lengths at a table's end lie within it. badger ends the process if they do not.
//
//	… index, length of the index (4), checksum, length of the checksum (4)
func hasFooter(b []byte) bool {
	take := func() (n int, ok bool) {
		if len(b) < 4 {
			return 0, false
		}
		n = int(binary.BigEndian.Uint32(b[len(b)-4:]))
		b = b[:len(b)-4]
		return n, n <= len(b)
	}
	n, ok := take()
	if !ok {
		return false
	}
	b = b[:len(b)-n]
	n, ok = take()
	return ok && n > 0
}

// checkRegistry looks at the file of keys, of which there are none. badger leaves goroutines behind when it is damaged.
//
//	initialization vector (16), a text
func (c *checker) checkRegistry() error {
	b, err := os.ReadFile(filepath.Join(c.dir, badger.KeyRegistryFileName))
	switch {
	case errors.Is(err, fs.ErrNotExist): // it is made anew
		return nil
	case err != nil:
		return damaged("%w", err)
	case len(b) < 16 || string(b[16:]) != "Hello Badger":
		return damaged("%s is not what was written", badger.KeyRegistryFileName)
	}
	return nil
}
