package miniport

import (
	"context"
	"math/bits"
	"slices"
	"sync/atomic"

	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// Unit is a logical unit, whatever paths lead to it.
//
// Ownership: the port's. Its requests are kept by one lane for each processor; the
// counters that all lanes share are atomic.
type Unit struct {
	// Fixed after construction.
	port    *Port
	id      scsi.UnitID
	inquiry scsi.StandardInquiry
	lanes   []*lane
	ladder  ladder

	gates
	paths    atomic.Pointer[[]*Path]
	most     atomic.Int32 // what depth grows back to
	dropping atomic.Int32 // calls of Exec that want their SRBs back

	sinceFull atomic.Int32
	completed atomic.Uint64
	queueFull atomic.Uint64
	aborts    atomic.Uint64
	resets    atomic.Uint64
}

func newUnit(p *Port, id scsi.UnitID, q scsi.StandardInquiry, path *Path) *Unit {
	u := &Unit{port: p, id: id, inquiry: q}
	u.depth.Store(DefaultDepth)
	u.most.Store(DefaultDepth)
	for _, e := range p.execs {
		u.lanes = append(u.lanes, newLane(u, e))
	}
	u.ladder.init(u)
	u.paths.Store(&[]*Path{path})
	return u
}

// ID returns the unit's identity, from its VPD page 83h.
func (u *Unit) ID() scsi.UnitID { return u.id }

// Inquiry returns the standard INQUIRY data that the unit was found with.
func (u *Unit) Inquiry() scsi.StandardInquiry { return u.inquiry }

// Paths returns the paths.
func (u *Unit) Paths() []*Path { return slices.Clone(*u.paths.Load()) }

// Submit queues an SRB. Done is called exactly once, later, never inside. On the
// processor that f owns it is started at once if it can be; else on one that leads
// to the unit. Level: Dispatch.
//
//level:dispatch noalloc
func (u *Unit) Submit(f *dispatch.Frame, s *SRB) {
	if s.stage != stageIdle {
		panic("miniport: an SRB was submitted that is not complete")
	}
	s.unit = u
	s.reset()
	l := u.laneFor(f)
	if f.On(l.ex.proc) {
		f.Starting(dispatch.LayerPort)
		l.accept(f, s)
		f.Started(dispatch.LayerPort)
		return
	}
	s.stage = stageQueued
	l.incoming.Push(s)
	l.dpc.Queue(f)
}

// laneFor returns the lane of the processor that f was raised on, else the first.
func (u *Unit) laneFor(f *dispatch.Frame) *lane {
	for _, l := range u.lanes {
		if l.ex.proc == f.Processor() {
			return l
		}
	}
	return u.lanes[0]
}

// SetDepth sets how many SRBs may be at the adapter at a time, 1 or more. It takes
// effect at once. Level: both.
func (u *Unit) SetDepth(n int) {
	u.most.Store(int32(max(1, n)))
	u.depth.Store(int32(max(1, n)))
	u.kick()
}

// Pause stops starting SRBs until as many Resumes. What is at the adapter goes on.
// Level: both.
func (u *Unit) Pause() { u.gate.Add(1) }

// Resume undoes one Pause. Level: both.
func (u *Unit) Resume() {
	if old := u.gate.Add(-1) + 1; old&gatePauses == 0 {
		panic("miniport: a unit was resumed more often than paused")
	} else if old&gatePauses == 1 {
		u.kick()
	}
}

// kick makes each lane look at its queue. Level: both.
func (u *Unit) kick() {
	for _, l := range u.lanes {
		l.dpc.Post()
	}
}

// pick returns the first path that the lane can send on, or nil.
func (u *Unit) pick(l *lane) *Path {
	for _, p := range *u.paths.Load() {
		if p.target.usable(l.ex.index) {
			return p
		}
	}
	return nil
}

// refresh looks whether every path is lost, and lets the lanes act on it. Of several at a
// time the last one sees what all have seen. Level: both.
func (u *Unit) refresh() {
	for {
		lost := u.allLost()
		if lost {
			u.gate.Or(gateLost)
		} else {
			u.gate.And(^gateLost)
		}
		if lost == u.allLost() {
			break
		}
	}
	u.kick()
}

func (u *Unit) allLost() bool {
	for _, p := range *u.paths.Load() {
		if !p.target.Lost() {
			return false
		}
	}
	return true
}

// leave gives back a place at the adapter. Level: Dispatch.
func (u *Unit) leave(f *dispatch.Frame) { u.wake(f, u.gates.leave()) }

// wake does what a lane that has left must see to.
func (u *Unit) wake(f *dispatch.Frame, w wakes) {
	if w.granted >= 0 {
		l := u.lanes[w.granted]
		l.granted.Add(1)
		l.dpc.Queue(f)
	}
	for ; w.lanes != 0; w.lanes &= w.lanes - 1 {
		u.lanes[bits.TrailingZeros64(w.lanes)].dpc.Queue(f)
	}
	if w.idle && u.ladder.active.Load() {
		u.ladder.dpc.Queue(f)
	}
}

// shrink lowers the depth to what the unit has just shown that it takes.
func (u *Unit) shrink() {
	u.sinceFull.Store(0)
	u.depth.Store(max(1, min(u.depth.Load(), u.inflight.Load()-1)))
}

// grow raises the depth by one for each 64 commands without QUEUE FULL.
func (u *Unit) grow() {
	if d := u.depth.Load(); d < u.most.Load() && u.sinceFull.Add(1) >= 64 {
		u.sinceFull.Store(0)
		u.depth.CompareAndSwap(d, d+1)
	}
}

// stop completes what is queued, and what is submitted from now on, with
// StatusFlushed. Level: both.
func (u *Unit) stop() {
	u.gate.Or(gateStopping)
	u.kick()
}

// drain waits until nothing is at the adapter.
func (u *Unit) drain(ctx context.Context) error {
	for _, l := range u.lanes {
		idle := make(chan struct{})
		if err := u.port.call(ctx, l.ex, func(f *dispatch.Frame) {
			if l.outN == 0 {
				close(idle)
			} else {
				l.onIdle = idle
			}
		}); err != nil {
			return err
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// rest ends the timers of a unit that has stopped.
func (u *Unit) rest(ctx context.Context) {
	for _, l := range u.lanes {
		// The processor runs until the port is closed.
		_ = u.port.call(ctx, l.ex, func(f *dispatch.Frame) {
			l.pause.Cancel(f)
			if l == u.lanes[0] {
				u.ladder.timer.Cancel(f)
			}
		})
	}
}

// Counters are a unit's figures since it was found.
type Counters struct {
	Completed uint64 // SRBs that came back from an adapter
	QueueFull uint64 // TASK SET FULL answers
	Aborts    uint64 // SRBs whose deadline passed
	Resets    uint64 // unit resets and above
	InFlight  int
	Depth     int
}

// Counters returns the figures. Level: both.
func (u *Unit) Counters() Counters {
	return Counters{
		Completed: u.completed.Load(), QueueFull: u.queueFull.Load(), Aborts: u.aborts.Load(),
		Resets: u.resets.Load(), InFlight: int(u.inflight.Load()), Depth: int(u.depth.Load()),
	}
}
