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

// Keeper is a Store that keeps a little beside the blocks, for the unit: what initiators have asked it to save.
type Keeper interface {
	Store

	// Keep makes b what is kept under a name of letters a to z. When it returns that lasts; if it fails, what was
	// kept before may be kept still. An empty b forgets the name.
	Keep(ctx context.Context, name string, b []byte) error

	// Kept returns what is kept under a name, and nothing if nothing is.
	Kept(ctx context.Context, name string) ([]byte, error)
}

// Metered is a Store that knows how much space it takes. Log page 0Ch tells it.
type Metered interface {
	Store

	// Space returns what the store takes now, and what there is left for it.
	Space(ctx context.Context) (Space, error)
}

// Space is what a store takes, in bytes.
type Space struct {
	Used      uint64
	Available uint64 // what others may take too
}

// Warner is a Store that watches the space that is left for it.
type Warner interface {
	Store

	// Warn has low called, on any goroutine, each time that space begins to run out. It computes, and NewUnit calls it.
	Warn(low func())
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
