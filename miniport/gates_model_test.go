package miniport

import (
	"fmt"
	"testing"

	"minisrp/test/interleave"
)

// gateModel runs the real gates under a scheduler of its own at every shared access.
// Each lane starts srbs SRBs, one after the other, each of which leaves at any time; a
// lane that was told no waits until it is woken, and nobody wakes it but the gates. A
// pauser closes the gate, waits for the last to leave, and opens it again.
type gateModel struct {
	interleave.Run
	g       gates
	lanes   []modelLane
	inside  int
	paused  bool // the gate is closed and the last has left
	idle    bool // somebody has said that nobody is inside any more
	most    int
	trouble error
}

type modelLane struct {
	granted int
	queued  bool // woken
	left    int  // SRBs to start
	out     int  // SRBs started
}

func newGateModel(lanes, srbs, depth int, pause bool) *gateModel {
	m := &gateModel{lanes: make([]modelLane, lanes), most: depth}
	m.g.depth.Store(int32(depth))
	m.g.trace = m.At
	for i := range m.lanes {
		l := &m.lanes[i]
		l.left, l.queued = srbs, true
		m.Serve(fmt.Sprintf("lane %d", i), func() bool { return l.queued || l.out > 0 }, func() { m.step(i) })
	}
	if pause {
		m.Go("pauser", nil, func() {
			m.g.gate.Add(1)
			m.idle = false
			m.At()
			if m.g.inflight.Load() != 0 {
				m.When(func() bool { return m.idle })
			}
			if m.g.inflight.Load() == 0 { // else somebody was counted for a moment: it looks again
				m.paused = true
				if m.inside != 0 {
					m.fail("%d inside behind a gate that is closed, with none counted", m.inside)
				}
				m.At()
				m.paused = false
			}
			m.g.gate.Add(-1)
			for i := range m.lanes {
				m.lanes[i].queued = true
			}
		})
	}
	return m
}

func (m *gateModel) fail(format string, a ...any) {
	if m.trouble == nil {
		m.trouble = fmt.Errorf(format, a...)
	}
}

// step is what a lane's processor does for it: it lets one SRB leave, if one is there
// and the lane was not woken; else it starts what it can, and gives back what it
// has no use for.
func (m *gateModel) step(i int) {
	l := &m.lanes[i]
	if !l.queued {
		l.out--
		m.inside--
		m.wake(m.g.leave())
	}
	l.queued = false
	for l.left > 0 {
		granted := l.granted > 0
		if granted {
			l.granted--
		} else if m.g.gate.Load() != 0 {
			break
		}
		ok, w := m.g.enter(i, granted)
		m.wake(w)
		if !ok {
			break
		}
		l.left--
		l.out++
		m.inside++
		if m.inside > m.most || m.paused {
			m.fail("%d inside, depth %d, paused %v", m.inside, m.most, m.paused)
		}
	}
	for l.granted > 0 {
		l.granted--
		m.wake(m.g.leave())
	}
}

func (m *gateModel) wake(w wakes) {
	if w.granted >= 0 {
		m.lanes[w.granted].granted++
		m.lanes[w.granted].queued = true
	}
	for i := range m.lanes {
		if w.lanes>>i&1 != 0 {
			m.lanes[i].queued = true
		}
	}
	m.idle = m.idle || w.idle
}

// check runs the model and says what went wrong.
func (m *gateModel) check(choose interleave.Chooser) error {
	if err := m.Finish(choose); err != nil {
		m.fail("%v", err)
	}
	for i := range m.lanes {
		if l := &m.lanes[i]; l.left != 0 || l.out != 0 || l.granted != 0 {
			m.fail("lane %d: %+v; %d counted of %d, starved %b", i, *l, m.g.inflight.Load(), m.g.depth.Load(), m.g.starved.Load())
		}
	}
	if n := m.g.inflight.Load(); n != 0 {
		m.fail("%d counted at the end", n)
	}
	return m.trouble
}

// TestNoLaneIsParkedWhileThereIsRoom holds, in every order in which lanes can meet, that
// each SRB is started (no wake-up is lost), that the depth is kept, that nobody is inside
// once a closed gate has drained, and that the last to leave says so (E19, E20).
//
// That it can fail was tried: a lane that says that it waits only after it has looked, a
// leave that does not look for lanes again, a lane that does not try again when there is a
// place after all, a gate that is not looked at again after counting, and a place that is
// taken back without a word are found.
func TestNoLaneIsParkedWhileThereIsRoom(t *testing.T) {
	for _, c := range []struct {
		lanes, srbs, depth int
		pause              bool
	}{{2, 2, 1, false}, {3, 1, 1, false}, {3, 2, 2, false}, {4, 2, 2, false}, {2, 1, 1, true}, {2, 2, 1, true}, {3, 2, 2, true}} {
		t.Run(fmt.Sprintf("%d lanes of %d, depth %d, pause %v", c.lanes, c.srbs, c.depth, c.pause), func(t *testing.T) {
			n := uint64(20000)
			if testing.Short() {
				n = 500
			}
			for seed := range n {
				if err := newGateModel(c.lanes, c.srbs, c.depth, c.pause).check(interleave.Random(seed)); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			interleave.Search(int(n), func(choose interleave.Chooser) {
				if err := newGateModel(c.lanes, c.srbs, c.depth, c.pause).check(choose); err != nil {
					t.Error(err)
				}
			}, t.Failed)
		})
	}
}
