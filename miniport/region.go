package miniport

import "minisrp/verbs/arena"

// Region is memory that requests may point into. It is an arena that the port
// has registered with each of its adapters, so that data moves between it and
// the fabric without a copy.
//
// Ownership: made by whoever made the arena, who closes the arena only after the
// region has been deregistered.
type Region struct {
	arena *arena.Arena
}

// NewRegion makes a region of the whole arena that no adapter knows yet.
func NewRegion(a *arena.Arena) *Region { return &Region{arena: a} }

// Bytes returns the region's memory.
func (r *Region) Bytes() []byte { return r.arena.Bytes() }

// Segment is a piece of a region: Length bytes (1 or more) from Offset, in bytes.
type Segment struct {
	Region *Region
	Offset uint64
	Length uint32
}

// Bytes returns the piece's memory.
func (s Segment) Bytes() []byte { return s.Region.Bytes()[s.Offset:][:s.Length] }
