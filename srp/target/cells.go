package target

import (
	"context"

	"minisrp/verbs/dispatch"
)

// cells is memory of Buffers in cells of one size. They become present, and are given back, a step at a time:
//
//	state    event                                    state'
//	absent   a command finds too little               coming   the worker makes it present
//	coming   the worker is done                       present
//	coming   no memory                                absent   tried again at the next tick
//	present  unused for a tick, more than is kept     going    the worker gives it back
//	going    the worker is done                       absent
//
// The first steps, which hold the longest transfer, are always present: what waits goes on with what others give back,
// also where there is no memory left in the machine.
//
// Ownership: the processor, but what init has set, and job while the worker has it.
type cells struct {
	// Fixed after init.
	of   *Buffers
	base int // offset in the memory
	size int // of a cell, in bytes
	all  int // cells that there may be
	step int // cells of a step
	keep int // steps that stay

	steps   []stepState
	used    []uint16 // cells of each step that commands have
	free    []uint32
	waiting list
	lowest  int // fewest that were free since the last tick
	more    int // steps present beyond those that are kept
	spare   int // steps that are to be given back

	job     int // the step that the worker has, -1: none
	stopped bool
	work    dispatch.Work
	err     error     // of the work
	vectors []*vector // that the work has made
	done    dispatch.DPC
	tick    dispatch.Timer
}

type stepState uint8

const (
	stepAbsent stepState = iota
	stepComing
	stepPresent
	stepGoing
)

// init sizes them. Those of the first keep bytes are kept.
func (c *cells) init(b *Buffers, base, size, all, step, keep int) {
	n := (all + step - 1) / step
	*c = cells{of: b, base: base, size: size, all: all, step: step, job: -1}
	c.keep = min((keep+step*size-1)/(step*size), n)
	c.steps, c.used, c.free = make([]stepState, n), make([]uint16, n), make([]uint32, 0, all)
	c.work.Init(c.run)
	c.done.Init(b.proc, c.ran)
	c.tick.Init(b.proc, c.look)
}

// span returns the cells of step i: from first up to end.
func (c *cells) span(i int) (first, end int) { return i * c.step, min((i+1)*c.step, c.all) }

// populate makes what step i needs.
//
//level:passive
func (c *cells) populate(i int) error {
	first, end := c.span(i)
	if err := c.of.arena.Populate(c.base+first*c.size, (end-first)*c.size); err != nil {
		return err
	}
	if c == &c.of.pieces {
		for range c.step / 2 {
			c.vectors = append(c.vectors, new(vector))
		}
	}
	return nil
}

// add makes the cells of step i free. Their memory is there.
func (c *cells) add(i int) {
	c.steps[i] = stepPresent
	for first, end := c.span(i); first < end; end-- {
		c.free = dispatch.Append(c.free, uint32(end-1))
	}
	for _, v := range c.vectors {
		c.of.vectors = dispatch.Append(c.of.vectors, v)
	}
	clear(c.vectors)
	c.vectors = c.vectors[:0]
}

// take gives k what it needs, and reports false if k has to wait.
func (c *cells) take(f *dispatch.Frame, k *command) bool {
	if c.waiting.head != nil || len(c.free) < k.need {
		c.waiting.push(k)
		c.spare = 0
		c.grow(f)
		return false
	}
	c.give(k)
	return true
}

func (c *cells) give(k *command) {
	at := len(c.free) - k.need
	for i, n := range c.free[at:] {
		k.pieces[i] = uint16(n)
		c.used[int(n)/c.step]++
	}
	k.numPieces = k.need
	c.free = c.free[:at]
	c.lowest = min(c.lowest, at)
	if k.need > 1 {
		last := len(c.of.vectors) - 1
		k.vector = c.of.vectors[last]
		c.of.vectors = c.of.vectors[:last]
	}
}

