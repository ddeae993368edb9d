package dispatch

import (
	"testing"

	"minisrp/test/interleave"
)

// model runs the real code with a scheduler of its own at every access to shared
// state (Processor.at).
type model struct {
	interleave.Run
	t *testing.T
	p *Processor

	dpcs   []DPC
	queued []int // times a push was begun
	ran    []int
	dirty  []bool // pushed since its last run began
	inside int    // DPCs running now
}

func newModel(t *testing.T, dpcs, budget int) *model {
	m := &model{t: t, dpcs: make([]DPC, dpcs), queued: make([]int, dpcs), ran: make([]int, dpcs), dirty: make([]bool, dpcs)}
	m.p = NewManual("model", WithBudget(budget, 1<<62))
	m.p.served = true
	m.p.trace = func(point) { m.At() }
	for i := range m.dpcs {
		m.dpcs[i].Init(m.p, func(f *Frame) {
			if m.inside++; m.inside != 1 {
				t.Errorf("DPC %d runs while another does: %d inside", i, m.inside)
			}
			if !f.On(m.p) {
				t.Errorf("DPC %d runs on a frame that does not own its processor", i)
			}
			m.dirty[i] = false
			m.p.at(pointPop) // others go on in the middle of a DPC
			m.ran[i]++
			m.inside--
		})
	}
	return m
}

// server stands for the processor's goroutine, until the submitters have ended.
func (m *model) server() {
	m.Go("server", nil, func() {
		for {
			m.When(func() bool { return len(m.p.wake) > 0 || m.Done("submitter") })
			select {
			case <-m.p.wake:
				m.p.serve()
			default:
				return
			}
		}
	})
}

func (m *model) push(f *Frame, i int) {
	m.queued[i]++
	m.dirty[i] = true
	if f != nil {
		m.dpcs[i].Queue(f)
	} else {
		m.dpcs[i].Post()
	}
}

// run goes on until every actor has ended.
func (m *model) run(choose interleave.Chooser) {
	if err := m.Finish(choose); err != nil {
		m.t.Error(err)
	}
	for i := range m.dpcs {
		if m.dirty[i] {
			m.t.Errorf("DPC %d was queued after its last run and never ran again: queued %d, ran %d", i, m.queued[i], m.ran[i])
		}
		if m.ran[i] > m.queued[i] {
			m.t.Errorf("DPC %d ran %d times, queued %d times", i, m.ran[i], m.queued[i])
		}
	}
	if m.p.flag.Load() != flagIdle || m.p.handed.Load() || !m.p.queue.Empty() || !m.p.pending.empty() {
		m.t.Errorf("at the end: flag %d, handed %v, queue empty %v, pending empty %v",
			m.p.flag.Load(), m.p.handed.Load(), m.p.queue.Empty(), m.p.pending.empty())
	}
}

// scenario: two submitters that raise, queue and lower, one poster without a
// frame, and the processor's goroutine; a budget of one DPC a drain makes every
// drain hand over.
func scenario(t *testing.T, budget int) *model {
	m := newModel(t, 2, budget)
	for i := range 2 {
		m.Go("submitter", nil, func() {
			var f Frame
			m.p.Raise(&f)
			m.push(&f, i)
			f.Lower()
		})
	}
	m.Go("submitter", nil, func() { m.push(nil, 1) })
	m.server()
	return m
}

// TestDrainFlagNoItemWithoutOwner holds that whatever order goroutines meet in,
// every queued DPC runs after it was queued, one at a time, and the flag ends idle.
func TestDrainFlagNoItemWithoutOwner(t *testing.T) {
	for _, budget := range []int{1, 64} {
		t.Run("random", func(t *testing.T) {
			for seed := range uint64(4000) {
				scenario(t, budget).run(interleave.Random(seed))
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
		t.Run("bounded search", func(t *testing.T) {
			schedules := interleave.Search(6000, func(choose interleave.Chooser) {
				scenario(t, budget).run(choose)
			}, t.Failed)
			t.Logf("%d schedules", schedules)
		})
	}
}

// TestModelCanFail holds that the model sees a lost item: a Lower that does not
// look at the queue again after it has cleared the flag.
func TestModelCanFail(t *testing.T) {
	probe := &testing.T{}
	m := newModel(probe, 1, 64)
	m.Go("submitter", nil, func() {
		m.p.take()
		m.p.at(pointRelease)
		m.p.flag.Store(flagIdle) // no re-check
	})
	m.Go("submitter", nil, func() {
		m.queued[0]++
		m.dirty[0] = true
		m.dpcs[0].push()
		if m.p.take() {
			t.Skip("the schedule below did not make the two meet")
		}
	})
	m.run(func(n int) int { return 0 + min(1, n-1)*boolInt(m.p.flag.Load() == flagHeld) })
	if !m.dirty[0] {
		t.Fatal("the broken release lost nothing: the model cannot see a lost item")
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
