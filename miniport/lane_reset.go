package miniport

import (
	"sync/atomic"

	"minisrp/verbs/dispatch"
)

// laneReset is a lane's part in the recovery of its unit: it resets what it has started,
// one path after the other, and answers the ladder.
//
// Ownership: the lane's, except asked, which the ladder sets, and answer, which it
// reads.
type laneReset struct {
	asked  atomic.Uint64 // round and step, see pack; 0: nothing
	answer atomic.Uint64 // round and 1 if all was reset

	step   step // of the reset under way; stepIdle: none
	round  uint64
	path   *Path // that is being reset
	loose  *Path // of a unit reset that was given up and may still come; nil: none
	tokens [stepBus + 1]Token
}

// ask has the lane do a step. An earlier one that it still does is given up.
func (r *laneReset) ask(f *dispatch.Frame, l *lane, round uint64, to step) {
	r.asked.Store(round<<8 | uint64(to))
	l.dpc.Queue(f)
}

// answered returns the lane's answer to a round, if it is there.
func (r *laneReset) answered(round uint64) (answered, ok bool) {
	a := r.answer.Load()
	return a>>1 == round, a&1 != 0
}

// initReset binds the tokens of the lane's resets.
func (l *lane) initReset() {
	for s := stepUnit; s <= stepBus; s++ {
		l.reset.tokens[s].init(l.ex.proc, func(f *dispatch.Frame, ok bool) { l.resetEnded(f, s, ok) })
	}
}

// beginReset does what the ladder has asked for. From here on the ladder's deadlines
// count, and not those of the SRBs.
func (l *lane) beginReset(f *dispatch.Frame, asked uint64) {
	r := &l.reset
	if r.step == stepUnit {
		r.loose = r.path
	}
	r.round, r.step = asked>>8, step(asked&0xff)
	for s := l.out; s != nil; s = s.nextOut {
		l.ex.wheel.cancel(s)
		s.stage = stageReset
	}
	l.resetNext(f)
}

// resetNext resets by the next path that something was started on.
func (l *lane) resetNext(f *dispatch.Frame) {
	r := &l.reset
	s := l.out
	for s != nil && r.step == stepUnit && s.released {
		s = s.nextOut // its task is not at the unit any more
	}
	switch {
	case s != nil:
		r.path = s.path
	case r.loose != nil && r.step != stepUnit:
		r.path = r.loose // it would end what is started afterwards
	default:
		l.answerReset(f, true)
		return
	}
	t := &r.tokens[r.step]
	if !t.arm() {
		l.answerReset(f, false) // one of an earlier recovery has not ended yet
		return
	}
	mp := r.path.adapter.mp
	switch r.step {
	case stepUnit:
		mp.ResetUnit(f, s, t)
	case stepTarget:
		mp.ResetTarget(f, r.path, t)
	case stepBus:
		mp.ResetBus(f, t)
	}
}

// resetEnded is told the end of a reset. One that has been given up does not count.
func (l *lane) resetEnded(f *dispatch.Frame, of step, ok bool) {
	r := &l.reset
	if of == stepUnit {
		r.loose = nil
	}
	if of != r.step {
		return
	}
	if !ok {
		l.answerReset(f, false)
		return
	}
	for s := l.out; s != nil; {
		next := s.nextOut
		if s.path == r.path {
			if of != stepUnit {
				// The adapter said that it has nothing of this path any more.
				l.answerReset(f, false)
				return
			}
			l.release(f, s)
		}
		s = next
	}
	if of != stepUnit && r.loose == r.path {
		r.loose = nil
	}
	l.resetNext(f)
}

func (l *lane) answerReset(f *dispatch.Frame, ok bool) {
	r := &l.reset
	a := r.round << 1
	if ok {
		a |= 1
	}
	r.step, r.path = stepIdle, nil
	r.answer.Store(a)
	l.unit.ladder.dpc.Queue(f)
}

// release takes back a started SRB whose task is not at the unit any more.
func (l *lane) release(f *dispatch.Frame, s *SRB) {
	s.released = true
	s.path.adapter.mp.ReleaseIO(f, s)
}