// put takes k's cells back, and gives them to those that wait.
func (c *cells) put(f *dispatch.Frame, k *command) {
	for _, n := range k.pieces[:k.numPieces] {
		c.free = dispatch.Append(c.free, uint32(n))
		c.used[int(n)/c.step]--
	}
	k.numPieces = 0
	c.serve(f)
}

// serve gives those that wait what there is, in order.
func (c *cells) serve(f *dispatch.Frame) {
	var served list
	for c.waiting.head != nil && len(c.free) >= c.waiting.head.need {
		k := c.waiting.pop()
		c.give(k)
		served.push(k)
	}
	hand(f, served)
}

// sweep lets aborted commands go without memory.
func (c *cells) sweep(f *dispatch.Frame) {
	var rest, swept list
	for k := c.waiting.pop(); k != nil; k = c.waiting.pop() {
		if k.task.Aborted() {
			swept.push(k)
		} else {
			rest.push(k)
		}
	}
	c.waiting = rest
	hand(f, swept)
	c.serve(f)
}

// grow has another step made present for those that wait, if there is one.
func (c *cells) grow(f *dispatch.Frame) {
	if c.job >= 0 || c.stopped || c.of.worker == nil {
		return // looks again when it has ended
	}
	for i, s := range c.steps {
		if s == stepAbsent {
			c.start(i, stepComing)
			return
		}
	}
}

func (c *cells) start(i int, s stepState) {
	c.job, c.steps[i] = i, s
	c.of.worker.Queue(&c.work)
}

// run is the worker's part.
func (c *cells) run(context.Context) {
	i := c.job
	if c.steps[i] == stepComing {
		if c.err = c.populate(i); c.err != nil {
			c.of.log.Warn("no memory for more buffers: requests wait for those that there are", "err", c.err)
		}
	} else {
		first, end := c.span(i)
		if c.err = c.of.arena.Release(c.base+first*c.size, (end-first)*c.size); c.err != nil {
			c.of.log.Warn("buffers are not given back", "err", c.err)
		}
	}
	c.done.Post()
}

// ran is told that the worker is done.
func (c *cells) ran(f *dispatch.Frame) {
	i, err := c.job, c.err
	c.job, c.err = -1, nil
	if c.steps[i] == stepComing && err == nil {
		c.add(i)
		c.more++
		c.serve(f)
	} else {
		c.steps[i] = stepAbsent
	}
	switch {
	case c.stopped:
		return
	case c.waiting.head != nil && err == nil:
		c.grow(f)
	case c.waiting.head == nil:
		c.shrink(f)
	}
	if (c.more > 0 || err != nil) && !c.tick.Armed() {
		c.lowest = len(c.free)
		c.tick.Arm(f, bufferTick)
	}
}

// look gives back what has not been needed for a tick.
func (c *cells) look(f *dispatch.Frame) {
	if c.waiting.head != nil {
		c.grow(f)
	} else {
		c.spare = c.lowest / c.step
		c.shrink(f)
	}
	c.lowest = len(c.free)
	if c.more > 0 || c.waiting.head != nil {
		c.tick.Arm(f, bufferTick)
	}
}

// shrink gives back a step of which nothing is used, as long as there are steps to spare.
func (c *cells) shrink(f *dispatch.Frame) {
	if c.job >= 0 || c.more == 0 || c.spare == 0 {
		return
	}
	for i := len(c.steps) - 1; i >= c.keep; i-- {
		if c.steps[i] != stepPresent || c.used[i] != 0 {
			continue
		}
		rest := c.free[:0]
		for _, n := range c.free {
			if int(n)/c.step != i {
				rest = dispatch.Append(rest, n)
			}
		}
		c.free = rest
		c.more--
		c.spare--
		if c == &c.of.pieces {
			v := c.of.vectors
			clear(v[len(v)-c.step/2:])
			c.of.vectors = v[:len(v)-c.step/2]
		}
		c.start(i, stepGoing)
		return
	}
}

// stop ends the timer, and lets nothing begin any more.
func (c *cells) stop(f *dispatch.Frame) {
	c.stopped = true
	c.tick.Cancel(f)
}
