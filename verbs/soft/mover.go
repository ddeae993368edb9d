package soft

import (
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// mover copies the bytes of one request, in steps, and ends keys. The memory of both
// sides is kept, by the counts of its keys, from the first step until it has ended.
//
// Ownership: the engine's.
type mover struct {
	active   bool
	src, dst side
	left     uint64
	moved    uint64
	tap      Message

	// A key whose last access is waited for, and the life of it that is meant.
	dying *key
	round uint64
}

// side is a gather or scatter list with a place in it.
type side struct {
	spans [verbs.MaxSGE]span
	n     int // spans that may be in use
	i     int
	off   int
}

// span returns the span i, to be filled.
func (s *side) span(i uint8) *span {
	s.n = max(s.n, int(i)+1)
	return &s.spans[i]
}

// next returns the memory from the place on.
func (s *side) next() []byte {
	for s.i < s.n {
		if m := s.spans[s.i].mem[s.off:]; len(m) > 0 {
			return m
		}
		s.i, s.off = s.i+1, 0
	}
	return nil
}

func (s *side) release() {
	for i := range s.n {
		s.spans[i].release()
	}
	s.n = 0
}

func (s *side) stillValid() bool {
	for i := range s.n {
		if !s.spans[i].stillValid() {
			return false
		}
	}
	return true
}

func (m *mover) reset() {
	m.src.i, m.src.off, m.dst.i, m.dst.off = 0, 0, 0, 0
	m.left, m.moved = 0, 0
}

// abort gives back what is held; it is how a transfer ends, well or not.
func (m *mover) abort() {
	m.src.release()
	m.dst.release()
	m.active = false
	m.dying = nil
}

// move copies until the budget is used up. It asks to wait when there is more, with
// the engine queued again, or when the fabric's fault layer stalls it.
//
//level:dispatch noalloc
func (m *mover) move(f *dispatch.Frame, q *qp) (verbs.Status, bool) {
	op := q.sq[q.exec&q.sqMask].wr.Op
	for m.left > 0 {
		if q.budget <= 0 {
			q.away.Queue(f)
			return 0, true
		}
		q.budget -= stepCost
		if fl := q.dev.fabric.fault; fl != nil && fl.Step(f, q.num, op, m.moved) {
			return 0, true
		}
		// The key may have been invalidated since the last step: its last user is then
		// this copy, and ends here.
		if !m.src.stillValid() || !m.dst.stillValid() {
			return m.lost(op), false
		}
		m.step()
	}
	return verbs.Success, false
}

// step copies up to copyStep bytes.
func (m *mover) step() {
	for todo := min(m.left, copyStep); todo > 0; {
		s, d := m.src.next(), m.dst.next()
		n := copy(d[:min(uint64(len(d)), todo)], s)
		m.src.off += n
		m.dst.off += n
		todo -= uint64(n)
		m.left -= uint64(n)
		m.moved += uint64(n)
	}
}

// lost says what the requester learns when a key went during the copy.
func (m *mover) lost(op verbs.Opcode) verbs.Status {
	mine := &m.src
	if op == verbs.Read {
		mine = &m.dst
	}
	switch {
	case !mine.stillValid():
		return verbs.LocProtErr
	case op == verbs.Write || op == verbs.Read:
		return verbs.RemAccessErr
	}
	return verbs.RemOpErr
}

// invalidate ends the key k of a window in domain d. ended tells when no access
// under it is left, and w is queued then.
func (m *mover) invalidate(t *keyTable, k uint32, d *pd, w *dispatch.DPC) bool {
	e := t.get(k)
	if e == nil {
		return false
	}
	if e.endIdle(k, d) {
		return true
	}
	if !e.take(k) {
		return false
	}
	if e.state.Load()&window == 0 || e.pd.Load() != d {
		e.drop()
		return false
	}
	ok, done, round := e.end(w)
	if ok && !done {
		m.dying, m.round = e, round
	}
	return ok
}

// ending reports whether an invalidation is under way.
func (m *mover) ending() bool { return m.dying != nil }

// ended reports whether no invalidation is under way any more.
func (m *mover) ended() bool {
	if m.dying != nil && m.dying.dead(m.round) {
		m.dying = nil
	}
	return m.dying == nil
}
