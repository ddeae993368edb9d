package miniport

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// TestExactlyOnceModel drives the port, on one processor or two, through random
// interleavings of submissions, answers, busy units and adapters, deadlines, aborts and
// resets that work, fail or never end, pauses and lost paths. It holds that each SRB
// completes exactly once, never while the adapter has it, never inside Submit, that
// it is given up only when its task is not at the unit, and that the depth is kept.
//
// That it can fail was tried: not unlinking a completed SRB and not counting one out
// that is put back are found at once.
func TestExactlyOnceModel(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		t.Run("", func(t *testing.T) { runModel(t, rand.New(rand.NewPCG(seed, 1)), seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

type victim struct {
	s   *SRB
	use int
}

func runModel(t *testing.T, rnd *rand.Rand, seed uint64) {
	procs := 1 + int(seed%2)
	r := newRigOn(t, procs)
	n := 2 + rnd.IntN(22)
	depth := 1 + rnd.IntN(8)
	r.unit.SetDepth(depth)
	target, channel := r.target, r.target.channels[0].Load()
	busy, submitting, pauses := false, false, 0
	r.mp.verdict = func(s *SRB) Verdict {
		switch {
		case busy:
			return Busy
		case rnd.IntN(20) == 0:
			return Refused
		case len(r.mp.started) >= depth:
			t.Errorf("the adapter has %d SRBs, depth %d", len(r.mp.started)+1, depth)
		}
		return Pending
	}
	// A release may take its time: the keys are still being invalidated.
	var releasing []*SRB
	// gone tells for which use of an SRB its task is known not to be at the unit.
	submitted, completed := map[*SRB]int{}, map[*SRB]int{}
	gone, victims := map[*SRB]int{}, map[*Token][]victim{}
	r.mp.aborted = func(s *SRB, k *Token) { victims[k] = []victim{{s, submitted[s]}} }
	r.mp.reset = func(s *SRB, k *Token) { // what was sent on the same channel before
		victims[k] = nil
		for _, o := range r.mp.started {
			if o.lane == s.lane {
				victims[k] = append(victims[k], victim{o, submitted[o]})
			}
		}
	}
	r.mp.release = func(s *SRB) {
		if gone[s] != submitted[s] {
			t.Error("released while its task may be at the unit")
		}
		if !slices.Contains(releasing, s) { // the port may ask twice
			releasing = append(releasing, s)
		}
	}

	idle := []*SRB{}
	for range n {
		s := &SRB{CDBLength: 6, Timeout: time.Duration(1+rnd.IntN(3)) * time.Second}
		s.Done = func(f *dispatch.Frame, s *SRB) {
			completed[s]++
			if submitting {
				t.Error("completed inside Submit")
			}
			if completed[s] != submitted[s] {
				t.Errorf("completed %d times, submitted %d times", completed[s], submitted[s])
			}
			for _, o := range r.mp.started {
				if o == s {
					t.Error("completed while the adapter has it")
				}
			}
			if s.Status == StatusPending {
				t.Error("completed without a status")
			}
			idle = append(idle, s)
		}
		idle = append(idle, s)
	}
	finish := func(s *SRB, st Status, sc scsi.Status) {
		releasing = slices.DeleteFunc(releasing, func(o *SRB) bool { return o == s })
		r.on(s.lane.ex.index, func(f *dispatch.Frame) { r.mp.complete(f, s, st, sc) })
	}
	finishAll := func() {
		for len(r.mp.started) > 0 {
			finish(r.mp.started[0], StatusBusReset, 0)
		}
	}
	ready := func() {
		for i := range procs {
			r.on(i, func(f *dispatch.Frame) { r.mp.a.Ready(f, target) })
		}
	}
	token := func(ts *[]*Token, ok bool) {
		if len(*ts) > 0 {
			i := rnd.IntN(len(*ts))
			k := (*ts)[i]
			*ts = slices.Delete(*ts, i, i+1)
			for _, v := range victims[k] {
				if ok {
					gone[v.s] = max(gone[v.s], v.use)
				}
			}
			r.mp.fire(k, ok)
		}
	}
	for range 400 {
		switch rnd.IntN(16) {
		case 0, 1, 2, 3:
			if len(idle) > 0 {
				s := idle[0]
				idle = idle[1:]
				submitted[s]++
				r.on(rnd.IntN(procs), func(f *dispatch.Frame) {
					submitting = true
					r.unit.Submit(f, s)
					submitting = false
				})
			}
		case 4, 5, 6:
			if k := len(r.mp.started); k > 0 {
				s := r.mp.started[rnd.IntN(k)]
				outcome := []scsi.Status{0, 0, 0, scsi.StatusBusy, scsi.StatusTaskSetFull, scsi.StatusCheckCondition}[rnd.IntN(6)]
				st := StatusSuccess
				if outcome != 0 {
					st = StatusError
				}
				finish(s, st, outcome)
			}
		case 7:
			r.advance(time.Duration(rnd.IntN(4000)) * time.Millisecond)
		case 8:
			token(&r.mp.aborts, rnd.IntN(2) == 0)
		case 9:
			token(&r.mp.resets, rnd.IntN(2) == 0)
		case 10: // a target reset ends everything before it says so
			ok := rnd.IntN(3) != 0
			if ok && len(r.mp.targets) > 0 {
				finishAll()
			}
			token(&r.mp.targets, ok)
		case 11:
			if len(r.mp.buses) > 0 {
				finishAll()
			}
			token(&r.mp.buses, true)
		case 12:
			if len(releasing) > 0 {
				finish(releasing[0], StatusBusReset, 0)
			}
		case 13:
			if pauses > 0 && rnd.IntN(2) == 0 {
				pauses--
				r.unit.Resume()
			} else {
				pauses++
				r.unit.Pause()
			}
		case 14:
			busy = !busy
			if !busy {
				ready()
			}
		case 15:
			i := rnd.IntN(procs)
			if target.channels[i].Load() != nil {
				target.channels[i].Store(nil)
			} else {
				target.channels[i].Store(channel)
			}
			target.lost.Store(target.channels[0].Load() == nil && target.channels[procs-1].Load() == nil && rnd.IntN(3) == 0)
			r.mp.a.TargetChanged(target)
		}
		r.run()
	}
	// Everything comes right: nothing may be left.
	busy = false
	for i := range target.channels {
		target.channels[i].Store(channel)
	}
	target.lost.Store(false)
	r.mp.a.TargetChanged(target)
	for ; pauses > 0; pauses-- {
		r.unit.Resume()
	}
	for range 200 {
		ready()
		for len(r.mp.started) > 0 {
			finish(r.mp.started[0], StatusSuccess, 0)
		}
		for _, ts := range []*[]*Token{&r.mp.aborts, &r.mp.resets, &r.mp.targets, &r.mp.buses} {
			token(ts, true)
		}
		r.advance(busyPause)
	}
	if len(idle) != n || r.unit.inflight.Load() != 0 {
		t.Errorf("seed %d: %d of %d SRBs are back, %d in flight; gate %#x, ladder %d", seed, len(idle), n,
			r.unit.inflight.Load(), r.unit.gate.Load(), r.unit.ladder.step)
	}
	for _, e := range r.port.execs {
		if e.wheel.armed != 0 {
			t.Errorf("%d deadlines are armed with nothing outstanding", e.wheel.armed)
		}
	}
}
