package miniport

import (
	"testing"

	"minisrp/verbs/dispatch"
)

// A lane that the depth holds back is woken also when the place it waits for is given
// up by an SRB that could not be started (E19, E20: nothing is parked while there is
// room). While lane 0 has the only place, lane 1 asks for it; then lane 0's StartIO says
// no.
func TestStarvedLaneIsWokenByAnSRBThatCouldNotStart(t *testing.T) {
	for _, c := range []struct {
		name string
		v    Verdict
	}{{"refused", Refused}, {"busy", Busy}, {"path down", Gone}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRigOn(t, 2)
			r.unit.SetDepth(1)
			first := true
			r.mp.verdict = func(s *SRB) Verdict {
				if !first {
					return Pending
				}
				first = false
				elsewhere(func() { r.on(1, func(f *dispatch.Frame) { r.unit.Submit(f, r.srb()) }) })
				r.wantStarted(0)
				return c.v
			}
			r.submit(1)
			r.run()
			r.wantStarted(1)
			if r.mp.started[0] != r.srbs[1] {
				t.Error("lane 1's SRB is parked while there is room")
			}
		})
	}
}

// Places go round: a lane that submits from its completions does not keep the only one
// from another lane.
func TestDepthIsSharedFairly(t *testing.T) {
	r := newRigOn(t, 2)
	r.unit.SetDepth(1)
	var greedy func(f *dispatch.Frame, s *SRB)
	greedy = func(f *dispatch.Frame, s *SRB) { r.unit.Submit(f, s) }
	for range 2 {
		s := &SRB{CDBLength: 6, Done: func(f *dispatch.Frame, s *SRB) { greedy(f, s) }}
		r.on(0, func(f *dispatch.Frame) { r.unit.Submit(f, s) })
	}
	r.on(1, func(f *dispatch.Frame) { r.unit.Submit(f, r.srb()); r.unit.Submit(f, r.srb()) })
	for i := range 8 {
		r.wantStarted(1)
		s := r.mp.started[0]
		r.on(s.lane.ex.index, func(f *dispatch.Frame) { r.mp.complete(f, s, StatusSuccess, 0) })
		r.run()
		if len(r.done) == 2 {
			t.Logf("both after %d completions", i+1)
			greedy = func(*dispatch.Frame, *SRB) {}
			return
		}
	}
	t.Errorf("%d of lane 1's 2 SRBs were carried out beside 8 of lane 0", len(r.done))
	greedy = func(*dispatch.Frame, *SRB) {}
}

// Nor does a unit that submits from its completions keep the room of the channel from
// another unit.
func TestChannelIsSharedFairly(t *testing.T) {
	r := newRig(t)
	other := r.newUnit("naa.2", r.target)
	r.mp.verdict = func(*SRB) Verdict {
		if len(r.mp.started) > 0 {
			return Busy
		}
		return Pending
	}
	over := false
	for range 2 {
		s := &SRB{CDBLength: 6, Done: func(f *dispatch.Frame, s *SRB) {
			if !over {
				r.unit.Submit(f, s)
			}
		}}
		r.at(func(f *dispatch.Frame) { r.unit.Submit(f, s) })
	}
	r.at(func(f *dispatch.Frame) { other.Submit(f, r.srb()) })
	for range 4 {
		r.at(func(f *dispatch.Frame) {
			r.mp.complete(f, r.mp.started[0], StatusSuccess, 0)
			r.mp.a.Ready(f, r.target)
		})
	}
	over = true
	r.mp.verdict = nil
	r.at(func(f *dispatch.Frame) { r.mp.a.Ready(f, r.target) })
	r.wantDone(StatusSuccess)
}

