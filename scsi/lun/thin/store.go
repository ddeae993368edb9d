package thin

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"minisrp/scsi/lun"
)

// Store is a unit's store in a DB.
//
// Ownership: made by DB.Open, ended by Close. The methods of lun.Store may be called from any goroutine.
type Store struct {
	// Fixed after construction.
	db     *DB
	name   string
	number uint32
	info   lun.Info

	live   atomic.Int64 // extents that are there; a stale read is as good as one a little earlier
	closed atomic.Bool

	mu     sync.RWMutex // guards chunks; is held over no other lock
	chunks map[uint64]*chunk
}

var (
	_ lun.Sparse  = (*Store)(nil)
	_ lun.Keeper  = (*Store)(nil)
	_ lun.Metered = (*Store)(nil)
	_ lun.Warner  = (*Store)(nil)
)

// Name returns the unit's name in the database.
func (s *Store) Name() string { return s.name }

func (s *Store) Info() lun.Info { return s.info }

// load reads which extents are there.
func (s *Store) load() error {
	prefix := append(unitPrefix(s.number), bitmapKeys)
	return s.db.badger.View(func(tx *badger.Txn) error {
		it := tx.NewIterator(badger.IteratorOptions{Prefix: prefix, PrefetchValues: true, PrefetchSize: 16})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			key := it.Item().Key()
			at, ok := numberOf(key)
			c := &chunk{number: at}
			err := it.Item().Value(func(b []byte) error {
				if !ok || !c.set.decode(b) || at > (s.info.Size-1)/chunkBytes {
					return damaged("bitmap of %d bytes under key %x", len(b), key)
				}
				return nil
			})
			if err != nil {
				return err
			}
			s.chunks[at] = c
			s.live.Add(int64(c.set.count()))
		}
		return nil
	})
}

// verify looks whether the extents are there which should be.
func (s *Store) verify() error {
	prefix := append(unitPrefix(s.number), dataKeys)
	var found int64
	err := s.db.badger.View(func(tx *badger.Txn) error {
		it := tx.NewIterator(badger.IteratorOptions{Prefix: prefix})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			at, ok := numberOf(it.Item().Key())
			if c := s.chunks[at/chunkExtents]; !ok || c == nil || !c.set.has(int(at%chunkExtents)) {
				return damaged("key %x should not be there", it.Item().Key())
			}
			found++
		}
		return nil
	})
	if err == nil && found != s.live.Load() {
		err = damaged("%d of its %d extents are gone", s.live.Load()-found, s.live.Load())
	}
	return err
}

