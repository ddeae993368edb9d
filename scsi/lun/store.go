package lun

import (
	"context"

	"minisrp/verbs/arena"
)

// Store keeps the blocks of one logical unit. Its methods, but Info, may block and are called by the unit's
// workers, several at once. Offsets and lengths are bytes and lie within Info().Size; offsets, and the lengths of
// everything but Read, are whole blocks.
//
// A Store orders nothing: requests that overlap are the initiator's to order. What it must hold to is that a Write
// that has returned is seen by every Read that starts later, and is covered by every Flush that starts later.
//
// An error that means no space is one that is unix.ENOSPC or unix.EDQUOT for errors.Is; one that means that the
// store cannot be written is unix.EROFS. All others are reported as failures of the medium.
//
// What a store may be beyond this stands in store_more.go.
//
// Ownership: the unit's from NewUnit on, which closes it.
type Store interface {
	// Info returns the store's properties. It computes, and its answer changes only with Unit.CapacityChanged.
	Info() Info

	// Read fills p with the bytes from off.
	Read(ctx context.Context, p [][]byte, off uint64) error

	// Write stores p from off on. With fua it returns only when those bytes will last.
	Write(ctx context.Context, p [][]byte, off uint64, fua bool) error

	// Flush makes every Write, Unmap and Zero that had returned before the call last. Once it has failed, something
	// that was acknowledged may be lost, and every later Flush fails too.
	Flush(ctx context.Context) error

	// Unmap gives n bytes from off back. They read as zeros.
	Unmap(ctx context.Context, off, n uint64) error

	// Zero makes n bytes from off read as zeros; hole allows, but does not oblige, the store to give them back.
	Zero(ctx context.Context, off, n uint64, hole bool) error

	// Close makes everything last that Flush would, and frees the store also when that fails.
	Close(ctx context.Context) error
}

// Length returns how many bytes there are in pieces of memory.
func Length(p [][]byte) (n uint64) {
	for _, b := range p {
		n += uint64(len(b))
	}
	return n
}

// Info is what a unit tells its initiators about its store.
type Info struct {
	Kind        string // "null", "ram", "file": for lists, and the default product identification
	Size        uint64 // bytes, a multiple of BlockSize, at least one block
	BlockSize   uint32 // logical block: a power of two from MinBlockSize to MaxBlockSize
	Granularity uint32 // bytes that the store keeps together: a power of two, at least BlockSize
	Volatile    bool   // a write lasts only after Flush, or with fua
}

// Mapped is a Store whose bytes are memory. A target registers that memory and moves data between it and the
// fabric itself; reads and writes complete at Dispatch, and neither cross a goroutine nor are copied.
type Mapped interface {
	Store

	// Mapping says where the bytes are. It computes, and its answer stays the same until Close.
	Mapping() Mapping
}

// Mapping is where a store's bytes are in memory. The MaxTransfer bytes from each place on are there.
type Mapping struct {
	Memory *arena.Arena
	Load   Window // where they are read from
	Save   Window // where they are written to
}

// Window leads from a byte of the disk to one of memory.
type Window struct{ Base, Mask uint64 }

// At returns the offset in memory of byte off of the disk.
func (w Window) At(off uint64) uint64 { return w.Base + off&w.Mask }
