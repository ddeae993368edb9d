package miniport

import (
	"math/bits"
	"sync/atomic"
)

// gates are what a unit's lanes ask before they start an SRB: whether the unit is
// paused or gone, and whether there is a place left at the adapter. They count, and say
// whom to wake; waking is the caller's.
//
// Ownership: anyone's. A lane that is told no is woken: by whoever opens the gate, which
// wakes every lane, or by a lane that leaves.
type gates struct {
	gate     atomic.Int32  // reasons not to start anything: a count of pauses, gateLost, gateFailed, gateStopping
	depth    atomic.Int32  // most that may be at the adapter
	inflight atomic.Int32  // at the adapter, about to be, or granted
	starved  atomic.Uint64 // lanes that the depth has held back
	next     atomic.Uint32 // lane whose turn among them it is

	// trace stops at each shared access in the model test; nil otherwise.
	//
	//level:dispatch noalloc
	trace func()
}

// The bits of gates.gate above the count of pauses. With one of them set, what is
// queued is completed instead of kept.
const (
	gateLost     int32 = 1 << 28 // every path is lost
	gateFailed   int32 = 1 << 29 // recovery has given the unit up
	gateStopping int32 = 1 << 30
	gateDoom           = gateLost | gateFailed | gateStopping
	gatePauses         = gateLost - 1
)

// wakes says what somebody who has given back a place must see to.
type wakes struct {
	granted int    // lane that the place has gone to; -1: none
	lanes   uint64 // that shall look again
	idle    bool   // nobody has a place any more
}

var nobody = wakes{granted: -1}

func (g *gates) at() {
	if g.trace != nil {
		g.trace()
	}
}

// enter asks for a place for a lane. granted says that it has one already.
func (g *gates) enter(lane int, granted bool) (bool, wakes) {
	//level:allow loop: another turn is taken only when one of those counted has left in between
	for !granted {
		g.at()
		if g.inflight.Add(1) <= g.depth.Load() {
			break
		}
		// First the bit, then what was counted is taken back: who leaves after that sees
		// the bit, and who has left before is not counted any more.
		g.at()
		g.starved.Or(1 << lane)
		g.at()
		if g.inflight.Add(-1) >= g.depth.Load() {
			return false, nobody
		}
	}
	// Who closes the gate waits for inflight afterwards: look again after counting.
	g.at()
	if g.gate.Load() == 0 {
		return true, nobody
	}
	return false, g.leave()
}

// leave gives back a place. It goes to the next of the lanes that the depth holds back,
// so that a lane that submits from its completions does not keep the places for itself.
func (g *gates) leave() wakes {
	w := nobody
	g.at()
	if g.starved.Load() != 0 && g.gate.Load() == 0 && g.inflight.Load() <= g.depth.Load() {
		if w.granted = g.nextStarved(); w.granted >= 0 {
			return w
		}
	}
	g.at()
	n := g.inflight.Add(-1)
	w.idle = n == 0
	g.at()
	if g.starved.Load() != 0 && n < g.depth.Load() {
		g.at()
		w.lanes = g.starved.Swap(0)
	}
	return w
}

// nextStarved takes the next lane in turn from those that the depth has held back, or
// returns -1.
func (g *gates) nextStarved() int {
	for {
		g.at()
		all := g.starved.Load()
		if all == 0 {
			return -1
		}
		from := all &^ (1<<g.next.Load() - 1)
		if from == 0 {
			from = all
		}
		i := bits.TrailingZeros64(from)
		g.at()
		if g.starved.And(^uint64(1<<i))&(1<<i) != 0 {
			g.next.Store(uint32(i+1) % 64)
			return i
		}
	}
}

// doomed reports whether queued SRBs will never be started.
func (g *gates) doomed() bool { return g.gate.Load()&gateDoom != 0 }
