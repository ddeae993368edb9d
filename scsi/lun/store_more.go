package lun

import "context"

// What follows a store may be too. Its methods are called like a Store's.

// Over is a Store that stands over another, such as the layers of package luntest. What the one below is beyond Store,
// a unit asks of that one; Mapped alone is not looked for below.
type Over interface {
	Store

	// Below returns the store that this one stands over. It computes.
	Below() Store
}

// Sparse is a Store that knows which of its bytes take space. GET LBA STATUS tells it; all bytes of other stores are
// said to.
type Sparse interface {
	Store

	// Extent says whether the byte at off takes no space, and how many bytes from there on are alike, at least 1. It
	// may say fewer than there are, and that a hole takes space.
	Extent(ctx context.Context, off uint64) (hole bool, n uint64, err error)
}

// Prefetcher is a Store that can be told which bytes will be read. PRE-FETCH with IMMED does so; without it, and from
// other stores, the bytes are read.
type Prefetcher interface {
	Store

	// Prefetch begins to bring n bytes from off where they are read fast, and does not wait for it.
	Prefetch(ctx context.Context, off, n uint64) error
}

// find returns what s or a store below it is beyond Store, if any of them is a T.
func find[T Store](s Store) (t T, ok bool) {
	for s != nil {
		if t, ok = s.(T); ok {
			return t, true
		}
		o, over := s.(Over)
		if !over {
			return t, false
		}
		s = o.Below()
	}
	return t, false
}
