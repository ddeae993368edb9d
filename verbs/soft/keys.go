package soft

import (
	"runtime"
	"sync/atomic"

	"minisrp/verbs/dispatch"
)

// key is an entry of the device's table of memory regions and windows.
//
//	free      not a window, not valid          in the table's free list
//	valid     accesses may be counted in       a region, or a window that is bound
//	dying     none may begin, some are left    after an invalidation; the last ends it
//	quiet     a window that may be bound
//	busy      a quiet window that is being bound
//
// Ownership: state is everybody's. The other fields are written only by whoever has
// the entry alone (it is free and has been allocated, or it is busy) and are
// published by a store to state; who has counted itself in may read them.
type key struct {
	index uint32
	state atomic.Uint64

	pd     atomic.Pointer[pd]
	owner  uint64 // windows: the serial number of the only QP that may use it
	base   uint64
	mem    []byte // from base on
	access access
	parent *key // windows: the region
	pkey   uint32
	pround uint64 // windows: the region's round at the binding

	// waiter is queued by the last user of a dying key. It belongs to whoever made the
	// key die, until the key is quiet.
	waiter atomic.Pointer[dispatch.DPC]
	// closer is told by the last user of a dying key that is being destroyed.
	closer atomic.Pointer[closer]

	// trace is called before each access to the above by model tests; nil otherwise.
	//
	//level:dispatch noalloc
	trace func(ready func() bool)
}

// at stops at an access in model tests.
func (e *key) at() {
	if e.trace != nil {
		e.trace(nil)
	}
}

// closer is a goroutine that waits for a key to be quiet.
type closer struct{ quiet chan struct{} }

func (c *closer) isQuiet() bool {
	select {
	case <-c.quiet:
		return true
	default:
		return false
	}
}

// The state of a key: how many accesses are under way, the key byte, what it is, and
// a count of how often it has become valid, which tells one life from the next.
const (
	useMask    uint64 = 1<<32 - 1
	byteBits          = 32
	byteMask   uint64 = 0xff << byteBits
	valid      uint64 = 1 << 40
	dying      uint64 = 1 << 41
	window     uint64 = 1 << 42
	busy       uint64 = 1 << 43
	roundBits         = 44
	roundOne   uint64 = 1 << roundBits
	activeMask        = useMask | valid | dying | busy
)

func roundOf(s uint64) uint64 { return s >> roundBits }

// take counts an access in, before any right is checked, if k is valid.
func (e *key) take(k uint32) bool {
	for {
		s := e.state.Load()
		if s&valid == 0 || byte(s>>byteBits) != byte(k) {
			return false
		}
		e.at()
		if e.state.CompareAndSwap(s, s+1) {
			return true
		}
	}
}

// drop counts an access out; the last one of a dying key completes the
// invalidation.
func (e *key) drop() {
	if w, last := e.leave(); last && w != nil {
		w.Post()
	}
}

// leave counts an access out and reports whether it was the last of a dying key,
// which is quiet then; w is who waited for that.
func (e *key) leave() (w *dispatch.DPC, last bool) {
	e.at()
	s := e.state.Add(^uint64(0))
	if s&useMask != 0 || s&dying == 0 {
		return nil, false
	}
	e.at()
	w = e.waiter.Swap(nil) // before somebody else can have the key
	e.at()
	e.state.And(^dying)
	e.at()
	if c := e.closer.Swap(nil); c != nil {
		close(c.quiet)
	}
	return w, true
}

// stillValid reports whether nobody has invalidated the key during an access.
func (e *key) stillValid() bool { return e.state.Load()&valid != 0 }

// end invalidates the key in which the caller has counted itself by take, and counts
// it out. ok says that nobody else was first; done that no access is left. If not
// done, w is queued when the last has ended, which dead tells.
func (e *key) end(w *dispatch.DPC) (ok, done bool, round uint64) {
	for {
		s := e.state.Load()
		if s&valid == 0 {
			e.drop()
			return false, false, 0
		}
		e.at()
		if e.state.CompareAndSwap(s, s&^valid|dying) {
			round = roundOf(s)
			break
		}
	}
	e.at()
	e.waiter.Store(w)
	_, done = e.leave()
	return true, done, round
}

// endIdle invalidates the window that k names in domain d, if no access to it is under way, and reports whether it did.
// It is end, for the case that nearly always holds, at the cost of one access.
func (e *key) endIdle(k uint32, d *pd) bool {
	s := e.state.Load()
	e.at()
	// What the state says of the life of a key holds for pd too: it is the same until the exchange, or that fails.
	return s&(valid|window|useMask) == valid|window && byte(s>>byteBits) == byte(k) && e.pd.Load() == d &&
		e.state.CompareAndSwap(s, s&^valid)
}

// dead reports whether the last access of a life of the key has ended.
func (e *key) dead(round uint64) bool {
	s := e.state.Load()
	return s&dying == 0 || roundOf(s) != round
}

// claim takes a quiet window to bind it.
func (e *key) claim() bool {
	s := e.state.Load()
	e.at()
	return s&activeMask == 0 && s&window != 0 && e.state.CompareAndSwap(s, s|busy)
}

// unclaim gives a claimed window back as it was.
func (e *key) unclaim() {
	e.at()
	e.state.And(^busy)
}

// publish makes k valid, with the fields that the caller, who has the entry alone,
// has set.
func (e *key) publish(k uint32, kind uint64) {
	s := e.state.Load()
	e.at()
	e.state.Store((s>>roundBits+1)<<roundBits | kind | valid | uint64(k&0xff)<<byteBits)
}

// keyNow returns the key that the entry has or had last.
func (e *key) keyNow() uint32 { return e.index<<8 | uint32(e.state.Load()&byteMask>>byteBits) }

// retire ends whatever key the entry has, waits for the accesses that are under way,
// and returns when the entry is the caller's alone.
//
//level:passive
func (e *key) retire() {
	for {
		switch s := e.state.Load(); {
		case s&busy != 0:
			if e.trace != nil {
				e.trace(func() bool { return e.state.Load()&busy == 0 })
			}
			runtime.Gosched() // a binding does not wait for anything
		case s&valid != 0:
			next := s &^ valid
			if s&useMask != 0 {
				next |= dying
			}
			e.at()
			e.state.CompareAndSwap(s, next)
		case s&(dying|useMask) != 0:
			c := &closer{make(chan struct{})}
			e.at()
			e.closer.Store(c)
			e.at()
			if e.state.Load()&dying == 0 {
				// It has ended meanwhile, and perhaps nobody saw c.
				e.closer.Store(nil)
				continue
			}
			if e.trace != nil {
				e.trace(c.isQuiet)
			}
			<-c.quiet
		default:
			e.at()
			if e.state.CompareAndSwap(s, s&^window) {
				return
			}
		}
	}
}
