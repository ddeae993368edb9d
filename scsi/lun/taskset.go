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
	if q.dormant > 0 {
		q.wake(f)
	}
	if t.aborted && !t.fenced {
		q.countOff(f, t)
	}
}

// wake lets run what may, oldest first.
func (q *taskSet) wake(f *dispatch.Frame) {
	for t := q.head; t != nil; t = t.next {
		if t.Attribute == scsi.TaskOrdered {
			if t == q.head && q.heads == 0 {
				q.enable(f, t)
			}
			return
		}
		q.enable(f, t)
	}
}

// enable queues a dormant task's deferred call, which brings it on.
func (q *taskSet) enable(f *dispatch.Frame, t *Task) {
	if t.state == taskDormant && !t.enabled {
		t.enabled = true
		q.dormant--
		t.dpc.Queue(f)
	}
}
