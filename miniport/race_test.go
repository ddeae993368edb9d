package miniport

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// TestTwoProcessors drives units from two processors with goroutines of their own and
// from a third goroutine, while completions, refusals, pauses and depths come at random.
// It holds that each SRB completes exactly once for each time it was submitted, that the
// depth is kept, and that nothing is parked for ever: every chain of SRBs comes to its
// end, though nobody but the port wakes it. The orders that matter for the last are
// searched by TestNoLaneIsParkedWhileThereIsRoom; this is for the race detector.
func TestTwoProcessors(t *testing.T) {
	rounds := uint64(12)
	if testing.Short() {
		rounds = 6
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runRace(t, seed) })
	}
}

// side is what the adapter of the race has on one processor. It belongs to the
// processor.
type side struct {
	m       *racer
	proc    *dispatch.Processor
	index   int
	rnd     *rand.Rand
	started []*SRB
	room    int // SRBs that the channel takes
	refused bool
	work    dispatch.DPC
}

// racer is a miniport with a channel on each processor.
type racer struct {
	t      *testing.T
	a      *Adapter
	target *Target
	sides  []*side
	at     atomic.Int32 // SRBs at the adapter
	depth  int32        // 0: it changes
	rough  bool         // StartIO says no at times
}

func (m *racer) FindAdapter(ctx context.Context, a *Adapter) error             { m.a = a; return nil }
func (m *racer) Initialize(f *dispatch.Frame) error                            { return nil }
func (m *racer) BuildIO(f *dispatch.Frame, s *SRB) Status                      { return StatusPending }
func (m *racer) AbortTask(f *dispatch.Frame, s *SRB, t *Token)                 { panic("abort") }
func (m *racer) ReleaseIO(f *dispatch.Frame, s *SRB)                           { panic("release") }
func (m *racer) ResetUnit(f *dispatch.Frame, s *SRB, t *Token)                 { panic("reset") }
func (m *racer) ResetTarget(f *dispatch.Frame, p *Path, t *Token)              { panic("reset") }
func (m *racer) ResetBus(f *dispatch.Frame, t *Token)                          { panic("reset") }
func (m *racer) AdapterControl(ctx context.Context, c AdapterControl) error    { return nil }
func (m *racer) UnitControl(ctx context.Context, p *Path, c UnitControl) error { return nil }
func (m *racer) Close(ctx context.Context) error                               { return nil }

func (m *racer) StartIO(f *dispatch.Frame, s *SRB) Verdict {
	d := m.sides[s.lane.ex.index]
	if !f.On(d.proc) {
		m.t.Error("started on a processor that the frame does not own")
	}
	if m.rough && d.rnd.IntN(16) == 0 {
		return Refused
	}
	if len(d.started) >= d.room {
		d.refused = true
		return Busy
	}
	if n := m.at.Add(1); m.depth != 0 && n > 2*m.depth { // two units
		m.t.Errorf("%d SRBs at the adapter", n)
	}
	d.started = append(d.started, s)
	return Pending
}

// complete ends some of what the side has.
func (d *side) complete(f *dispatch.Frame) {
	for n := d.rnd.IntN(4); n > 0 && len(d.started) > 0; n-- {
		i := d.rnd.IntN(len(d.started))
		s := d.started[i]
		d.started[i] = d.started[len(d.started)-1]
		d.started = d.started[:len(d.started)-1]
		s.Status, s.SCSIStatus = StatusSuccess, 0
		if d.rnd.IntN(8) == 0 && len(d.started) > 0 {
			s.Status, s.SCSIStatus = StatusError, scsi.StatusTaskSetFull
		}
		d.m.at.Add(-1)
		d.m.a.Complete(f, s)
	}
	d.room = 1 + d.rnd.IntN(6)
	if d.refused && len(d.started) < d.room {
		d.refused = false
		d.m.a.Ready(f, d.m.target)
	}
}

