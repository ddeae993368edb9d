package soft

import (
	"context"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// cq is a completion queue: a ring that one processor fills and empties.
//
// Ownership: all of it by the frame that owns the processor.
type cq struct {
	up      *verbs.CQ
	proc    *dispatch.Processor
	ring    []verbs.WC
	head, n uint32
	armed   bool
	overrun bool
}

func (c *cq) Poll(f *dispatch.Frame, wcs []verbs.WC) int {
	k := min(c.n, uint32(len(wcs)))
	for i := range k {
		wcs[i] = c.ring[c.head]
		if c.head++; c.head == uint32(len(c.ring)) {
			c.head = 0
		}
	}
	c.n -= k
	return int(k)
}

func (c *cq) Arm(f *dispatch.Frame) bool {
	if c.n != 0 {
		return true
	}
	c.armed = true
	return false
}

// push adds a completion and reports whether there was room.
func (c *cq) push(f *dispatch.Frame, wc verbs.WC) bool {
	if c.n == uint32(len(c.ring)) {
		c.overrun = true
		return false
	}
	at := c.head + c.n
	if at >= uint32(len(c.ring)) {
		at -= uint32(len(c.ring))
	}
	c.ring[at] = wc
	c.n++
	if c.armed {
		c.armed = false
		c.up.Fire(f)
	}
	return true
}

func (c *cq) Destroy(ctx context.Context) {
	call(c.proc, func(*dispatch.Frame) { c.armed = false })
}

// call runs fn on p and waits for it.
//
//level:passive
func call(p *dispatch.Processor, fn dispatch.Func) {
	done := make(chan struct{})
	var d dispatch.DPC
	d.Init(p, func(f *dispatch.Frame) {
		fn(f)
		close(done)
	})
	d.Post()
	<-done
}
