package thin

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"

	"minisrp/scsi/lun"
)

// ErrSnapshot says that what was read is no snapshot, or a damaged one. Nothing was restored.
var ErrSnapshot = errors.New("not a snapshot")

// ErrThere says that there is a unit of that name already. The caller takes another name.
var ErrThere = errors.New("there is such a unit already")

func badSnapshot(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrSnapshot, fmt.Errorf(format, args...))
}

// Restore makes a unit of the name given, or the snapshot's own if that is empty, as the snapshot has it. It is there,
// for good, when Restore returns, or not at all. Errors: ErrSnapshot, ErrThere, dbdir.ErrSpace, r's, ctx's.
//
//level:passive
func (d *DB) Restore(ctx context.Context, r io.Reader, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.room.check(writeNeeds); err != nil {
		return err
	}
	sum := sha256.New()
	buffered := bufio.NewReader(r)
	in := io.TeeReader(buffered, &summed{ctx, io.Discard, sum})
	h, err := readHeader(in)
	if err != nil {
		return err
	}
	if name == "" {
		name = h.Unit
	}
	info := lun.Info{Kind: "badger", Size: h.Size, BlockSize: h.BlockSize, Granularity: extentBytes}
	if err := info.Check(); err != nil || h.Size > maxSize {
		return badSnapshot("disk of %d bytes in blocks of %d", h.Size, h.BlockSize)
	}
	if old, there := d.units[name]; there && !old.Restoring {
		return fmt.Errorf("unit %q: %w", name, ErrThere)
	} else if there {
		if err := d.remove(ctx, name, old); err != nil {
			return err
		}
	}
	u := record{Size: h.Size, BlockSize: h.BlockSize, Restoring: true}
	if err := d.makeUnit(name, &u); err != nil {
		return err
	}
	if err = d.restore(ctx, in, name, u); err == nil {
		err = checkSum(buffered, sum.Sum(nil))
	}
	if err == nil {
		u.Restoring = false
		if err = put(d.badger, unitKeys+name, u); err == nil {
			d.changed.Store(true)
			err = d.flush()
		}
	}
	if err != nil {
		return errors.Join(err, d.remove(context.WithoutCancel(ctx), name, u))
	}
	d.units[name] = u
	return nil
}

// restore writes what the frames have, and looks whether it is a unit.
func (d *DB) restore(ctx context.Context, in io.Reader, name string, u record) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		list, err := readFrame(in)
		if err != nil {
			return err
		}
		if list == nil {
			break
		}
		if err := d.restoreFrame(list.Kv, u); err != nil {
			return err
		}
	}
	s := &Store{db: d, name: name, number: u.Number, chunks: make(map[uint64]*chunk), info: lun.Info{Size: u.Size}}
	if err := errors.Join(s.load(), s.verify()); err != nil {
		return badSnapshot("%w", err)
	}
	return nil
}

func (d *DB) restoreFrame(kvs []*pb.KV, u record) error {
	if err := d.room.check(writeNeeds); err != nil {
		return err
	}
	err := d.update(u.Number, uint64(len(kvs)), func(c *change) error {
		for _, kv := range kvs {
			if !restorable(kv, u.Size) {
				return badSnapshot("%d bytes under key %x", len(kv.Value), kv.Key)
			}
			if err := c.restore(kv); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, badger.ErrTxnTooBig) {
		return badSnapshot("frame of %d keys", len(kvs))
	}
	return err
}

// restore makes what a snapshot has under a key that of the unit.
func (c *change) restore(kv *pb.KV) error {
	key := append(unitPrefix(c.number), kv.Key...)
	if kv.Key[0] != dataKeys {
		return c.tx.Set(key, kv.Value)
	}
	if _, err := c.tx.Get(key); !errors.Is(err, badger.ErrKeyNotFound) {
		if err == nil {
			err = badSnapshot("key %x is there twice", kv.Key)
		}
		return err
	}
	data := kv.Value
	if len(data) == 1 {
		data = zeros[:]
	}
	extent, _ := numberOf(key)
	return c.set(extent, data, func(uint64) bool { return false })
}

// restorable reports whether a key and its value can be those of a disk of a size.
func restorable(kv *pb.KV, size uint64) bool {
	if len(kv.Key) == 0 {
		return false
	}
	at, numbered := numberOf(append(make([]byte, prefixSize), kv.Key...))
	switch kv.Key[0] {
	case dataKeys:
		return numbered && at <= (size-1)/extentBytes && (len(kv.Value) == extentBytes || len(kv.Value) == 1)
	case bitmapKeys:
		return numbered && at <= (size-1)/chunkBytes && len(kv.Value) == chunkExtents/8
	case keptKeys:
		return len(kv.Key) <= 1+maxName && len(kv.Value) <= maxKept
	}
	return false
}

// remove deletes a unit. mu is held.
func (d *DB) remove(ctx context.Context, name string, u record) error {
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.room.check(freeNeeds); err != nil {
			return err
		}
		more = false
		err := d.update(u.Number, chunkExtents, func(c *change) error {
			it := c.tx.NewIterator(badger.IteratorOptions{Prefix: unitPrefix(u.Number)})
			defer it.Close()
			n := 0
			for it.Rewind(); it.Valid(); it.Next() {
				if n++; n > chunkExtents {
					more = true
					return nil
				}
				if err := c.forget(it.Item()); err != nil {
					return err
				}
			}
			return c.tx.Delete([]byte(unitKeys + name))
		})
		if err != nil {
			return err
		}
	}
	delete(d.units, name)
	d.changed.Store(true)
	return d.flush()
}

// forget deletes a key of the unit.
func (c *change) forget(item *badger.Item) error {
	key := item.KeyCopy(nil)
	if len(key) == numberedKey && key[prefixSize] == dataKeys {
		var e entry
		if err := item.Value(e.decode); err != nil {
			return err
		}
		c.leave(&e)
	}
	return c.tx.Delete(key)
}
