package thin

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

// chunk knows which extents of a part of the disk are there.
//
// Ownership: its Store's. Whoever changes an extent holds mu, and whoever reads one holds it for reading: so a bit that
// is set means an extent that the database has.
type chunk struct {
	number uint64 // fixed

	mu  sync.RWMutex
	set bitmap
}

// has reports whether an extent of the chunk is there.
func (c *chunk) has(extent uint64) bool { return c.set.has(int(extent % chunkExtents)) }

type bitmap [chunkExtents / 64]uint64

func (m *bitmap) has(i int) bool { return m[i/64]>>(i%64)&1 != 0 }
func (m *bitmap) add(i int)      { m[i/64] |= 1 << (i % 64) }
func (m *bitmap) drop(i int)     { m[i/64] &^= 1 << (i % 64) }

func (m *bitmap) count() (n int) {
	for _, w := range m {
		n += bits.OnesCount64(w)
	}
	return n
}

// run returns how many extents from i on are alike.
func (m *bitmap) run(i int) int {
	have := m.has(i)
	for j := i; j < chunkExtents; {
		w := m[j/64]
		if have {
			w = ^w
		}
		if w >>= j % 64; w != 0 {
			return j + bits.TrailingZeros64(w) - i
		}
		j += 64 - j%64
	}
	return chunkExtents - i
}

// encode returns the bitmap as it is stored.
func (m *bitmap) encode() []byte {
	b := make([]byte, 0, 8*len(m))
	for _, w := range m {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func (m *bitmap) decode(b []byte) bool {
	if len(b) != 8*len(m) {
		return false
	}
	for i := range m {
		m[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return true
}

// cursor goes through the pieces of memory of a request.
type cursor struct{ pieces [][]byte }

// next returns the next bytes, up to n of them and at least one if there are any.
func (c *cursor) next(n int) []byte {
	for len(c.pieces[0]) == 0 {
		c.pieces = c.pieces[1:]
	}
	b := c.pieces[0]
	if len(b) > n {
		c.pieces[0] = b[n:]
		return b[:n]
	}
	c.pieces = c.pieces[1:]
	return b
}

// gather copies the next len(b) bytes to b.
func (c *cursor) gather(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, c.next(len(b))):]
	}
}

// scatter copies b to the next bytes.
func (c *cursor) scatter(b []byte) {
	for len(b) > 0 {
		b = b[copy(c.next(len(b)), b):]
	}
}

// clear makes the next n bytes zeros.
func (c *cursor) clear(n int) {
	for n > 0 {
		b := c.next(n)
		clear(b)
		n -= len(b)
	}
}