func runRace(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	procs := []*dispatch.Processor{dispatch.New("a", dispatch.WithBudget(4, time.Millisecond)), dispatch.New("b")}
	defer procs[0].Close()
	defer procs[1].Close()
	port, err := New(Config{Processors: procs})
	if err != nil {
		t.Fatal(err)
	}
	m := &racer{t: t, depth: int32(1 + rnd.IntN(2)), rough: seed%2 == 0}
	m.target = newTarget(nil, TargetConfig{}, 2)
	for i, p := range procs {
		d := &side{m: m, proc: p, index: i, rnd: rand.New(rand.NewPCG(seed, uint64(3+i))), room: 2}
		d.work.Init(p, d.complete)
		m.sides = append(m.sides, d)
		if i == 0 || seed%3 != 0 {
			m.target.channels[i].Store(new(channelOf)) // else processor b sends over a's
		}
	}
	if _, err := port.AddAdapter(t.Context(), "race", m); err != nil {
		t.Fatal(err)
	}
	var units []*Unit
	for i := range 2 {
		path := &Path{adapter: m.a, target: m.target}
		u := newUnit(port, scsi.UnitID(fmt.Sprint(i)), scsi.StandardInquiry{}, path)
		path.unit = u
		u.SetDepth(int(m.depth))
		m.target.addUnit(u)
		port.units = append(port.units, u)
		units = append(units, u)
	}
	if seed%4 == 3 {
		m.depth = 0
	}

	// Few SRBs and no pauses: then nobody but the port itself wakes what is parked.
	srbs, uses, calm := 2+rnd.IntN(6), int32(2000), true
	if seed%3 == 1 {
		srbs, uses, calm = 24, 300, false
	}
	var left sync.WaitGroup
	left.Add(srbs)
	type state struct{ submitted, completed atomic.Int32 }
	states := make([]state, srbs)
	for i := range srbs {
		st, u := &states[i], units[i%2]
		s := &SRB{CDBLength: 6}
		s.Done = func(f *dispatch.Frame, s *SRB) {
			n := st.completed.Add(1)
			if n != st.submitted.Load() {
				t.Errorf("SRB %d completed %d times, submitted %d times", i, n, st.submitted.Load())
			}
			if n == uses {
				left.Done()
				return
			}
			st.submitted.Add(1)
			u.Submit(f, s)
		}
		st.submitted.Add(1)
		var f dispatch.Frame
		procs[i/2%2].Raise(&f)
		u.Submit(&f, s)
		f.Lower()
	}

	// The world: completions on either processor, pauses and depths.
	quit := make(chan struct{})
	var world sync.WaitGroup
	for _, d := range m.sides {
		world.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
					d.work.Post()
					runtime.Gosched()
				}
			}
		})
	}
	world.Go(func() {
		for !calm {
			u := units[rnd.IntN(2)]
			switch rnd.IntN(3) {
			case 0:
				u.Pause()
				runtime.Gosched()
				u.Resume()
			case 1:
				if m.depth == 0 {
					u.SetDepth(1 + rnd.IntN(4))
				}
			}
			select {
			case <-quit:
				return
			default:
				runtime.Gosched()
			}
		}
	})
	finished := make(chan struct{})
	go func() { left.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-time.After(time.Minute):
		for i := range states {
			if n := states[i].completed.Load(); n < uses {
				t.Errorf("SRB %d: %d of %d", i, n, uses)
			}
		}
		for _, u := range units {
			t.Errorf("unit: %d in flight of %d, gate %#x, starved %b", u.inflight.Load(), u.depth.Load(), u.gate.Load(), u.starved.Load())
			for _, l := range u.lanes {
				t.Errorf("lane: queue %v, waiting %v, granted %d, waitBelow %d, out %d", l.queue.head != nil, l.waiting != nil, l.granted.Load(), l.waitBelow, l.outN)
			}
		}
		panic("nothing moves any more")
	}
	close(quit)
	world.Wait()
	for i, u := range units {
		if n := u.inflight.Load(); n != 0 {
			t.Errorf("unit %d: %d counted at the adapter with nothing outstanding", i, n)
		}
	}
	if err := port.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
