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
	var name string
	err := s.change(ctx, func() error {
		if id == "" {
			return fmt.Errorf("a unit without an identity cannot be bound")
		}
		all, err := s.bindings()
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(b Binding) bool { return b.Unit == id }); i >= 0 {
			name = all[i].Name
			return nil
		}
		for n := 0; name == "" || slices.ContainsFunc(all, func(b Binding) bool { return b.Name == name }); n++ {
			name = fmt.Sprintf("disk%d", n)
		}
		if err := s.set(bindPrefix+string(id), Binding{Unit: id, Name: name, Since: time.Now().UTC().Truncate(time.Second)}); err != nil {
			return err
		}
		s.log.Info("disk named", keyUnit, string(id), keyName, name)
		return nil
	})
	return name, err
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
