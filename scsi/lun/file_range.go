package lun

import "sync"

// rangeLock keeps reads of a file from seeing half of what a write or a change of extents does to a block: the kernel
// promises no more than that for memory that it copies. It has a lock for every piece of the file, and few locks for
// many pieces; those of a request are taken in one order.
type rangeLock [rangeLocks]sync.RWMutex

const (
	rangeLocks = 64
	rangePiece = 64 << 10 // bytes
)

// each calls fn with the locks of n bytes from off.
func (l *rangeLock) each(off, n uint64, fn func(*sync.RWMutex)) {
	if n == 0 {
		return
	}
	first := off / rangePiece
	pieces := (off+n-1)/rangePiece - first + 1
	for i := range uint64(rangeLocks) {
		if (i-first)%rangeLocks < pieces {
			fn(&l[i])
		}
	}
}

func (l *rangeLock) lock(off, n uint64)    { l.each(off, n, (*sync.RWMutex).Lock) }
func (l *rangeLock) unlock(off, n uint64)  { l.each(off, n, (*sync.RWMutex).Unlock) }
func (l *rangeLock) rlock(off, n uint64)   { l.each(off, n, (*sync.RWMutex).RLock) }
func (l *rangeLock) runlock(off, n uint64) { l.each(off, n, (*sync.RWMutex).RUnlock) }