// chunkAt returns a chunk; one that nothing was written to is made or nil.
func (s *Store) chunkAt(at uint64, need bool) *chunk {
	s.mu.RLock()
	c := s.chunks[at]
	s.mu.RUnlock()
	if c != nil || !need {
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c = s.chunks[at]; c == nil {
		c = &chunk{number: at}
		s.chunks[at] = c
	}
	return c
}

// parts calls fn for the parts of a range that lie in one piece of a size each.
func parts(off, n, size uint64, fn func(off, n uint64) error) error {
	for n > 0 {
		step := min(n, size-off%size)
		if err := fn(off, step); err != nil {
			return err
		}
		off, n = off+step, n-step
	}
	return nil
}

func (s *Store) Read(ctx context.Context, p [][]byte, off uint64) error {
	to := cursor{slices.Clone(p)}
	return parts(off, lun.Length(p), chunkBytes, func(off, n uint64) error { return s.readChunk(&to, off, n) })
}

func (s *Store) readChunk(to *cursor, off, n uint64) error {
	c := s.chunkAt(off/chunkBytes, false)
	if c == nil {
		to.clear(int(n))
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	s.db.swap.RLock()
	defer s.db.swap.RUnlock()
	if s.db.badger.IsClosed() {
		return ErrClosed
	}
	tx := s.db.badger.NewTransaction(false)
	defer tx.Discard()
	page := s.db.pages.Get().(*[extentBytes]byte)
	defer s.db.pages.Put(page)
	return parts(off, n, extentBytes, func(off, n uint64) error {
		extent := off / extentBytes
		if !c.set.has(int(extent % chunkExtents)) {
			to.clear(int(n))
			return nil
		}
		if err := s.extent(tx, extent, page[:]); err != nil {
			return err
		}
		to.scatter(page[off%extentBytes:][:n])
		return nil
	})
}

// extent reads an extent that is there.
func (s *Store) extent(tx *badger.Txn, extent uint64, data []byte) (err error) {
	defer func() {
		if r := recover(); r != nil { // badger's, over a damaged table
			err = damaged("%v", r)
		}
		if err != nil {
			s.db.log.Error("an extent cannot be read", keyPath, s.db.dir, keyUnit, s.name, keyOffset, extent*extentBytes, keyError, err)
		}
	}()
	var key [numberedKey]byte
	item, err := tx.Get(appendKey(key[:0], s.number, dataKeys, extent))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return damaged("its extent is gone")
	} else if err != nil {
		return err
	}
	return item.Value(func(b []byte) error { return s.db.load(b, data) })
}

// load reads the bytes that the value of an extent's key stands for.
func (d *DB) load(value, data []byte) error {
	var e entry
	if err := e.decode(value); err != nil {
		return err
	}
	if e.slot == noSlot {
		clear(data)
		return nil
	}
	if err := d.slots.read(data, e.slot); err != nil {
		return err
	}
	if !e.holds(data) {
		return damaged("slot %d is not what was written", e.slot)
	}
	return nil
}

// Write leaves the bytes to the page cache, or, with fua, waits until they are on the medium.
func (s *Store) Write(ctx context.Context, p [][]byte, off uint64, fua bool) error {
	from := cursor{slices.Clone(p)}
	err := parts(off, lun.Length(p), batchBytes, func(off, n uint64) error { return s.writeBatch(&from, off, n) })
	if err != nil || !fua {
		return err
	}
	return s.Flush(ctx)
}

// writeBatch writes bytes of one chunk, all or none.
func (s *Store) writeBatch(from *cursor, off, n uint64) error {
	first, last := off/extentBytes, (off+n-1)/extentBytes
	head := off % extentBytes
	buf := s.db.buffers.Get().(*[batchBytes]byte)
	defer s.db.buffers.Put(buf)
	data := buf[:(last-first+1)*extentBytes]
	from.gather(data[head:][:n])
	c := s.chunkAt(off/chunkBytes, true)
	if head == 0 && n%extentBytes == 0 {
		return s.writeWhole(c, first, data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// What the first and the last extent have beside what is written.
	if err := s.rest(c, first, data[:extentBytes], head, min(head+n, extentBytes)); err != nil {
		return err
	}
	if end := (off + n) % extentBytes; first != last && end != 0 {
		if err := s.rest(c, last, data[len(data)-extentBytes:], 0, end); err != nil {
			return err
		}
	}
	return s.changeExtents(c, first, last-first+1, func(ch *change) error { return ch.set(first, data, c.has) })
}

// writeWhole writes whole extents of a chunk: others that wait for the chunk need not wait for the bytes.
func (s *Store) writeWhole(c *chunk, first uint64, data []byte) error {
	if err := s.db.room.check(writeNeeds); err != nil {
		return err
	}
	places, err := s.db.stage(data)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	placed := false
	err = s.changeExtents(c, first, uint64(len(places)), func(ch *change) error {
		placed = true
		return ch.place(first, places, c.has)
	})
	if !placed {
		s.db.unstage(places)
	}
	return err
}

// changeExtents changes n extents of a chunk whose lock is held, after which they are there.
func (s *Store) changeExtents(c *chunk, first, n uint64, fn func(ch *change) error) error {
	after := c.set
	for e := first; e < first+n; e++ {
		after.add(int(e % chunkExtents))
	}
	return s.change(c, &after, writeNeeds, n, fn)
}

// rest fills in what an extent has before from and behind to.
func (s *Store) rest(c *chunk, extent uint64, data []byte, from, to uint64) error {
	if from == 0 && to == extentBytes {
		return nil
	}
	clear(data[:from])
	clear(data[to:])
	if !c.set.has(int(extent % chunkExtents)) {
		return nil
	}
	s.db.swap.RLock()
	defer s.db.swap.RUnlock()
	if s.db.badger.IsClosed() {
		return ErrClosed
	}
	tx := s.db.badger.NewTransaction(false)
	defer tx.Discard()
	page := s.db.pages.Get().(*[extentBytes]byte)
	defer s.db.pages.Put(page)
	err := s.extent(tx, extent, page[:])
	copy(data[:from], page[:])
	copy(data[to:], page[to:])
	return err
}

var zeros [extentBytes]byte // read only

// change changes a chunk whose lock is held, after which it has the extents given, and some entries of the database. It
// wants need bytes of free space.
func (s *Store) change(c *chunk, after *bitmap, need, entries uint64, fn func(ch *change) error) error {
	if s.closed.Load() {
		return ErrClosed
	}
	if err := s.db.room.check(need); err != nil {
		return err
	}
	err := s.db.update(s.number, entries+bitmapEntries, func(ch *change) error {
		if err := fn(ch); err != nil {
			return err
		}
		return s.setBitmap(ch.tx, c, after)
	})
	if err != nil {
		return err
	}
	s.live.Add(int64(after.count() - c.set.count()))
	c.set = *after
	return nil
}

// setBitmap puts a chunk's bitmap into a transaction that changes it.
func (s *Store) setBitmap(tx *badger.Txn, c *chunk, after *bitmap) error {
	key := appendKey(make([]byte, 0, numberedKey), s.number, bitmapKeys, c.number)
	switch *after {
	case c.set:
		return nil
	case bitmap{}:
		return tx.Delete(key)
	}
	return tx.Set(key, after.encode())
}
