package thin

import "context"

// Unmap gives bytes back; what lies in extents that others of their bytes keep is made zeros.
func (s *Store) Unmap(ctx context.Context, off, n uint64) error {
	return s.Zero(ctx, off, n, true)
}

// Zero gives bytes back if it may. Otherwise their extents are there, and take next to nothing.
func (s *Store) Zero(ctx context.Context, off, n uint64, hole bool) error {
	return parts(off, n, chunkBytes, func(off, n uint64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.zeroChunk(off, n, hole)
	})
}

// zeroChunk does so to bytes of one chunk, all or none.
func (s *Store) zeroChunk(off, n uint64, hole bool) error {
	c := s.chunkAt(off/chunkBytes, !hole)
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, after, changed := c.set.count(), c.set, false
	edit := func(ch *change) error {
		return parts(off, n, extentBytes, func(off, n uint64) error {
			extent := off / extentBytes
			i := int(extent % chunkExtents)
			switch whole := n == extentBytes; {
			case hole && !c.set.has(i):
				return nil
			case whole && hole:
				after.drop(i)
				return ch.drop(extent)
			case whole:
				after.add(i)
				return ch.set(extent, zeros[:], c.has)
			}
			after.add(i)
			data := make([]byte, extentBytes)
			from := off % extentBytes
			if err := s.rest(c, extent, data, from, from+n); err != nil {
				return err
			}
			return ch.set(extent, data, c.has)
		})
	}
	// What is not there needs no transaction.
	for e := off / extentBytes; e <= (off+n-1)/extentBytes && !changed; e++ {
		changed = !hole || c.set.has(int(e%chunkExtents))
	}
	if !changed {
		return nil
	}
	if err := s.change(c, &after, freeNeeds, 1+n/extentBytes, edit); err != nil {
		return err
	}
	s.db.givenBack(before - after.count())
	return nil
}

// Extent says what the bitmaps do, of as many chunks as are alike.
func (s *Store) Extent(ctx context.Context, off uint64) (hole bool, n uint64, err error) {
	hole = !s.has(off / extentBytes)
	at := off
	for at < s.info.Size {
		end := (at/chunkBytes + 1) * chunkBytes
		if c := s.chunkAt(at/chunkBytes, false); c != nil {
			c.mu.RLock()
			i := int(at / extentBytes % chunkExtents)
			alike, run := c.set.has(i) != hole, c.set.run(i)
			c.mu.RUnlock()
			if !alike {
				break
			}
			if i+run < chunkExtents {
				at = at - at%extentBytes + uint64(run)*extentBytes
				break
			}
		} else if !hole {
			break
		}
		at = end
	}
	return hole, max(1, min(at, s.info.Size)-off), nil
}

// has reports whether an extent is there.
func (s *Store) has(extent uint64) bool {
	c := s.chunkAt(extent/chunkExtents, false)
	if c == nil {
		return false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.set.has(int(extent % chunkExtents))
}
