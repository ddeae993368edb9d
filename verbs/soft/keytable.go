package soft

import (
	"context"
	"math/rand/v2"
	"sync/atomic"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

type access = verbs.Access

// keyTable finds keys by index. Entries stay where they are; the slice grows by
// being copied.
type keyTable struct {
	entries atomic.Pointer[[]*key]

	mu   dispatch.Mutex[dispatch.RankKeys] // guards free and growing
	free []uint32
}

// get returns the entry that k names, or nil.
func (t *keyTable) get(k uint32) *key {
	es := *t.entries.Load()
	if i := k >> 8; i != 0 && i < uint32(len(es)) {
		return es[i]
	}
	return nil
}

// alloc returns an unused entry, or nil.
//
//level:passive
func (t *keyTable) alloc() *key {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.free) == 0 && !t.growLocked() {
		return nil
	}
	last := len(t.free) - 1
	e := (*t.entries.Load())[t.free[last]]
	t.free = t.free[:last]
	return e
}

func (t *keyTable) growLocked() bool {
	old := *t.entries.Load()
	n := len(old)
	if n >= maxKey {
		return false
	}
	es := make([]*key, max(64, 2*n))
	copy(es, old)
	block := make([]key, len(es)-n)
	for i := len(es) - 1; i >= n; i-- {
		e := &block[i-n]
		es[i] = e
		e.index = uint32(i)
		e.state.Store(uint64(rand.Uint32()&0xff) << byteBits)
		if i != 0 { // index 0 would make keys that look like no key
			t.free = append(t.free, uint32(i))
		}
	}
	t.entries.Store(&es)
	return true
}

// release returns an entry that the caller has alone.
//
//level:passive
func (t *keyTable) release(e *key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.pd.Store(nil)
	e.mem, e.parent = nil, nil
	t.free = append(t.free, e.index)
}

// memory is a memory region or window.
type memory struct {
	dev *HCA
	e   *key
}

// RegisterMR makes a region. Its key byte is the next of the entry's, so that a key
// of a region that is gone does not come back before 255 others.
func (d *pd) RegisterMR(ctx context.Context, attr *verbs.MRAttr) (verbs.MRDriver, verbs.Keys, error) {
	e := d.dev.keys.alloc()
	if e == nil {
		return nil, verbs.Keys{}, verbs.ErrNoResources
	}
	e.pd.Store(d)
	e.access = attr.Access
	e.base, e.mem = attr.Arena.Addr(), attr.Arena.Bytes()
	k := verbs.NextKey(e.keyNow())
	e.publish(k, 0)
	return &memory{d.dev, e}, verbs.Keys{LKey: k, RKey: k}, nil
}

// AllocMW makes a window that is bound to nothing.
func (d *pd) AllocMW(ctx context.Context) (verbs.MWDriver, uint32, uint32, error) {
	e := d.dev.keys.alloc()
	if e == nil {
		return nil, 0, 0, verbs.ErrNoResources
	}
	e.pd.Store(d)
	e.state.Or(window)
	return &memory{d.dev, e}, e.index, e.keyNow(), nil
}

// Destroy ends the key and waits for the accesses that are under way.
func (m *memory) Destroy(ctx context.Context) {
	m.e.retire()
	m.dev.keys.release(m.e)
}

// span is a checked piece of memory with the key, and for a window its region's,
// that keeps it.
type span struct {
	mem     []byte
	k, over *key
}

func (s *span) release() {
	if s.k != nil {
		s.k.drop()
		s.k = nil
	}
	if s.over != nil {
		s.over.drop()
		s.over = nil
	}
	s.mem = nil
}

func (s *span) stillValid() bool {
	return (s.k == nil || s.k.stillValid()) && (s.over == nil || s.over.stillValid())
}

// local takes the memory that an SGE of a QP in domain d names. Windows are not for
// local use (IBA 10.6.7.2).
func (t *keyTable) local(s *span, g *verbs.SGE, d *pd, need access) bool {
	e := t.get(g.LKey)
	if e == nil || !e.take(g.LKey) {
		return false
	}
	s.k = e
	if e.state.Load()&window != 0 || e.pd.Load() != d || e.access&need != need || !s.cut(g.Addr, g.Length) {
		s.release()
		return false
	}
	return true
}

// remote takes the memory that the peer of q names.
func (t *keyTable) remote(s *span, k uint32, addr uint64, n uint32, q *qp, need access) bool {
	e := t.get(k)
	if e == nil || !e.take(k) {
		return false
	}
	s.k = e
	ok := e.pd.Load() == q.pd && e.access&need == need && s.cut(addr, n)
	if ok && e.state.Load()&window != 0 {
		ok = e.owner == q.serial && s.takeRegion(e)
	}
	if !ok {
		s.release()
	}
	return ok
}

// takeRegion counts an access in to the region under window e as well: the one that
// it was bound to, not another that has its entry now.
func (s *span) takeRegion(e *key) bool {
	if !e.parent.take(e.pkey) {
		return false
	}
	s.over = e.parent
	return roundOf(e.parent.state.Load()) == e.pround
}

// cut sets the span's memory to n bytes at addr, if the key's memory has them.
func (s *span) cut(addr uint64, n uint32) bool {
	off := addr - s.k.base // huge when addr is before it
	if off > uint64(len(s.k.mem)) || uint64(n) > uint64(len(s.k.mem))-off {
		return false
	}
	s.mem = s.k.mem[off : off+uint64(n)]
	return true
}
