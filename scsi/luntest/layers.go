package luntest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"minisrp/scsi/lun"
)

// Delay makes every call take d longer, or until ctx ends.
func Delay(s lun.Store, d time.Duration) lun.Store {
	return &Layer{Store: s, Before: func(ctx context.Context, c Call) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		return nil
	}}
}

// Fail gives calls the error that pick chooses; they do not reach the store. With nil they do.
func Fail(s lun.Store, pick func(c Call) error) lun.Store {
	return &Layer{Store: s, Before: func(ctx context.Context, c Call) error { return pick(c) }}
}

// Counter counts calls that have ended.
type Counter struct {
	Layer
	calls, errors [numOps]atomic.Int64
	fua           atomic.Int64
}

// Count makes a layer that counts.
func Count(s lun.Store) *Counter {
	k := &Counter{Layer: Layer{Store: s}}
	k.After = func(ctx context.Context, c Call, err error) error {
		k.calls[c.Op].Add(1)
		if c.FUA {
			k.fua.Add(1)
		}
		if err != nil {
			k.errors[c.Op].Add(1)
		}
		return err
	}
	return k
}

// Calls returns how many calls of op have ended, and how many of them with an error.
func (k *Counter) Calls(op Op) (n, failed int64) { return k.calls[op].Load(), k.errors[op].Load() }

// FUA returns how many writes with fua have ended.
func (k *Counter) FUA() int64 { return k.fua.Load() }

// Gate holds calls back before they reach the store.
type Gate struct {
	Layer

	mu      sync.Mutex
	open    chan struct{} // closed while calls pass
	closed  bool
	arrived chan Call
}

// Pause makes an open gate.
func Pause(s lun.Store) *Gate {
	g := &Gate{open: make(chan struct{}), arrived: make(chan Call, 1024)}
	close(g.open)
	g.Layer = Layer{Store: s, Before: func(ctx context.Context, c Call) error {
		g.mu.Lock()
		open, held := g.open, g.closed
		g.mu.Unlock()
		if held {
			g.arrived <- c
			<-open
		}
		return nil
	}}
	return g
}

// Shut makes calls wait from now on. Each that waits is told on Arrived.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed, g.open = true, make(chan struct{})
	}
}

// Open lets the calls that wait go on, and later ones pass.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		g.closed = false
		close(g.open)
	}
}

// Arrived gives each call that has begun to wait, up to 1,024 that nobody has taken yet.
func (g *Gate) Arrived() <-chan Call { return g.arrived }
