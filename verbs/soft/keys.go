package soft

import (
	"sync"
	"sync/atomic"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// key is an entry of the device's table of memory regions and windows.
//
// Ownership: state is everybody's. The other fields are written only by whoever
// makes the key valid, while it is neither valid nor in use, and are published by
// that store to state; who has counted itself in may read them.
type key struct {
	index uint32
	state atomic.Uint64

	window bool
	pd     *pd
	qpn    uint32 // windows: the only QP that may use it
	base   uint64
	mem    []byte // from base on
	access verbs.Access
	parent *key // windows: the region
	pkey   uint32

	// waiter is queued by the last user of an invalidated key.
	waiter atomic.Pointer[dispatch.DPC]
}

// The state of a key: how many accesses are under way, the key byte, and whether
// new ones may begin.
const (
	useMask  uint64 = 1<<32 - 1
	byteBits        = 32
	valid    uint64 = 1 << 40
	dying    uint64 = 1 << 41 // invalidated with accesses under way
)

func stateOf(k uint32, bits uint64) uint64 { return uint64(k&0xff)<<byteBits | bits }

// take counts an access in, before any right is checked, if k is valid.
func (e *key) take(k uint32) bool {
	for {
		s := e.state.Load()
		if s&valid == 0 || byte(s>>byteBits) != byte(k) {
			return false
		}
		if e.state.CompareAndSwap(s, s+1) {
			return true
		}
	}
}

// drop counts an access out; the last one of an invalidated key completes the
// invalidation.
func (e *key) drop() {
	s := e.state.Add(^uint64(0))
	if s&useMask == 0 && s&dying != 0 {
		e.state.And(^dying)
		if w := e.waiter.Swap(nil); w != nil {
			w.Post()
		}
	}
}

// stillValid reports whether nobody has invalidated the key during an access.
func (e *key) stillValid() bool { return e.state.Load()&valid != 0 }

// invalidate ends the key k. ok says that it was valid; done that no access is
// under way. If not done, w is queued when the last has ended.
func (e *key) invalidate(k uint32, w *dispatch.DPC) (ok, done bool) {
	for {
		s := e.state.Load()
		if s&valid == 0 || byte(s>>byteBits) != byte(k) {
			return false, false
		}
		next := s &^ valid
		if s&useMask != 0 {
			next |= dying
			e.waiter.Store(w)
		}
		if e.state.CompareAndSwap(s, next) {
			if s&useMask == 0 {
				e.waiter.Store(nil)
			}
			return true, s&useMask == 0
		}
	}
}

// quiet reports whether the key can be bound: it is not valid and not in use.
func (e *key) quiet() bool { return e.state.Load()&(valid|dying|useMask) == 0 }

// keyTable finds keys by index. Entries stay where they are; the slice grows by
// being copied.
type keyTable struct {
	entries atomic.Pointer[[]*key]

	mu   sync.Mutex // guards free and growing
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
	old := *t.entries.Load()
	if n := len(t.free); n > 0 {
		e := old[t.free[n-1]]
		t.free = t.free[:n-1]
		return e
	}
	n := len(old)
	if n >= maxKey {
		return nil
	}
	es := make([]*key, max(64, 2*n))
	copy(es, old)
	block := make([]key, len(es)-n)
	for i := len(es) - 1; i >= n; i-- {
		es[i] = &block[i-n]
		es[i].index = uint32(i)
		if i != 0 { // index 0 would make keys that look like no key
			t.free = append(t.free, uint32(i))
		}
	}
	t.entries.Store(&es)
	last := len(t.free) - 1
	e := es[t.free[last]]
	t.free = t.free[:last]
	return e
}

// release returns an entry that is quiet.
//
//level:passive
func (t *keyTable) release(e *key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.pd, e.mem, e.parent = nil, nil, nil
	t.free = append(t.free, e.index)
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

// local takes the memory that an SGE of a QP in domain d names.
func (t *keyTable) local(s *span, g *verbs.SGE, d *pd, need verbs.Access) bool {
	e := t.get(g.LKey)
	if e == nil || !e.take(g.LKey) {
		return false
	}
	s.k = e
	if e.window || e.pd != d || e.access&need != need || !s.cut(g.Addr, g.Length) {
		s.release()
		return false
	}
	return true
}

// remote takes the memory that the peer of q names.
func (t *keyTable) remote(s *span, k uint32, addr uint64, n uint32, q *qp, need verbs.Access) bool {
	e := t.get(k)
	if e == nil || !e.take(k) {
		return false
	}
	s.k = e
	ok := e.access&need == need && s.cut(addr, n)
	if ok && e.window {
		ok = e.qpn == q.num && e.pd == q.pd && e.parent.take(e.pkey)
		if ok {
			s.over = e.parent
		}
	} else if ok {
		ok = e.pd == q.pd
	}
	if !ok {
		s.release()
	}
	return ok
}

// cut sets the span's memory to n bytes at addr, if the key's memory has them.
func (s *span) cut(addr uint64, n uint32) bool {
	off := addr - s.k.base
	if addr < s.k.base || off > uint64(len(s.k.mem)) || uint64(n) > uint64(len(s.k.mem))-off {
		return false
	}
	s.mem = s.k.mem[off : off+uint64(n)]
	return true
}
