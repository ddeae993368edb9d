package model

import (
	"errors"
	"fmt"
)

// Case is a load: requests of one size at random places, so many at a time.
type Case struct {
	Write bool
	Size  uint32 // bytes a request, a multiple of blockSize
	Depth int    // requests at a time in each lane, 1 or more
	Lanes int    // submitters, each on a processor of its own; 0 means 1
}

// Cases are those that the path is judged by.
func Cases() []Case {
	return []Case{
		{Size: 4 << 10, Depth: 1},
		{Size: 4 << 10, Depth: 1, Write: true},
		{Size: 4 << 10, Depth: 32},
		{Size: 4 << 10, Depth: 32, Write: true},
		{Size: 128 << 10, Depth: 8},
		{Size: 128 << 10, Depth: 8, Write: true},
	}
}

// String returns operation, size, depth, and lanes if there are several: "read/4KiB/depth1".
func (c Case) String() string {
	op := "read"
	if c.Write {
		op = "write"
	}
	s := fmt.Sprintf("%s/%dKiB/depth%d", op, c.Size>>10, c.Depth)
	if c.lanes() > 1 {
		s += fmt.Sprintf("/lanes%d", c.Lanes)
	}
	return s
}

func (c Case) lanes() int { return max(1, c.Lanes) }

// blockSize is the units' logical block, in bytes.
const blockSize = 512

// ErrCase says that a bed has no room for a case.
var ErrCase = errors.New("case does not fit")

// check says whether the case fits into a bed.
func (c Case) check(b *Bed) error {
	if c.Size == 0 || c.Size%blockSize != 0 || c.Depth < 1 || c.Lanes < 0 {
		return fmt.Errorf("%w: %+v: want a size in blocks of %d bytes, a depth of 1 or more", ErrCase, c, blockSize)
	}
	if need := c.Depth * int(c.Size); need > b.config.Buffers || uint64(c.Size) > b.config.Unit || c.lanes() > len(b.lanes) {
		return fmt.Errorf("%w: %v takes %d bytes of buffers and %d lanes; the bed has %d, units of %d bytes, %d lanes",
			ErrCase, c, need, c.lanes(), b.config.Buffers, b.config.Unit, len(b.lanes))
	}
	return nil
}
