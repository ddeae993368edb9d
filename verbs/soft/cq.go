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
	ring    []cqe
	head, n uint32
	armed   bool
}

// cqe is a completion, with what polling it frees: q's places before end.
type cqe struct {
	wc  verbs.WC
	q   *qp
	end uint32
}

// CreateCQ makes a completion queue.
func (h *HCA) CreateCQ(ctx context.Context, attr *verbs.CQAttr, up *verbs.CQ) (verbs.CQDriver, error) {
	return &cq{up: up, proc: attr.Processor, ring: make([]cqe, attr.Entries)}, nil
}

//level:dispatch noalloc
func (c *cq) Poll(f *dispatch.Frame, wcs []verbs.WC) int {
	k := min(c.n, uint32(len(wcs)))
	for i := range k {
		e := &c.ring[c.head]
		wcs[i] = e.wc
		e.q.polled(e)
		e.q = nil
		if c.head++; c.head == uint32(len(c.ring)) {
			c.head = 0
		}
	}
	c.n -= k
	return int(k)
}

//level:dispatch noalloc
func (c *cq) Arm(f *dispatch.Frame) bool {
	if c.n != 0 {
		return true
	}
	c.armed = true
	return false
}

// push adds a completion and reports whether there was room.
//
//level:dispatch noalloc
func (c *cq) push(f *dispatch.Frame, e *cqe) bool {
	if c.n == uint32(len(c.ring)) {
		return false
	}
	at := c.head + c.n
	if at >= uint32(len(c.ring)) {
		at -= uint32(len(c.ring))
	}
	c.ring[at] = *e
	c.n++
	if c.armed {
		c.armed = false
		c.up.Fire(f)
	}
	return true
}

func (c *cq) Destroy(ctx context.Context) {
	c.proc.Run(func(*dispatch.Frame) { c.armed = false })
}
