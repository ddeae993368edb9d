package miniport

import "minisrp/verbs/dispatch"

// waiters are the lanes that wait for room in one channel, those that came first in
// front. One that comes while others wait goes to the end, so that a unit that submits
// from its completions does not take all the room.
//
// Ownership: by the frame that owns the channel's processor.
type waiters struct{ head, tail *lane }

func (q *waiters) push(l *lane) {
	if l.waiting != nil {
		return
	}
	l.waiting, l.nextWaiting = q, nil
	if q.tail == nil {
		q.head = l
	} else {
		q.tail.nextWaiting = l
	}
	q.tail = l
}

func (q *waiters) pop() *lane {
	l := q.head
	if q.head = l.nextWaiting; q.head == nil {
		q.tail = nil
	}
	l.waiting, l.nextWaiting = nil, nil
	return l
}

// serve gives each lane a turn, until all had theirs or there is no room again.
func (q *waiters) serve(f *dispatch.Frame) {
	for q.head != nil {
		l := q.pop()
		l.turn = true
		l.restart(f)
		l.turn = false
		if l.waiting == q {
			return
		}
	}
}

// Ready tells the port that StartIO, which said Busy for the target on the frame's
// processor, may say otherwise now, also because its channel is gone.
// Level: Dispatch, owning the processor.
//
//level:dispatch noalloc
func (a *Adapter) Ready(f *dispatch.Frame, t *Target) {
	for i, e := range a.port.execs {
		if f.On(e.proc) {
			t.waiters[i].serve(f)
			return
		}
	}
}
