package miniport

import (
	"testing"
	"time"

	"minisrp/verbs/dispatch"
)

// expireOne submits n SRBs and lets the deadline of all pass.
func (r *rig) expire(n int) {
	r.submit(n)
	r.p.Advance(DefaultTimeout + 2*tick)
}

// fire ends what a token stands for, and runs what follows.
func (r *rig) fire(t *Token, ok bool) {
	r.mp.fire(t, ok)
	r.run()
}

// The deadline of an SRB leads to ABORT TASK; an abort that works completes it with a
// status that says that its effect is unknown.
func TestDeadlineAborts(t *testing.T) {
	r := newRig(t)
	r.submit(1)
	r.p.Advance(DefaultTimeout - tick)
	if len(r.mp.aborts) != 0 {
		t.Fatal("aborted before its deadline")
	}
	r.p.Advance(3 * tick)
	if len(r.mp.aborts) != 1 {
		t.Fatalf("%d aborts", len(r.mp.aborts))
	}
	r.wantDone()
	r.fire(r.mp.aborts[0], true)
	r.wantDone(StatusTimeout)
	if StatusTimeout.NotExecuted() {
		t.Error("a timeout says that nothing was executed")
	}
}

// Many aborts are under way at once.
func TestManyAbortsAtOnce(t *testing.T) {
	r := newRig(t)
	r.expire(abortsAtOnce)
	if len(r.mp.aborts) != abortsAtOnce {
		t.Fatalf("%d aborts of %d", len(r.mp.aborts), abortsAtOnce)
	}
	for _, a := range r.mp.aborts {
		r.fire(a, true)
	}
	r.p.RunUntilIdle()
	if len(r.done) != abortsAtOnce || len(r.mp.resets) != 0 {
		t.Fatalf("%d done, %d resets", len(r.done), len(r.mp.resets))
	}
}

// The response wins against its abort: the SRB completes once, with its own status,
// and a late end of the abort touches nothing.
func TestResponseDuringAbort(t *testing.T) {
	r := newRig(t)
	r.expire(1)
	s := r.srbs[0]
	r.at(func(f *dispatch.Frame) { r.mp.complete(f, s, StatusSuccess, 0) })
	r.wantDone(StatusSuccess)
	r.at(func(f *dispatch.Frame) { r.unit.Submit(f, s) }) // used again
	r.fire(r.mp.aborts[0], false)
	r.wantStarted(1)
	if len(r.mp.resets) != 0 {
		t.Error("the abort of an earlier use has reset the unit")
	}
}

// An abort that ends well after its victim has completed, was used again and is being
// aborted again, does not release it: that task may still be at the unit.
func TestLateAbortOfAnEarlierUse(t *testing.T) {
	r := newRig(t)
	r.expire(1)
	s := r.srbs[0]
	r.at(func(f *dispatch.Frame) { r.mp.complete(f, s, StatusSuccess, 0) })
	r.at(func(f *dispatch.Frame) { r.unit.Submit(f, s) })
	r.p.Advance(DefaultTimeout + 2*tick)
	if len(r.mp.aborts) != 2 {
		t.Fatalf("%d aborts", len(r.mp.aborts))
	}
	r.done = nil
	r.fire(r.mp.aborts[0], true)
	r.wantDone()
	r.fire(r.mp.aborts[1], true)
	r.wantDone(StatusTimeout)
}

// An abort that fails, or does not end in its 5 s, resets the unit; all that was
// started there is taken back, nothing is started meanwhile.
func TestAbortFailsUnitReset(t *testing.T) {
	for _, how := range []string{"fails", "does not end"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			r.submit(2)
			r.p.Advance(DefaultTimeout / 2)
			r.submit(1) // younger: not timed out
			r.p.Advance(DefaultTimeout/2 + 2*tick)
			if how == "fails" {
				r.fire(r.mp.aborts[0], false)
				r.p.Advance(abortGrace + 2*tick)
			} else {
				r.p.Advance(abortTimeout + 2*tick)
			}
			if len(r.mp.resets) != 1 {
				t.Fatalf("%d unit resets", len(r.mp.resets))
			}
			r.submit(1)
			r.wantStarted(3)
			r.fire(r.mp.resets[0], true)
			if len(r.done) != 3 {
				t.Fatalf("%d done", len(r.done))
			}
			timeouts := 0
			for _, s := range r.done {
				if s.Status == StatusTimeout {
					timeouts++
				} else if s.Status != StatusBusReset {
					t.Errorf("%s", s.Status)
				}
			}
			if timeouts != 2 {
				t.Errorf("%d timeouts, want 2", timeouts)
			}
			r.wantStarted(1) // the gate is open again
		})
	}
}

// Each step has its deadline: unit reset 10 s, target reset 15 s, bus reset 20 s; then
// the unit is lost, and what the adapter still has stays with it.
func TestLadderToTheEnd(t *testing.T) {
	r := newRig(t)
	r.expire(1)
	r.p.Advance(abortTimeout + 2*tick)
	if len(r.mp.resets) != 1 {
		t.Fatalf("%d unit resets", len(r.mp.resets))
	}
	r.p.Advance(unitResetTimeout - time.Second)
	if len(r.mp.targets) != 0 {
		t.Fatal("target reset before the unit reset's deadline")
	}
	r.p.Advance(2 * time.Second)
	if len(r.mp.targets) != 1 {
		t.Fatalf("%d target resets", len(r.mp.targets))
	}
	r.fire(r.mp.resets[0], true) // too late: does not count
	r.p.RunUntilIdle()
	r.p.Advance(targetResetTimeout)
	if len(r.mp.buses) != 1 {
		t.Fatalf("%d bus resets", len(r.mp.buses))
	}
	r.p.Advance(busResetTimeout)
	r.wantDone()
	r.submit(1)
	r.wantDone(StatusNoDevice)
	s := r.srbs[0]
	r.at(func(f *dispatch.Frame) { r.mp.complete(f, s, StatusBusReset, 0) })
	r.wantDone(StatusTimeout)
}

// A target reset completes what was started; then the unit goes on.
func TestTargetReset(t *testing.T) {
	r := newRig(t)
	r.expire(2)
	r.fire(r.mp.aborts[0], false)
	r.p.Advance(abortGrace + 2*tick)
	r.fire(r.mp.resets[0], false)
	if len(r.mp.targets) != 1 {
		t.Fatalf("%d target resets", len(r.mp.targets))
	}
	r.at(func(f *dispatch.Frame) {
		for len(r.mp.started) > 0 {
			r.mp.complete(f, r.mp.started[0], StatusBusReset, 0)
		}
	})
	r.wantDone(StatusTimeout, StatusTimeout)
	r.submit(1)
	r.wantStarted(0)
	r.fire(r.mp.targets[0], true)
	r.wantStarted(1)
}

// Deadlines far beyond one turn of the wheel are kept.
func TestLongDeadline(t *testing.T) {
	r := newRig(t)
	s := r.srb()
	s.Timeout = 10 * time.Minute
	r.at(func(f *dispatch.Frame) { r.unit.Submit(f, s) })
	r.p.Advance(10*time.Minute - tick)
	if len(r.mp.aborts) != 0 {
		t.Fatal("too early")
	}
	r.p.Advance(3 * tick)
	if len(r.mp.aborts) != 1 {
		t.Fatal("too late")
	}
}
