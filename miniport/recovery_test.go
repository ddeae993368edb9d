package miniport

import (
	"testing"
	"time"

	"minisrp/verbs/dispatch"
)

// stick submits n SRBs on processor i and lets their deadlines and those of their aborts
// pass: the unit recovers.
func (r *rig) stick(i, n int) {
	r.t.Helper()
	r.on(i, func(f *dispatch.Frame) {
		for range n {
			r.unit.Submit(f, r.srb())
		}
	})
	r.advance(DefaultTimeout + abortTimeout + 4*tick)
	if len(r.mp.resets)+len(r.mp.targets) == 0 {
		r.t.Fatal("no recovery has begun")
	}
}

// complete ends an SRB on its own processor.
func (r *rig) complete(s *SRB, st Status) {
	r.on(s.lane.ex.index, func(f *dispatch.Frame) { r.mp.complete(f, s, st, 0) })
	r.run()
}

// Targets answer ABORT TASK with a failure also when they have answered its victim
// before: that SRB completes with its own status, and nothing is reset (E12).
func TestFailedAbortOfAnAnsweredSRB(t *testing.T) {
	r := newRig(t)
	r.expire(1)
	r.fire(r.mp.aborts[0], false)
	r.complete(r.srbs[0], StatusSuccess)
	r.advance(time.Minute)
	r.wantDone(StatusSuccess)
	if len(r.mp.resets) != 0 {
		t.Error("the unit was reset")
	}
}

// The reset of a unit counts for what was sent on the same channel before it, so each
// channel that has SRBs of the unit gets one, and no other (E10).
func TestUnitResetOnEachChannel(t *testing.T) {
	r := newRigOn(t, 3)
	r.on(1, func(f *dispatch.Frame) { r.unit.Submit(f, r.srb()) })
	r.stick(0, 1)
	if len(r.mp.resets) != 2 {
		t.Fatalf("%d unit resets, want one on each of 2 channels", len(r.mp.resets))
	}
	r.fire(r.mp.resets[0], true)
	if len(r.done) != 1 {
		t.Fatalf("%d SRBs are done after the reset on one channel", len(r.done))
	}
	r.on(2, func(f *dispatch.Frame) { r.unit.Submit(f, r.srb()) })
	r.wantStarted(1) // the gate is closed
	r.fire(r.mp.resets[1], true)
	if len(r.done) != 2 || len(r.mp.targets) != 0 {
		t.Fatalf("%d SRBs are done, %d target resets", len(r.done), len(r.mp.targets))
	}
	r.wantStarted(1) // the gate is open again
}

// What was started by several paths is reset by each.
func TestResetByEachPath(t *testing.T) {
	r := newRig(t)
	r.submit(1)
	there := r.newTarget()
	p := &Path{adapter: r.mp.a, target: there, unit: r.unit}
	paths := append([]*Path{p}, *r.unit.paths.Load()...)
	r.unit.paths.Store(&paths)
	var by []*Path
	r.mp.reset = func(s *SRB, _ *Token) { by = append(by, s.path) }
	r.stick(0, 1)
	r.fire(r.mp.resets[0], true)
	r.fire(r.mp.resets[1], true)
	if len(by) != 2 || by[0] == by[1] {
		t.Errorf("reset by %v", by)
	}
	r.wantDone(StatusTimeout, StatusTimeout)
}

// A reset that the port has stopped to wait for stays the adapter's until it ends: its
// token is not given out again, and its end counts for nothing that came later (E12).
func TestResetThatEndsTooLate(t *testing.T) {
	r := newRig(t)
	r.stick(0, 1)
	late := r.mp.resets[0]
	r.advance(unitResetTimeout + tick)
	r.complete(r.srbs[0], StatusBusReset)
	r.fire(r.mp.targets[0], true)
	r.wantDone(StatusTimeout)

	r.mp.resets, r.mp.targets = nil, nil
	r.stick(0, 1)
	if len(r.mp.resets) != 0 || len(r.mp.targets) != 1 {
		t.Fatalf("%d unit resets and %d target resets while the unit's reset of before is under way", len(r.mp.resets), len(r.mp.targets))
	}
	r.fire(late, true)
	r.wantDone()
	r.complete(r.srbs[1], StatusBusReset)
	r.fire(r.mp.targets[0], true)
	r.wantDone(StatusTimeout)

	r.mp.targets = nil
	r.stick(0, 1)
	if len(r.mp.resets) != 1 {
		t.Error("no unit reset after the late one has ended")
	}
	r.fire(r.mp.resets[0], true)
	r.wantDone(StatusTimeout)
}

// A unit reset that is given up with nothing left at the unit could still end what is
// started afterwards: the target is reset before the gate opens.
func TestGateStaysClosedWhileAUnitResetMayCome(t *testing.T) {
	r := newRig(t)
	r.stick(0, 1)
	r.complete(r.srbs[0], StatusSuccess)
	r.submit(1)
	r.wantStarted(0)
	r.advance(unitResetTimeout + tick)
	if len(r.mp.targets) != 1 {
		t.Fatalf("%d target resets", len(r.mp.targets))
	}
	r.wantStarted(0)
	r.fire(r.mp.targets[0], true)
	r.wantStarted(1)
}

// When a reset fails but everything has come back meanwhile, recovery is over.
func TestFailedResetWithNothingLeft(t *testing.T) {
	r := newRig(t)
	r.stick(0, 1)
	r.complete(r.srbs[0], StatusSuccess)
	r.fire(r.mp.resets[0], false)
	r.submit(1)
	r.wantStarted(1)
	if len(r.mp.targets) != 0 {
		t.Error("the target was reset")
	}
}

