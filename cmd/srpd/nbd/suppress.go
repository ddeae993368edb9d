package nbd

import (
	"sync"
	"time"
)

// suppressor lets the first of many like log records through, and then one in a
// while.
//
// Ownership: its holder's; anyone may ask.
type suppressor struct {
	mu   sync.Mutex // guards what follows
	next time.Time
	n    uint64
}

// ask reports whether to log at a time, and how many were not since the last.
func (u *suppressor) ask(now time.Time) (suppressed uint64, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Before(u.next) {
		u.n++
		return 0, false
	}
	suppressed, u.n = u.n, 0
	u.next = now.Add(suppressTime)
	return suppressed, true
}
