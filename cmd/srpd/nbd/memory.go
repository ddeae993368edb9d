package nbd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"minisrp/miniport"
	"minisrp/verbs/arena"
)

// block is an arena together with its registration.
type block struct {
	arena  *arena.Arena
	region *miniport.Region
}

// memory is what one connection has: the ring, the pages, and, once a request
// needed it, a region for a single large one.
//
//	main block:   | ring | page page page … |
//	large block:  | MaxRequest bytes        |
//
// Ownership: the connection's reader; the pool's between connections.
type memory struct {
	main, large block
	used        bool // the large block is taken
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

// pool keeps the registered memory of an export's connections, so that a client
// that comes again finds it warm. Memory is given back to the kernel when the
// export is removed, or when another export's connection needs it.
//
// Ownership: the export. LOCK ORDER: mu before budget.mu; neither is held across
// Register.
type pool struct {
	backend Backend
	budget  *budget
	size    int // of the main block

	mu         sync.Mutex
	idle       []*memory
	gets, puts uint64
}

// get takes memory for one connection. ErrMemory means that the limit is reached.
func (p *pool) get(ctx context.Context) (*memory, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		m := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.gets++
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
func (p *pool) put(m *memory) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.puts++
	p.idle = append(p.idle, m)
}

// grow gives m its large block, at a client's expense.
func (p *pool) grow(ctx context.Context, m *memory, q *quota) error {
	if !q.take(MaxRequest) {
		return ErrClientMemory
	}
	b, err := p.newBlock(ctx, MaxRequest)
	if err != nil {
		q.put(MaxRequest)
		return err
	}
	m.large = b
	return nil
}

// shrink takes m's large block away.
func (p *pool) shrink(ctx context.Context, m *memory) error {
	b := m.large
	m.large = block{}
	return p.freeBlock(ctx, b)
}

func (p *pool) newBlock(ctx context.Context, size int) (block, error) {
	if !p.budget.take(int64(size)) {
		return block{}, ErrMemory
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
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	var errs []error
	for _, m := range idle {
		errs = append(errs, p.freeBlock(ctx, m.main), p.freeBlock(ctx, m.large))
	}
	return errors.Join(errs...)
}
