package nbd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"minisrp/miniport"
	"minisrp/verbs/arena"
)

// block is an arena together with its registration.
type block struct {
	arena  *arena.Arena
	region *miniport.Region
}

// memory is what one connection has: the ring, the pages, and, while a request
// needs it, a region for a single large one.
//
//	main block:   | ring | page page page … |
//	large block:  | MaxRequest bytes        |
//
// Ownership: the connection's reader; the pool's between connections.
type memory struct {
	main, large block       // large: of the request that is in it
	taken       atomic.Bool // large is; the writer, which gives it back, clears it last
}

// size returns the bytes that it takes.
func (m *memory) size() int64 {
	n := int64(m.main.arena.Size())
	if m.large.arena != nil {
		n += int64(m.large.arena.Size())
	}
	return n
}

// budget bounds the memory of all pools together.
type budget struct {
	mu    sync.Mutex
	limit int64
	used  int64
	idle  int64 // of used, kept by pools for whoever comes next
}

func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.limit {
		return false
	}
	b.used += n
	return true
}

func (b *budget) put(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}

// keep reports whether n bytes that nobody uses may be kept. Many exports that each keep a little have much.
func (b *budget) keep(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle+n > idleBytes {
		return false
	}
	b.idle += n
	return true
}

// unkeep says that n bytes are kept no more.
func (b *budget) unkeep(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle -= n
}

// pool keeps some of the registered memory that an export's connections have
// given back, so that the next finds it warm. The rest goes back to the kernel at
// once, and what is kept when anybody needs memory or the export is removed.
//
// Ownership: the export. LOCK ORDER: mu before budget.mu; neither is held across
// Register.
type pool struct {
	backend Backend
	budget  *budget
	size    int                       // of the main block
	reclaim func(ctx context.Context) // frees what all pools keep

	mu         sync.Mutex
	idle       []*memory
	larges     []block
	gets, puts uint64
}

// get takes memory for one connection. ErrMemory means that the limit is reached.
func (p *pool) get(ctx context.Context) (*memory, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		m := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.gets++
		p.budget.unkeep(int64(p.size))
		p.mu.Unlock()
		return m, nil
	}
	p.mu.Unlock()
	b, err := p.newBlock(ctx, p.size)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.gets++
	p.mu.Unlock()
	return &memory{main: b}, nil
}

// put takes memory back that no request points into any more.
func (p *pool) put(ctx context.Context, m *memory) error {
	p.mu.Lock()
	p.puts++
	keep := len(p.idle) < idleMemories && p.budget.keep(int64(p.size))
	if keep {
		p.idle = append(p.idle, m)
	}
	p.mu.Unlock()
	if keep {
		return nil
	}
	return p.freeBlock(ctx, m.main)
}

// grow gives m a large block, at a client's expense.
func (p *pool) grow(ctx context.Context, m *memory, q *quota) error {
	if !q.take(MaxRequest) {
		return ErrClientMemory
	}
	p.mu.Lock()
	if n := len(p.larges); n > 0 {
		m.large = p.larges[n-1]
		m.taken.Store(true)
		p.larges = p.larges[:n-1]
		p.budget.unkeep(MaxRequest)
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	b, err := p.newBlock(ctx, MaxRequest)
	if err != nil {
		q.put(MaxRequest)
		return err
	}
	m.large = b
	m.taken.Store(true)
	return nil
}

// mayGrow reports whether the limits leave room for a large block when nobody else
// has memory.
func (p *pool) mayGrow(q *quota) bool {
	return int64(p.size)+MaxRequest <= min(p.budget.limit, q.all.maxMemory)
}

// shrink takes m's large block away.
func (p *pool) shrink(ctx context.Context, m *memory, q *quota) error {
	b := m.large
	m.large = block{}
	defer m.taken.Store(false)
	q.put(MaxRequest)
	p.mu.Lock()
	keep := len(p.larges) < idleLarges && p.budget.keep(MaxRequest)
	if keep {
		p.larges = append(p.larges, b)
	}
	p.mu.Unlock()
	if keep {
		return nil
	}
	return p.freeBlock(ctx, b)
}

func (p *pool) newBlock(ctx context.Context, size int) (block, error) {
	if !p.budget.take(int64(size)) {
		p.reclaim(ctx)
		if !p.budget.take(int64(size)) {
			return block{}, ErrMemory
		}
	}
	a, err := arena.New(size)
	if err != nil {
		p.budget.put(int64(size))
		return block{}, fmt.Errorf("connection memory: %w", err)
	}
	r, err := p.backend.Register(ctx, a)
	if err != nil {
		p.budget.put(int64(size))
		return block{}, fmt.Errorf("register connection memory: %w", errors.Join(err, a.Close()))
	}
	return block{a, r}, nil
}

func (p *pool) freeBlock(ctx context.Context, b block) error {
	if b.arena == nil {
		return nil
	}
	p.backend.Deregister(ctx, b.region)
	p.budget.put(int64(b.arena.Size()))
	return b.arena.Close()
}

// trim gives idle memory back to the kernel.
func (p *pool) trim(ctx context.Context) error {
	p.mu.Lock()
	idle, larges := p.idle, p.larges
	p.idle, p.larges = nil, nil
	p.budget.unkeep(int64(len(idle))*int64(p.size) + int64(len(larges))*MaxRequest)
	p.mu.Unlock()
	var errs []error
	for _, m := range idle {
		errs = append(errs, p.freeBlock(ctx, m.main))
	}
	for _, b := range larges {
		errs = append(errs, p.freeBlock(ctx, b))
	}
	return errors.Join(errs...)
}
