package state

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"

	"minisrp/scsi"
)

// Binding is the name that a unit has for good.
type Binding struct {
	Unit  scsi.UnitID `json:"unit"`
	Name  string      `json:"name"`
	Since time.Time   `json:"since"`
}

const bindPrefix = "bind/"

// Bind returns the name of a unit: disk0, disk1 and so on, in the order in which they are first seen. A unit keeps its
// name, and the name of one that is away is not given to another. Errors: *DatabaseError, ErrClosed.
func (s *Store) Bind(ctx context.Context, id scsi.UnitID) (string, error) {
	names, err := s.BindAll(ctx, []scsi.UnitID{id})
	if err != nil {
		return "", err
	}
	return names[0], nil
}

// BindAll is Bind for many units at a time, which takes no longer than for one. Errors: likewise.
func (s *Store) BindAll(ctx context.Context, ids []scsi.UnitID) (names []string, err error) {
	err = s.change(ctx, func() error {
		all, err := s.bindings()
		if err != nil {
			return err
		}
		named, taken := map[scsi.UnitID]string{}, map[string]bool{}
		for _, b := range all {
			named[b.Unit], taken[b.Name] = b.Name, true
		}
		var fresh []record
		n := 0
		for _, id := range ids {
			if id == "" {
				return fmt.Errorf("a unit without an identity cannot be bound")
			}
			if named[id] == "" {
				for taken[fmt.Sprintf("disk%d", n)] {
					n++
				}
				b := Binding{Unit: id, Name: fmt.Sprintf("disk%d", n), Since: time.Now().UTC().Truncate(time.Second)}
				named[id], taken[b.Name] = b.Name, true
				fresh = append(fresh, record{bindPrefix + string(id), b})
			}
			names = append(names, named[id])
		}
		for some := range slices.Chunk(fresh, atOnce) {
			if err := s.set(some...); err != nil {
				return err
			}
		}
		for _, r := range fresh {
			b := r.value.(Binding)
			s.log.Info("disk named", keyUnit, string(b.Unit), keyName, b.Name)
		}
		return nil
	})
	return names, err
}

// Bindings returns all names, by unit. Errors: *DatabaseError, ErrClosed.
func (s *Store) Bindings(ctx context.Context) (all []Binding, err error) {
	err = s.change(ctx, func() (err error) {
		all, err = s.bindings()
		return err
	})
	return all, err
}

func (s *Store) bindings() ([]Binding, error) {
	var all []Binding
	err := s.db.View(func(tx *badger.Txn) error {
		it := tx.NewIterator(badger.IteratorOptions{Prefix: []byte(bindPrefix), PrefetchValues: true, PrefetchSize: 100})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			key := string(it.Item().Key())
			var b Binding
			if err := it.Item().Value(func(v []byte) error { return decode(key, v, &b) }); err != nil {
				return err
			}
			if b.Name == "" || string(b.Unit) != strings.TrimPrefix(key, bindPrefix) {
				return fmt.Errorf("damaged: record %q is of unit %q, name %q", key, b.Unit, b.Name)
			}
			all = append(all, b)
		}
		return nil
	})
	return all, err
}
