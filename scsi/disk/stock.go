package disk

import (
	"context"
	"fmt"

	"minisrp/miniport"
	"minisrp/verbs/dispatch"
)

// Stock is the slots that disks have in common: those of one session need no more of them together than the session has
// credits. Each disk has one of its own besides, so that none waits for another for ever. Who finds no slot waits for
// its turn, and gets one slot a turn.
//
// Ownership: made by NewStock, ended by Close of the same caller after its disks are closed.
type Stock struct {
	memory  *Memory
	shelves []*shelf
}

// shelf is what a stock has on one processor.
//
// Ownership: of the frame that owns the processor.
type shelf struct {
	proc  *dispatch.Processor
	slots []slot
	free  slotList
	first *lane // those that wait, by lane.nextWaiting
	last  *lane
}

// NewStock makes n slots, 0 to MaxDepth, for each processor of the port of m. Errors: ErrInvalid, no memory.
func NewStock(ctx context.Context, m *Memory, n int) (*Stock, error) {
	if n < 0 || n > MaxDepth {
		return nil, fmt.Errorf("%w: a stock of %d commands, want 0 to %d", ErrInvalid, n, MaxDepth)
	}
	s := &Stock{memory: m}
	for _, p := range m.port.Processors() {
		h := &shelf{proc: p, slots: make([]slot, n)}
		s.shelves = append(s.shelves, h)
		for i := range h.slots {
			list, err := m.take(ctx, &m.lists)
			if err != nil {
				s.Close()
				return nil, err
			}
			h.slots[i].init(list)
			h.free.push(&h.slots[i])
		}
	}
	return s, nil
}

// Close gives the memory of the slots back.
//
//level:passive
func (s *Stock) Close() {
	var lists []miniport.Segment
	for _, h := range s.shelves {
		for i := range h.slots {
			if l := h.slots[i].list; l.Region != nil {
				lists = append(lists, l)
			}
		}
	}
	s.memory.put(&s.memory.lists, lists...)
	s.shelves = nil
}

// ready reports whether a lane would get a slot at once.
func (h *shelf) ready() bool { return h.first == nil && h.free.head != nil }

// take gives l a slot, or has it wait for one.
func (h *shelf) take(l *lane) *slot {
	if h.ready() {
		s := h.free.pop()
		s.lane = l
		l.taken++
		return s
	}
	if !l.waits {
		l.waits, l.nextWaiting = true, nil
		if h.last == nil {
			h.first = l
		} else {
			h.last.nextWaiting = l
		}
		h.last = l
	}
	return nil
}

// put takes a slot of l's back, and gives it to the lane that has waited longest.
func (h *shelf) put(f *dispatch.Frame, l *lane, s *slot) {
	l.taken--
	w := h.first
	if w == nil {
		h.free.push(s)
		return
	}
	h.forget(w)
	s.lane = w
	w.taken++
	w.free.push(s)
	w.dpc.Queue(f)
}

// forget ends l's waiting.
func (h *shelf) forget(l *lane) {
	if !l.waits {
		return
	}
	var before *lane
	for at := h.first; at != l; at = at.nextWaiting {
		before = at
	}
	if before == nil {
		h.first = l.nextWaiting
	} else {
		before.nextWaiting = l.nextWaiting
	}
	if h.last == l {
		h.last = before
	}
	l.waits, l.nextWaiting = false, nil
}
