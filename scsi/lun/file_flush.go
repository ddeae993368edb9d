package lun

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// FlushGroup makes the flushes of a store one at a time: those that wait while one runs share the next. It is also
// what makes a failure stick. The kernel reports a failed write-back once for each open file, to whichever call
// comes first, and forgets it; were two to run at once, the second would report success for what the first lost.
type FlushGroup struct {
	begun atomic.Uint64 // syncs begun; a stale read only makes a caller wait for one sync more

	mu   sync.Mutex // held over a sync; guards what follows
	done uint64     // the last sync that has ended
	lost error      // why one failed; nil as long as none has
}

// Flush returns when a sync that began after the call has ended. Errors: ErrLost, now and ever after.
//
//level:passive
func (g *FlushGroup) Flush(sync func() error) error {
	want := g.begun.Load() + 1
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost == nil && g.done < want {
		n := g.begun.Add(1)
		if err := sync(); err != nil {
			g.lost = fmt.Errorf("flush: %w: %w", err, ErrLost)
		}
		g.done = n
	}
	return g.lost
}