// What has been reset and does not come back in 5 s leads to the next step, and not
// beyond it.
func TestDrainHasItsDeadline(t *testing.T) {
	r := newRig(t)
	r.mp.release = func(*SRB) {} // keys that are not invalidated
	r.stick(0, 1)
	r.advance(unitResetTimeout - time.Second)
	r.fire(r.mp.resets[0], true)
	r.advance(drainTimeout - time.Second)
	if len(r.mp.targets) != 0 {
		t.Fatal("target reset within the time that released SRBs have")
	}
	r.advance(time.Second + tick)
	if len(r.mp.targets) != 1 || len(r.mp.buses) != 0 {
		t.Fatalf("%d target resets, %d bus resets", len(r.mp.targets), len(r.mp.buses))
	}
	r.complete(r.srbs[0], StatusBusReset)
	r.fire(r.mp.targets[0], true)
	r.wantDone(StatusTimeout)
}

// An SRB that asked for a reset and has completed before the recovery begins needs none:
// the others are left alone.
func TestNoResetForAnSRBThatIsDone(t *testing.T) {
	r := newRigOn(t, 2)
	r.on(1, func(f *dispatch.Frame) {
		r.unit.Submit(f, r.srb())
		r.unit.Submit(f, r.srb())
	})
	s := r.srbs[0]
	r.on(1, func(f *dispatch.Frame) {
		s.lane.ex.escalate(f, s) // the ladder is processor 0's
		r.mp.complete(f, s, StatusSuccess, 0)
	})
	r.run()
	if len(r.mp.resets) != 0 {
		t.Error("the unit was reset")
	}
	r.wantStarted(1)
}

// A unit that recovery has given up takes nothing, until a target that leads to it is
// logged in to again (E6).
func TestFailedUnitComesBack(t *testing.T) {
	r := newRig(t)
	r.stick(0, 1)
	r.advance(unitResetTimeout + targetResetTimeout + busResetTimeout + 4*tick)
	r.submit(1)
	r.wantDone(StatusNoDevice)
	c := r.target.channels[0].Swap(nil)
	r.mp.a.TargetChanged(r.target)
	r.complete(r.srbs[0], StatusBusReset)
	r.wantDone(StatusTimeout)
	r.submit(1)
	r.wantDone(StatusNoDevice)
	r.target.channels[0].Store(c)
	r.mp.a.TargetChanged(r.target)
	r.run()
	r.submit(1)
	r.wantStarted(1)
}

// More deadlines than aborts can be under way at once lead to a reset of the unit.
func TestMoreDeadlinesThanAborts(t *testing.T) {
	r := newRig(t)
	r.expire(abortsAtOnce + 1)
	if len(r.mp.aborts) != abortsAtOnce || len(r.mp.resets) != 1 {
		t.Fatalf("%d aborts, %d resets", len(r.mp.aborts), len(r.mp.resets))
	}
	r.fire(r.mp.resets[0], true)
	if len(r.done) != abortsAtOnce+1 {
		t.Errorf("%d SRBs are done", len(r.done))
	}
}

// An SRB that is used again after it was released takes part in the next reset.
func TestReleasedSRBIsUsedAgain(t *testing.T) {
	r := newRig(t)
	r.stick(0, 1)
	r.fire(r.mp.resets[0], true)
	r.wantDone(StatusTimeout)
	s := r.srbs[0]
	r.at(func(f *dispatch.Frame) { r.unit.Submit(f, s) })
	r.advance(DefaultTimeout + abortTimeout + 4*tick)
	if len(r.mp.resets) != 2 {
		t.Fatalf("%d unit resets", len(r.mp.resets))
	}
	r.fire(r.mp.resets[1], true)
	r.wantDone(StatusTimeout)
}

// Deadlines may be armed, moved and cleared from within the expiry of others: none is
// missed and none comes twice, also those of the slot that is being looked at and those
// that are whole turns away.
func TestWheelWhileItTurns(t *testing.T) {
	p := dispatch.NewManual("p")
	var w wheel
	srbs := make([]*SRB, 6)
	for i := range srbs {
		srbs[i] = new(SRB)
	}
	var expired []int
	w.init(p, func(f *dispatch.Frame, s *SRB) {
		for i := range srbs {
			if srbs[i] == s {
				expired = append(expired, i)
			}
		}
		if s == srbs[4] && len(expired) == 1 { // the last armed is the first to be looked at
			w.cancel(srbs[3])                                   // the next
			w.arm(f, srbs[2], wheelSlots*tick)                  // the one after it
			w.arm(f, srbs[4], (wheelSlots-1)*tick)              // itself, to the same slot
			w.arm(f, srbs[5], time.Duration(wheelSlots-1)*tick) // another, to the same slot
		}
	})
	var f dispatch.Frame
	p.Raise(&f)
	for _, s := range srbs[:5] {
		w.arm(&f, s, 3*tick)
	}
	f.Lower()
	p.Advance(4 * tick)
	if len(expired) != 3 { // 4, 1 and 0
		t.Fatalf("expired %v, want 4, 1, 0", expired)
	}
	p.Advance((wheelSlots - 1) * tick)
	if len(expired) != 3 {
		t.Fatalf("%v expired too early", expired)
	}
	p.Advance(tick)
	if len(expired) != 5 {
		t.Fatalf("expired %v, want 4 and 5 now", expired)
	}
	p.Advance(tick)
	if len(expired) != 6 || expired[5] != 2 || w.armed != 0 {
		t.Errorf("expired %v, %d armed", expired, w.armed)
	}
	if _, armed := p.NextTimer(); armed {
		t.Error("the timer does not rest")
	}
}
