package lun

import (
	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// taskSet is the tasks of one unit, or of the LUNs without a unit, in order of arrival (SAM-5 8). It says which may
// run, and which task management function waits for which task.
//
// Ownership: the processor of the server.
type taskSet struct {
	head, tail *Task
	count      int
	seq        uint64
	heads      int // HEAD OF QUEUE tasks in the set
	ordered    int // ORDERED tasks in the set
	exclusive  int // tasks in the set that let no other touch their blocks, as far as they have begun
	dormant    int
	functions  *TMF // those that wait for tasks to leave, the latest first
}

// enter appends t and reports whether it may run at once (SAM-5 8.7): a HEAD OF QUEUE task does; a SIMPLE one
// waits for older ORDERED ones, and an ORDERED one for all that are there.
func (q *taskSet) enter(t *Task) bool {
	q.seq++
	t.seq = q.seq
	t.set = q
	t.prev, t.next = q.tail, nil
	if q.tail == nil {
		q.head = t
	} else {
		q.tail.next = t
	}
	q.tail = t
	q.count++
	run := true
	switch t.Attribute {
	case scsi.TaskHeadOfQueue:
		q.heads++
	case scsi.TaskOrdered:
		run = q.count == 1
		q.ordered++
	default:
		run = q.ordered == 0
	}
	if !run {
		q.dormant++
	}
	return run
}

// leave removes t, and lets go on what waited for it.
func (q *taskSet) leave(f *dispatch.Frame, t *Task) {
	if t.prev == nil {
		q.head = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		q.tail = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next, t.set = nil, nil, nil
	q.count--
	switch t.Attribute {
	case scsi.TaskHeadOfQueue:
		q.heads--
	case scsi.TaskOrdered:
		q.ordered--
	}
	if t.counted {
		q.exclusive--
	}
	if q.dormant > 0 {
		q.wake(f)
	}
	if t.aborted && !t.fenced {
		q.countOff(f, t)
	}
}

// wake lets run what may, oldest first.
//
//level:dispatch noalloc
func (q *taskSet) wake(f *dispatch.Frame) {
	barrier := false // an ORDERED task is older
	for t := q.head; t != nil; t = t.next {
		switch {
		case t.Attribute == scsi.TaskHeadOfQueue:
			q.enable(f, t)
		case t.Attribute == scsi.TaskOrdered:
			if t == q.head && q.heads == 0 {
				q.enable(f, t)
			}
			barrier = true
		case !barrier:
			q.enable(f, t)
		}
		if barrier && q.heads == 0 {
			return
		}
	}
}

// enable queues a dormant task's deferred call, which brings it on.
func (q *taskSet) enable(f *dispatch.Frame, t *Task) {
	if t.state != taskDormant || t.enabled || t.parked && !t.aborted && q.mustWait(t) {
		return
	}
	t.enabled = true
	q.dormant--
	t.dpc.Queue(f)
}

// mustWait reports whether t, which may run as far as its attribute says, touches blocks that another task touches,
// and one of the two is to have them for itself. It waits for those that have begun, and for older ones that wait as
// it does, so that nobody waits for ever; HEAD OF QUEUE tasks overtake the latter.
func (q *taskSet) mustWait(t *Task) bool {
	if q.exclusive == 0 && !t.exclusive {
		return false
	}
	if t.exclusive && !t.counted {
		t.counted = true
		q.exclusive++
	}
	for o := q.head; o != nil; o = o.next {
		if o == t || !o.exclusive && !t.exclusive || !o.overlaps(t) {
			continue
		}
		if o.state != taskDormant || o.parked && o.seq < t.seq && t.Attribute != scsi.TaskHeadOfQueue {
			return true
		}
	}
	return false
}

// park makes a task that had begun dormant again, until enable finds that it need not wait any more.
func (q *taskSet) park(t *Task) {
	t.state, t.parked, t.enabled = taskDormant, true, false
	q.dormant++
}

// overlaps says whether both tasks touch a block. One that has nothing left to move touches none.
func (t *Task) overlaps(o *Task) bool {
	if !t.touches() || !o.touches() {
		return false
	}
	return t.whole || o.whole || t.off < o.off+o.length && o.off < t.off+t.length
}

func (t *Task) touches() bool {
	return t.kind > kindFlush && (t.state != taskFinished || t.In > 0)
}
