package miniport

import (
	"context"
	"sync/atomic"

	"minisrp/verbs/arena"
)

// Region is memory that requests may point into. It is an arena that the port has
// registered with each of its adapters, so that data moves between it and the fabric
// without a copy.
//
// Ownership: made by Port.RegisterRegion; whoever made the arena closes it after
// Port.DeregisterRegion.
type Region struct {
	arena *arena.Arena
	known [maxAdapters]atomic.Pointer[Registration] // by Adapter.index
}

// Registration is a region as one adapter knows it.
type Registration struct {
	LKey, RKey uint32
	// Release makes the adapter forget the memory, and returns when it cannot reach it
	// any more. It is called once.
	//
	//level:passive
	Release func(ctx context.Context)
}

// Registrar is a miniport whose adapter must know memory before it can reach it.
type Registrar interface {
	Register(ctx context.Context, a *arena.Arena) (*Registration, error)
}

// NewRegion makes a region of the whole arena that no adapter knows.
func NewRegion(a *arena.Arena) *Region { return &Region{arena: a} }

// Bytes returns the region's memory.
func (r *Region) Bytes() []byte { return r.arena.Bytes() }

// Size returns the region's length in bytes.
func (r *Region) Size() uint64 { return uint64(r.arena.Size()) }

// on returns what an adapter knows the region by, or nil. Level: both.
func (r *Region) on(a *Adapter) *Registration { return r.known[a.index].Load() }

func (r *Region) register(ctx context.Context, a *Adapter) error {
	m, ok := a.mp.(Registrar)
	if !ok || r.on(a) != nil {
		return nil
	}
	reg, err := m.Register(ctx, r.arena)
	if err != nil {
		return err
	}
	if !r.known[a.index].CompareAndSwap(nil, reg) {
		reg.Release(ctx)
	}
	return nil
}

func (r *Region) deregister(ctx context.Context) {
	for i := range r.known {
		if reg := r.known[i].Swap(nil); reg != nil {
			reg.Release(ctx)
		}
	}
}

// Segment is a piece of a region: Length bytes (1 or more) from Offset, in bytes.
type Segment struct {
	Region *Region
	Offset uint64
	Length uint32
}

// Bytes returns the piece's memory.
func (s Segment) Bytes() []byte { return s.Region.Bytes()[s.Offset:][:s.Length] }
