package srp

import (
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Manage sends a task management function, or keeps it until there is a credit for it: it goes before commands, has
// the credit that they leave, and many may be under way. How long to wait for its end is the caller's affair; what
// ends all of them is Fail.
// Level: Dispatch, on the channel's processor. Errors: ErrDown, ErrNotOutstanding, ErrInvalidRequest.
//
//level:dispatch noalloc
func (c *Channel) Manage(f *dispatch.Frame, t *TaskRequest) error {
	c.mustOwn(f)
	switch {
	case c.state != chanUp && c.state != chanLeaving:
		return ErrDown
	case t.Done == nil || t.busy:
		return ErrInvalidRequest
	}
	t.tag = ^uint64(0)
	if t.Function == AbortTask {
		r := t.Victim
		if r == nil || r.ch != c || r.slot == nil || r.slot.state != slotSent {
			return ErrNotOutstanding
		}
		t.tag = r.Tag()
	}
	t.busy = true
	c.waiting.push(t)
	c.pump(f)
	return nil
}

// pump sends functions that wait, as far as credits and send buffers go.
func (c *Channel) pump(f *dispatch.Frame) {
	for c.waiting.head != nil && c.credit.task() {
		i := 0
		for i < len(c.tasks) && c.tasks[i].used {
			i++
		}
		if i == len(c.tasks) {
			return
		}
		c.sendTask(f, i, c.waiting.pop())
		if c.state == chanFailing {
			return
		}
	}
}

func (c *Channel) sendTask(f *dispatch.Frame, i int, t *TaskRequest) {
	s := &c.tasks[i]
	s.gen++
	s.req, s.used, s.sendDone = t, true, false
	c.tmf = TaskManagement{
		Tag: tagOf(uint16(c.index), uint16(len(c.slots)+i), s.gen), LUN: t.LUN.Bytes(), Function: t.Function, TaskTag: t.tag,
	}
	n, _ := c.tmf.Encode(s.tx)
	wr := &c.wrs[0]
	*wr = verbs.WR{ID: wrTask | uint64(i), Op: verbs.Send, Flags: verbs.Signaled, NumSGE: 1}
	wr.SGE[0] = verbs.SGE{Addr: s.txAddr, Length: uint32(n), LKey: c.res.mr.LKey()}
	c.credit.take()
	c.stats.Tasks++
	if _, err := c.res.qp.Post(f, c.wrs[:1]); err != nil {
		c.fail(f, DownError{Cause: CauseTransport, Op: verbs.Send, Status: verbs.LocQPOpErr}) // ends t too
	}
}

// taskAnswered handles the response in c.rsp to a task management function.
func (c *Channel) taskAnswered(f *dispatch.Frame, s *taskSlot, gen uint32) {
	if s.gen != gen || s.req == nil {
		c.stale(gen, s.gen)
		return
	}
	c.stats.TaskResponses++
	c.credit.ended()
	t := s.req
	s.req, s.used = nil, !s.sendDone
	code, ok := c.rsp.ResponseCode()
	if !ok {
		// Without a code it does not say that the function was done.
		code = ResponseFailed
	}
	t.end(f, Completed, code)
}

func (t *TaskRequest) end(f *dispatch.Frame, o Outcome, code ResponseCode) {
	t.Outcome, t.Code, t.busy = o, code, false
	t.Done(f, t)
}