// A target whose channel has no room does not hold up the units of another one.
func TestBusyTargetDoesNotHoldAnother(t *testing.T) {
	r := newRig(t)
	there := r.newTarget()
	other := r.newUnit("naa.2", there)
	busy := map[*Target]bool{r.target: true, there: true}
	r.mp.verdict = func(s *SRB) Verdict {
		if busy[s.path.target] {
			return Busy
		}
		return Pending
	}
	r.submit(1)
	r.at(func(f *dispatch.Frame) { other.Submit(f, r.srb()) })
	busy[there] = false
	r.at(func(f *dispatch.Frame) { r.mp.a.Ready(f, there) })
	r.wantStarted(1)
	busy[r.target] = false
	r.at(func(f *dispatch.Frame) { r.mp.a.Ready(f, r.target) })
	r.wantStarted(2)
}

// A channel that dies while a unit waits for room in it never says that it has room: its
// end does (E20, E25).
func TestChannelDiesWhileAUnitWaitsForRoom(t *testing.T) {
	r := newRig(t)
	r.mp.verdict = func(*SRB) Verdict { return Busy }
	r.submit(2)
	c := r.target.channels[0].Swap(nil)
	r.at(func(f *dispatch.Frame) { r.mp.a.Ready(f, r.target) }) // as at the channel's end
	r.mp.verdict = nil
	r.target.channels[0].Store(c)
	r.mp.a.TargetChanged(r.target)
	r.run()
	r.wantStarted(2)
}

// With fewer channels than processors, SRBs go to the lanes with a channel, and the
// lanes without are spread over those.
func TestFewerChannelsThanProcessors(t *testing.T) {
	r := newRigOn(t, 4)
	r.target.channels[2].Store(nil)
	r.target.channels[3].Store(nil)
	for i := range r.procs {
		r.on(i, func(f *dispatch.Frame) { r.unit.Submit(f, r.srb()); r.unit.Submit(f, r.srb()) })
	}
	r.run()
	r.wantStarted(8)
	var on [4]int
	for _, s := range r.mp.started {
		on[s.lane.ex.index]++
	}
	if on != [4]int{4, 4, 0, 0} {
		t.Errorf("SRBs by lane: %v", on)
	}
}

// What waits at a processor whose channel is gone goes over another one.
func TestQueueMovesWhenItsChannelGoes(t *testing.T) {
	r := newRigOn(t, 2)
	r.unit.Pause()
	r.on(1, func(f *dispatch.Frame) { r.unit.Submit(f, r.srb()) })
	r.target.channels[1].Store(nil)
	r.unit.Resume()
	r.run()
	r.wantStarted(1)
	if i := r.mp.started[0].lane.ex.index; i != 0 {
		t.Errorf("started on lane %d", i)
	}
}

// A frame raised on a processor that somebody else owns at the moment leaves its SRB
// to that processor's lane.
func TestSubmitGoesToTheLaneOfItsProcessor(t *testing.T) {
	r := newRigOn(t, 2)
	r.on(1, func(owner *dispatch.Frame) {
		elsewhere(func() {
			var f dispatch.Frame
			r.procs[1].Raise(&f) // does not own it
			r.unit.Submit(&f, r.srb())
			f.Lower()
		})
	})
	r.run()
	r.wantStarted(1)
	if i := r.mp.started[0].lane.ex.index; i != 1 {
		t.Errorf("started on lane %d", i)
	}
}

// An owner that submits again from each failure does not keep the processor: between
// rounds others run.
func TestFailingChainLetsOthersRun(t *testing.T) {
	for _, how := range []string{"refused", "lost"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			if how == "lost" {
				r.target.channels[0].Store(nil)
				r.target.lost.Store(true)
				r.mp.a.TargetChanged(r.target)
				r.run()
			} else {
				r.mp.verdict = func(*SRB) Verdict { return Refused }
			}
			stop, ends := false, 0
			s := &SRB{CDBLength: 6, Done: func(f *dispatch.Frame, s *SRB) {
				if ends++; !stop && ends < 1000 {
					r.unit.Submit(f, s)
				}
			}}
			var other dispatch.DPC
			other.Init(r.p, func(*dispatch.Frame) { stop = true })
			r.at(func(f *dispatch.Frame) {
				r.unit.Submit(f, s)
				other.Queue(f)
			})
			if ends > 3 {
				t.Errorf("%d rounds before another DPC of the processor ran", ends)
			}
		})
	}
}
