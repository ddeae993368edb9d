package miniport

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type channelOf = srp.Channel

// Depth bounds what is at the adapter; each completion lets the next one start, in
// order (StorPort SetDeviceQueueDepth).
func TestDepth(t *testing.T) {
	r := newRig(t)
	r.unit.SetDepth(2)
	r.submit(5)
	r.wantStarted(2)
	first := r.mp.started[0]
	r.at(func(f *dispatch.Frame) { r.mp.complete(f, first, StatusSuccess, 0) })
	r.wantStarted(2)
	if r.mp.started[1] != r.srbs[2] {
		t.Error("not in order")
	}
	r.unit.SetDepth(10)
	r.p.RunUntilIdle()
	r.wantStarted(4)
}

// A paused unit starts nothing, and what is at the adapter goes on.
func TestPauseIsCounted(t *testing.T) {
	r := newRig(t)
	r.submit(1)
	r.unit.Pause()
	r.unit.Pause()
	r.submit(1)
	r.wantStarted(1)
	r.at(func(f *dispatch.Frame) { r.mp.complete(f, r.mp.started[0], StatusSuccess, 0) })
	r.wantDone(StatusSuccess)
	r.unit.Resume()
	r.p.RunUntilIdle()
	r.wantStarted(0)
	r.unit.Resume()
	r.p.RunUntilIdle()
	r.wantStarted(1)
}

// BUSY from the unit: 250 ms pause, up to 20 retries (StorPort BusyPauseTime,
// BusyRetryCount); the SRB keeps its place.
func TestBusyUnitIsRetried(t *testing.T) {
	r := newRig(t)
	r.submit(2)
	r.at(func(f *dispatch.Frame) { r.mp.complete(f, r.srbs[0], StatusError, scsi.StatusBusy) })
	r.wantStarted(1)
	r.p.Advance(249 * time.Millisecond)
	r.wantStarted(1)
	r.p.Advance(1 * time.Millisecond)
	r.wantStarted(2)
	for range 19 {
		r.at(func(f *dispatch.Frame) { r.mp.complete(f, r.srbs[0], StatusError, scsi.StatusBusy) })
		r.wantDone()
		r.p.Advance(busyPause)
	}
	r.at(func(f *dispatch.Frame) { r.mp.complete(f, r.srbs[0], StatusError, scsi.StatusBusy) })
	r.wantDone(StatusBusy)
}

// TASK SET FULL: nothing starts until a quarter of what is at the unit has completed,
// and the depth falls to what it took (StorPort QueueFullWaitIoPercentage).
func TestQueueFull(t *testing.T) {
	r := newRig(t)
	r.submit(9)
	r.wantStarted(9)
	r.at(func(f *dispatch.Frame) { r.mp.complete(f, r.srbs[8], StatusError, scsi.StatusTaskSetFull) })
	r.wantStarted(8)
	if d := r.unit.Counters().Depth; d != 8 {
		t.Errorf("depth %d after the unit took 8", d)
	}
	r.at(func(f *dispatch.Frame) { r.mp.complete(f, r.srbs[0], StatusSuccess, 0) })
	r.wantStarted(7)
	r.at(func(f *dispatch.Frame) { r.mp.complete(f, r.srbs[1], StatusSuccess, 0) })
	r.wantStarted(7) // the refused one went out again
	if got := r.mp.started[6]; got != r.srbs[8] {
		t.Error("another SRB was started in the refused one's place")
	}
}

// A unit that is full with nothing outstanding is tried again after a pause, not
// never.
func TestQueueFullWithNothingOutstanding(t *testing.T) {
	r := newRig(t)
	r.submit(1)
	r.at(func(f *dispatch.Frame) { r.mp.complete(f, r.srbs[0], StatusError, scsi.StatusTaskSetFull) })
	r.wantStarted(0)
	r.p.Advance(busyPause)
	r.wantStarted(1)
}

// The adapter is busy: nothing was begun, and Ready starts what waits.
func TestAdapterBusy(t *testing.T) {
	r := newRig(t)
	busy := true
	r.mp.verdict = func(*SRB) Verdict {
		if busy {
			return Busy
		}
		return Pending
	}
	r.submit(3)
	r.wantStarted(0)
	if r.mp.builds != 1 {
		t.Errorf("%d SRBs were tried while the adapter was busy, want 1", r.mp.builds)
	}
	busy = false
	r.at(func(f *dispatch.Frame) { r.mp.a.Ready(f, r.target) })
	r.wantStarted(3)
}

// An SRB that the adapter cannot send completes later, not inside Submit.
func TestRefusedCompletesLater(t *testing.T) {
	r := newRig(t)
	r.mp.verdict = func(*SRB) Verdict { return Refused }
	r.at(func(f *dispatch.Frame) {
		r.unit.Submit(f, r.srb())
		if len(r.done) != 0 {
			t.Error("completed inside Submit")
		}
	})
	r.wantDone(StatusInvalidRequest)
}

// A path that is gone holds SRBs; a lost one ends them.
func TestGoneHoldsLostEnds(t *testing.T) {
	r := newRig(t)
	target := (*r.unit.paths.Load())[0].target
	c := target.channels[0].Swap(nil)
	r.submit(2)
	r.wantStarted(0)
	r.p.Advance(time.Hour)
	r.wantDone()
	target.channels[0].Store(c)
	r.mp.a.TargetChanged(target)
	r.p.RunUntilIdle()
	r.wantStarted(2)
	target.channels[0].Store(nil)
	r.submit(1)
	target.lost.Store(true)
	r.mp.a.TargetChanged(target)
	r.p.RunUntilIdle()
	r.wantDone(StatusNoDevice)
	r.submit(1)
	r.wantDone(StatusNoDevice)
}

// Submitted on a frame that does not own the processor, an SRB goes through the
// lane's queue.
func TestSubmitFromElsewhere(t *testing.T) {
	r := newRig(t)
	other := dispatch.NewManual("other")
	var f dispatch.Frame
	other.Raise(&f)
	r.unit.Submit(&f, r.srb())
	f.Lower()
	r.wantStarted(0)
	r.p.RunUntilIdle()
	r.wantStarted(1)
}

// A chain of requests, each started from the completion of the one before, does not
// nest and does not allocate.
func TestChain(t *testing.T) {
	r := newRig(t)
	r.mp.on = true
	r.mp.started = make([]*SRB, 0, 4)
	left, depth := 0, 0
	s := &SRB{CDBLength: 6}
	s.Done = func(f *dispatch.Frame, s *SRB) {
		if depth++; depth != 1 {
			t.Fatalf("completion inside completion: depth %d", depth)
		}
		if left--; left > 0 {
			r.unit.Submit(f, s)
		}
		depth--
	}
	var f dispatch.Frame
	round := func() {
		left = 1000
		r.p.Raise(&f)
		r.unit.Submit(&f, s)
		f.Lower()
		if left != 0 {
			t.Fatalf("%d left", left)
		}
	}
	if n := testing.AllocsPerRun(10, round); n != 0 {
		t.Errorf("%v allocations in 1000 requests", n)
	}
}
