package disk

import (
	"context"
	"errors"
	"sync"

	"minisrp/miniport"
	"minisrp/verbs/arena"
)

// Memory is what disks have of their own that units reach: zeros to write, the answers to an identification while it
// lasts, and UNMAP's parameter lists. Disks of one port may share it.
//
// Ownership: made by NewMemory, ended by Close of the same caller when no Stock and no Disk has it any more. What has
// been taken is the taker's.
type Memory struct {
	// Fixed after construction.
	port  Port
	zeros miniport.Segment // zeroMemory bytes that stay zero

	mu       sync.Mutex // taken at Passive only
	controls []miniport.Segment
	lists    []miniport.Segment
	blocks   []block
}

// block is registered memory.
type block struct {
	arena  *arena.Arena
	region *miniport.Region
}

// NewMemory makes memory for disks of a port. It grows as it is needed. Errors: no memory.
func NewMemory(ctx context.Context, p Port) (*Memory, error) { return newMemory(ctx, p, listsAtOnce) }

// newMemory makes memory that has one answer and so many lists at first.
func newMemory(ctx context.Context, p Port, lists int) (*Memory, error) {
	m := &Memory{port: p}
	zeros, err := m.grow(ctx, zeroMemory, 1, lists)
	if err != nil {
		return nil, err
	}
	m.zeros = zeros
	return m, nil
}

// grow registers more memory: a piece that it returns, answers, and lists.
func (m *Memory) grow(ctx context.Context, n, controls, lists int) (miniport.Segment, error) {
	a, err := arena.New(n + controls*controlMemory + lists*unmapMemory)
	if err != nil {
		return miniport.Segment{}, err
	}
	r, err := m.port.RegisterRegion(ctx, a)
	if err != nil {
		return miniport.Segment{}, errors.Join(err, a.Close())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocks = append(m.blocks, block{a, r})
	next := miniport.Segment{Region: r}
	cut := func(n int) miniport.Segment {
		s := next
		s.Length = uint32(n)
		next.Offset += uint64(n)
		return s
	}
	piece := cut(n)
	for range controls {
		m.controls = append(m.controls, cut(controlMemory))
	}
	for range lists {
		m.lists = append(m.lists, cut(unmapMemory))
	}
	return piece, nil
}

// take takes a segment out of controls or lists.
func (m *Memory) take(ctx context.Context, from *[]miniport.Segment) (miniport.Segment, error) {
	for {
		m.mu.Lock()
		if n := len(*from); n > 0 {
			s := (*from)[n-1]
			*from = (*from)[:n-1]
			m.mu.Unlock()
			return s, nil
		}
		m.mu.Unlock()
		controls, lists := 1, 0
		if from == &m.lists {
			controls, lists = 0, listsAtOnce
		}
		if _, err := m.grow(ctx, 0, controls, lists); err != nil {
			return miniport.Segment{}, err
		}
	}
}

// put brings back what was taken.
//
//level:passive
func (m *Memory) put(to *[]miniport.Segment, some ...miniport.Segment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*to = append(*to, some...)
}

// Close gives the memory back.
func (m *Memory) Close(ctx context.Context) error {
	var errs []error
	for _, b := range m.blocks {
		m.port.DeregisterRegion(ctx, b.region)
		errs = append(errs, b.arena.Close())
	}
	m.blocks = nil
	return errors.Join(errs...)
}
