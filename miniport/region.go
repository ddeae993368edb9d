package miniport

import (
	"context"
	"errors"
	"slices"
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
	known [maxAdapters]atomic.Pointer[Registration] // by Adapter.index; written under Port.setup
}

// Registration is a region as one adapter knows it.
type Registration struct {
	LKey, RKey uint32
	// Release makes the adapter forget the memory, and returns when it cannot reach it
	// any more. It is called once.
	//
	//level:passive
	Release func()
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

// register makes an adapter know the region. The caller holds Port.setup.
func (r *Region) register(ctx context.Context, a *Adapter) error {
	m, ok := a.mp.(Registrar)
	if !ok {
		return nil
	}
	reg, err := m.Register(ctx, r.arena)
	if err == nil {
		r.known[a.index].Store(reg)
	}
	return err
}

// forget makes an adapter forget the region. The caller holds Port.setup.
//
//level:passive
func (r *Region) forget(a *Adapter) { r.forgetOn(a.index) }

//level:passive
func (r *Region) forgetOn(i int) {
	if reg := r.known[i].Swap(nil); reg != nil {
		reg.Release()
	}
}

//level:passive
func (r *Region) forgetAll() {
	for i := range r.known {
		r.forgetOn(i)
	}
}

// RegisterRegion makes an arena known to every adapter, also to those added later.
// Errors: ErrClosed, an adapter's, ctx's.
func (p *Port) RegisterRegion(ctx context.Context, a *arena.Arena) (*Region, error) {
	ctx, exit, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer exit()
	if err := p.setup.acquire(ctx); err != nil {
		return nil, p.orClosed(err)
	}
	defer p.setup.release()
	r := NewRegion(a)
	for _, a := range p.Adapters() {
		if err := r.register(ctx, a); err != nil {
			r.forgetAll()
			return nil, p.orClosed(err)
		}
	}
	p.regions = append(p.regions, r)
	p.noteMemory(r.arena)
	return r, nil
}

// noteMemory logs once what the kernel has not granted for the memory of requests.
func (p *Port) noteMemory(a *arena.Arena) {
	if i := a.Info(); i.Reason != nil {
		p.memoryNote.Do(func() {
			p.log.Info("memory for requests", "huge pages", i.Huge, "locked", i.Locked, "reason", i.Reason)
		})
	}
}

// DeregisterRegion makes every adapter forget a region: it returns when none can
// reach the memory any more, whatever becomes of ctx. Nothing submitted may point into
// it.
func (p *Port) DeregisterRegion(ctx context.Context, r *Region) {
	// It cannot fail: the caller is about to free the memory.
	_ = p.setup.acquire(context.WithoutCancel(ctx))
	defer p.setup.release()
	if i := slices.Index(p.regions, r); i >= 0 {
		p.regions = slices.Delete(p.regions, i, i+1)
	}
	r.forgetAll()
}

// orClosed says ErrClosed where it was Close that has ended a call's context.
func (p *Port) orClosed(err error) error {
	if p.life.Err() != nil && errors.Is(err, context.Canceled) {
		return ErrClosed
	}
	return err
}

// Segment is a piece of a region: Length bytes (1 or more) from Offset, in bytes.
type Segment struct {
	Region *Region
	Offset uint64
	Length uint32
}

// Bytes returns the piece's memory.
func (s Segment) Bytes() []byte { return s.Region.Bytes()[s.Offset:][:s.Length] }
