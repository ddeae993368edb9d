package thin

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// Keys. What belongs to a unit begins with 'e' and the unit's number, so that it is one range.
//
//	"thin"                  super
//	"flushed"               number of the last flush
//	"u" NAME                record of the unit
//	"e" NUMBER "d" EXTENT   entry: where the bytes are
//	"e" NUMBER "k" NAME     what is kept for the unit
//	"e" NUMBER "m" CHUNK    bitmap of the extents that are there; none, if none is
//
// NUMBER has 4 bytes, EXTENT and CHUNK have 8, most significant byte first.
const (
	superKey    = "thin"
	markKey     = "flushed"
	unitKeys    = "u"
	extentKeys  = 'e'
	dataKeys    = 'd'
	keptKeys    = 'k'
	bitmapKeys  = 'm'
	prefixSize  = 1 + 4
	numberedKey = prefixSize + 1 + 8
)

// super says how the database is laid out.
type super struct {
	Version int `json:"version"`
	Extent  int `json:"extent"`
}

// record is a unit as the database knows it.
type record struct {
	Number    uint32 `json:"number"`
	Size      uint64 `json:"size"`
	BlockSize uint32 `json:"block_size"`
	Restoring bool   `json:"restoring,omitempty"` // from a snapshot that is not all there yet
}

// unitPrefix is what the keys of a unit begin with.
func unitPrefix(number uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{extentKeys}, number)
}

// appendKey appends the key of an extent or a chunk.
func appendKey(b []byte, number uint32, kind byte, at uint64) []byte {
	b = append(b, extentKeys)
	b = binary.BigEndian.AppendUint32(b, number)
	b = append(b, kind)
	return binary.BigEndian.AppendUint64(b, at)
}

func keptKey(number uint32, name string) []byte {
	return append(append(unitPrefix(number), keptKeys), name...)
}

// get reads a JSON record, and reports whether it is there.
func get(tx *badger.Txn, key string, v any) (bool, error) {
	item, err := tx.Get([]byte(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, item.Value(func(b []byte) error { return decode(key, b, v) })
}

func decode(key string, b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return damaged("record %q: %w", key, err)
	}
	return nil
}

// put writes a JSON record.
func put(db *badger.DB, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return db.Update(func(tx *badger.Txn) error { return tx.Set([]byte(key), b) })
}

// checkSuper refuses what this package cannot read, and lays out a new database.
func checkSuper(db *badger.DB, fresh bool) error {
	var s super
	var found bool
	err := db.View(func(tx *badger.Txn) (err error) {
		found, err = get(tx, superKey, &s)
		return err
	})
	switch {
	case err != nil:
		return err
	case !found && fresh:
		return put(db, superKey, super{Version: version, Extent: extentBytes})
	case !found:
		return damaged("it says nothing of itself")
	case s.Version > version:
		return fmt.Errorf("%w: it has version %d, and this program knows %d", ErrVersion, s.Version, version)
	case s.Version == 1:
		return fmt.Errorf("%w: it has version 1, and this program reads version %d", ErrVersion, version)
	case s.Version < 1 || s.Extent != extentBytes:
		return damaged("it has version %d and extents of %d bytes", s.Version, s.Extent)
	}
	return nil
}

// numberOf returns the extent or chunk in a key.
func numberOf(key []byte) (uint64, bool) {
	if len(key) != numberedKey {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[prefixSize+1:]), true
}
