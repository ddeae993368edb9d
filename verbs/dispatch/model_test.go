package dispatch

import (
	"iter"
	"math/rand/v2"
	"testing"
)

// model runs the real code under a scheduler: each actor is a coroutine that
// stops at every access to shared state (Processor.at), and a chooser decides who
// goes on. So every order in which goroutines could have met can be had, and had
// again.
type model struct {
	t      *testing.T
	p      *Processor
	actors []*actor
	cur    *actor

	dpcs   []DPC
	queued []int // times a push was begun
	ran    []int
	dirty  []bool // pushed since its last run began
	inside int    // DPCs running now
}

type actor struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	ready func() bool // nil: always
	done  bool
}

func newModel(t *testing.T, dpcs, budget int) *model {
	m := &model{t: t, dpcs: make([]DPC, dpcs), queued: make([]int, dpcs), ran: make([]int, dpcs), dirty: make([]bool, dpcs)}
	m.p = NewManual("model", WithBudget(budget, 1<<62))
	m.p.served = true
	m.p.trace = func(point) { m.cur.yield(struct{}{}) }
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

func (m *model) spawn(ready func() bool, fn func()) {
	a := &actor{ready: ready}
	a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		a.yield = yield
		fn()
		a.done = true
	})
	m.actors = append(m.actors, a)
}

// server stands for the processor's goroutine.
func (m *model) server(submitters int) func() {
	return func() {
		for {
			m.p.at(pointServe)
			select {
			case <-m.p.wake:
				m.p.serve()
			default:
				if m.finished(submitters) {
					return
				}
			}
		}
	}
}

func (m *model) finished(n int) bool {
	for _, a := range m.actors[:n] {
		if !a.done {
			return false
		}
	}
	return len(m.p.wake) == 0
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

// run goes on until every actor has ended. choose picks among the n that can go.
func (m *model) run(choose func(n int) int) {
	for steps := 0; ; steps++ {
		var can []*actor
		for _, a := range m.actors {
			if !a.done && (a.ready == nil || a.ready()) {
				can = append(can, a)
			}
		}
		if len(can) == 0 {
			break
		}
		if steps > 5000 {
			m.t.Fatalf("no end after %d steps", steps)
		}
		m.cur = can[choose(len(can))]
		m.cur.next()
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
	for _, a := range m.actors {
		a.stop()
	}
}

// scenario: two submitters that raise, queue and lower, one poster without a
// frame, and the processor's goroutine; a budget of one DPC a drain makes every
// drain hand over.
func scenario(t *testing.T, budget int) *model {
	m := newModel(t, 2, budget)
	for i := range 2 {
		m.spawn(nil, func() {
			var f Frame
			m.p.Raise(&f)
			m.push(&f, i)
			f.Lower()
		})
	}
	m.spawn(nil, func() { m.push(nil, 1) })
	m.spawn(func() bool { return len(m.p.wake) > 0 || m.finished(3) }, m.server(3))
	return m
}

// TestDrainFlagNoItemWithoutOwner holds that whatever order goroutines meet in,
// every queued DPC runs after it was queued, one at a time, and the flag ends idle.
func TestDrainFlagNoItemWithoutOwner(t *testing.T) {
	for _, budget := range []int{1, 64} {
		t.Run("random", func(t *testing.T) {
			for seed := range uint64(4000) {
				r := rand.New(rand.NewPCG(seed, uint64(budget)))
				scenario(t, budget).run(func(n int) int { return r.IntN(n) })
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
		t.Run("bounded search", func(t *testing.T) {
			schedules := search(6000, func(choose func(int) int) {
				scenario(t, budget).run(choose)
			}, t.Failed)
			t.Logf("%d schedules", schedules)
		})
	}
}

// search runs body with every sequence of choices in depth-first order, up to a
// number of runs, and returns how many it made.
func search(most int, body func(choose func(n int) int), stop func() bool) int {
	var path, width []int
	for runs := 1; ; runs++ {
		depth := 0
		body(func(n int) int {
			if depth == len(path) {
				path, width = append(path, 0), append(width, n)
			}
			width[depth] = n
			c := min(path[depth], n-1)
			depth++
			return c
		})
		path, width = path[:depth], width[:depth]
		i := depth - 1
		for i >= 0 && path[i] == width[i]-1 {
			i--
		}
		if i < 0 || runs == most || stop() {
			return runs
		}
		path[i]++
		path, width = path[:i+1], width[:i+1]
	}
}

// TestModelCanFail holds that the model sees a lost item: a Lower that does not
// look at the queue again after it has cleared the flag.
func TestModelCanFail(t *testing.T) {
	probe := &testing.T{}
	m := newModel(probe, 1, 64)
	m.spawn(nil, func() {
		m.p.take()
		m.p.at(pointRelease)
		m.p.flag.Store(flagIdle) // no re-check
	})
	m.spawn(nil, func() {
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
