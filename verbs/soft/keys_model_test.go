package soft

import (
	"fmt"
	"testing"

	"minisrp/test/interleave"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// keyModel runs one window's key with the scheduler at every access to its state:
// copies under the key, invalidations, bindings and the end of the window.
type keyModel struct {
	interleave.Run
	t *keyTable
	e *key
	d *pd
	p *dispatch.Processor

	now      uint32         // the key that is bound, as far as consumers know
	using    map[uint64]int // accesses under way, by life
	ended    map[uint64]int // invalidations that completed, by life
	binding  int            // bindings that write the fields
	gone     bool           // the window is destroyed
	bad      []string
	log      []string
	bound    int
	retained int // accesses that kept an invalidation waiting
}

func newKeyModel() *keyModel {
	m := &keyModel{t: &keyTable{}, d: &pd{}, p: dispatch.NewManual("m"), using: map[uint64]int{}, ended: map[uint64]int{}}
	m.t.entries.Store(new([]*key))
	m.e = m.t.alloc()
	m.e.pd.Store(m.d)
	m.e.state.Or(window)
	m.bindWith(1)
	m.e.trace = func(ready func() bool) { m.When(ready) }
	return m
}

func (m *keyModel) wrong(format string, args ...any) {
	m.bad = append(m.bad, fmt.Sprintf(format, args...))
}

// bindWith does what the engine does, with byte b of the key.
func (m *keyModel) bindWith(b uint32) {
	if !m.e.claim() {
		return
	}
	if m.gone {
		m.wrong("bound after its end")
	}
	for life, n := range m.using {
		if n != 0 {
			m.wrong("bound while %d accesses of life %d are under way", n, life)
		}
	}
	if m.binding++; m.binding != 1 {
		m.wrong("two bindings write the fields")
	}
	m.At()
	m.e.base = uint64(b)
	m.binding--
	m.now = m.e.index<<8 | b
	m.e.publish(m.now, window)
	m.bound++
}

// copier accesses memory under whatever key it heard of.
func (m *keyModel) copier(k uint32) {
	if !m.e.take(k) {
		return
	}
	life := roundOf(m.e.state.Load())
	m.using[life]++
	if m.ended[life] != 0 {
		m.wrong("access to life %d, which has ended", life)
	}
	if m.e.base != uint64(k&0xff) {
		m.wrong("key %#x reads the fields of key %#x", k&0xff, m.e.base)
	}
	m.At()
	m.using[life]--
	m.e.drop()
}

// invalidate does what an engine does with LOCAL_INV of key k, until it is over.
func (m *keyModel) invalidate(name string, k uint32) {
	var mv mover
	var w dispatch.DPC
	fired := 0
	w.Init(m.p, func(*dispatch.Frame) { fired++ })
	life := roundOf(m.e.state.Load())
	if !mv.invalidate(m.t, k, m.d, &w) {
		return
	}
	waited := mv.ending()
	if waited {
		m.retained++
		life = mv.round
		m.When(func() bool { m.p.RunUntilIdle(); return fired > 0 })
		if !mv.ended() {
			m.wrong("%s was woken before its key was dead", name)
		}
		m.At()
	}
	m.p.RunUntilIdle()
	if fired != boolInt(waited) {
		m.wrong("%s was woken %d times; it waited: %v", name, fired, waited)
	}
	if m.using[life] != 0 {
		m.wrong("%s completed with %d accesses under way", name, m.using[life])
	}
	if m.ended[life]++; m.ended[life] != 1 {
		m.wrong("life %d was ended %d times", life, m.ended[life])
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func exploreKeys(t *testing.T, scenario func(m *keyModel)) (seen keyModel) {
	t.Helper()
	random, most := 8000, 15000
	if testing.Short() {
		random, most = random/10, most/10
	}
	run := func(choose interleave.Chooser) {
		m := newKeyModel()
		scenario(m)
		if err := m.Finish(choose); err != nil {
			m.wrong("%v", err)
		}
		if s := m.e.state.Load(); s&(useMask|dying|busy) != 0 {
			m.wrong("at the end: %d uses, dying %v, busy %v", s&useMask, s&dying != 0, s&busy != 0)
		}
		seen.bound += m.bound - 1
		seen.retained += m.retained
		if m.bad != nil {
			t.Errorf("%q", m.bad)
		}
	}
	for seed := range uint64(random) {
		if run(interleave.Random(seed)); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	interleave.Search(most, run, t.Failed)
	return seen
}

// A key that is invalidated is not valid again while in use, its invalidation
// completes when no access is left, and is told exactly once.
func TestModelKeyInvalidatedWhileInUse(t *testing.T) {
	seen := exploreKeys(t, func(m *keyModel) {
		k := m.now
		for _, name := range []string{"copier 1", "copier 2"} {
			m.Go(name, nil, func() { m.copier(k) })
		}
		m.Go("inv", nil, func() { m.invalidate("inv", k) })
		m.Go("bind", nil, func() { m.bindWith(2) })
		m.Go("late copier", nil, func() { m.copier(m.now) })
	})
	if seen.retained == 0 || seen.bound == 0 {
		t.Errorf("%d invalidations waited, %d windows were bound again: want both", seen.retained, seen.bound)
	}
}

// Of two invalidations of one key (LOCAL_INV and a SEND with invalidate) one wins,
// and its waiter is its own.
func TestModelKeyInvalidatedTwice(t *testing.T) {
	seen := exploreKeys(t, func(m *keyModel) {
		k := m.now
		m.Go("copier", nil, func() { m.copier(k) })
		for _, name := range []string{"inv 1", "inv 2"} {
			m.Go(name, nil, func() { m.invalidate(name, k) })
		}
		m.Go("again", nil, func() {
			m.bindWith(2)
			m.invalidate("again", m.e.index<<8|2)
		})
	})
	if seen.retained == 0 || seen.bound == 0 {
		t.Errorf("%d invalidations waited, %d windows were bound again: want both", seen.retained, seen.bound)
	}
}

// Two QPs that bind one window do not meet in its fields.
func TestModelKeyBoundTwice(t *testing.T) {
	exploreKeys(t, func(m *keyModel) {
		k := m.now
		m.Go("inv", nil, func() { m.invalidate("inv", k) })
		m.Go("bind 2", nil, func() { m.bindWith(2); m.copier(m.e.index<<8 | 2) })
		m.Go("bind 3", nil, func() { m.bindWith(3); m.copier(m.e.index<<8 | 3) })
	})
}

// The end of a window waits for accesses, for an invalidation that waits for them,
// and for a binding; nothing begins after it.
func TestModelKeyRetired(t *testing.T) {
	exploreKeys(t, func(m *keyModel) {
		k := m.now
		m.Go("copier", nil, func() { m.copier(k) })
		m.Go("inv", nil, func() { m.invalidate("inv", k) })
		m.Go("bind", nil, func() { m.bindWith(2); m.copier(m.e.index<<8 | 2) })
		m.Go("end", nil, func() {
			m.e.retire()
			m.gone = true
			for life, n := range m.using {
				if n != 0 {
					m.wrong("ended with %d accesses of life %d under way", n, life)
				}
			}
			if m.binding != 0 {
				m.wrong("ended in the middle of a binding")
			}
			if s := m.e.state.Load(); s&^(byteMask|(1<<(64-roundBits)-1)<<roundBits) != 0 {
				m.wrong("ended in state %#x", s)
			}
		})
	})
}

// An SGE or a peer cannot use a window's key of another domain, and trying keeps
// nothing.
func TestKeyOfAnotherDomainIsLeftAlone(t *testing.T) {
	m := newKeyModel()
	var mv mover
	if mv.invalidate(m.t, m.now, &pd{}, nil) {
		t.Error("a key of another domain was invalidated")
	}
	var s span
	if m.t.local(&s, &verbs.SGE{LKey: m.now}, m.d, 0) {
		t.Error("a window's key was taken for local use")
	}
	if st := m.e.state.Load(); st&useMask != 0 || st&valid == 0 {
		t.Errorf("state %#x", st)
	}
}
