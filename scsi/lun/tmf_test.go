package lun_test

import (
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/verbs/dispatch"
)

// gated is a unit whose store holds requests back, with one worker.
func gated(t *testing.T) (s *lun.Server, g *luntest.Gate, a, b *initiator) {
	s = newServer()
	g = luntest.Pause(ram(testSize))
	attach(t, s, 0, lun.Config{Store: g, Workers: 1})
	a, b = newInitiator(t, s), newInitiator(t, s)
	a.attentions(0)
	b.attentions(0)
	return s, g, a, b
}

func writeOf(x *initiator, lba uint64, seed uint64) *command {
	return x.command(0, cdb(&scsi.RW{Write: true, LBA: lba, Blocks: 8}), pattern(seed, 8*testBlock), 0)
}

// start brings a write to where its store has it or it waits for a worker.
func (c *command) start() *command {
	if c.prepare() != lun.Proceed {
		panic("the command does not proceed")
	}
	c.fetch()
	if c.execute() != lun.Pending {
		panic("the command does not wait")
	}
	return c
}

// An abort of a write that the store is working on is answered after the write, and that of one that waits for a
// worker at once: the write is never begun.
func TestAbortOfRunningAndQueuedWrites(t *testing.T) {
	_, g, a, _ := gated(t)
	g.Shut()
	running := writeOf(a, 0, 1).start()
	<-g.Arrived()
	queued := writeOf(a, 100, 2).start()

	second := a.begin(lun.AbortTask, 0, queued.Tag)
	if second.done != 1 || second.Response != lun.FunctionComplete {
		t.Fatalf("abort of a queued task: done %d times", second.done)
	}
	first := a.begin(lun.AbortTask, 0, running.Tag)
	if first.done != 0 {
		t.Fatal("an abort was answered while its task was writing")
	}
	g.Open()
	a.wait(func() bool { return running.ended > 0 && queued.ended > 0 })
	if first.done != 0 {
		t.Fatal("an abort was answered before its task was released")
	}
	for _, c := range []*command{running, queued} {
		if !c.Quiet || c.ended != 1 || !c.Aborted() {
			t.Errorf("aborted task: quiet %v, done %d times", c.Quiet, c.ended)
		}
		c.release()
	}
	if first.done != 1 || second.done != 1 {
		t.Errorf("answers: %d and %d", first.done, second.done)
	}
	a.expect(0, pattern(1, 8*testBlock)) // it was too late for this one
	a.expect(100, make([]byte, 8*testBlock))
}

// A target that executes a task late, after it was aborted, writes nothing, and the abort waits for it.
func TestLateExecuteWritesNothing(t *testing.T) {
	for name, store := range map[string]lun.Store{"ram": ram(testSize), "worker": luntest.Count(ram(testSize))} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			attach(t, s, 0, lun.Config{Store: store})
			x := newInitiator(t, s)
			x.immediate = true
			x.attentions(0)
			late := writeOf(x, 0, 1)
			late.prepare() // and the target fetches the data, for a long time
			m := x.begin(lun.AbortTask, 0, late.Tag)
			if m.done != 0 {
				t.Fatal("answered while the target was moving data")
			}
			late.fetch()
			if late.execute() != lun.Done || !late.Quiet || late.Status != scsi.StatusTaskAborted {
				t.Fatalf("late task: status %v, quiet %v", late.Status, late.Quiet)
			}
			if m.done != 0 {
				t.Fatal("answered before the task was released")
			}
			late.release()
			if m.done != 1 || m.Response != lun.FunctionComplete {
				t.Fatalf("done %d times, response %d", m.done, m.Response)
			}
			x.expect(0, make([]byte, 8*testBlock))
		})
	}
}

// An abort of a task that is not there is complete: it has ended (SAM-5 7.2).
func TestAbortOfUnknownTask(t *testing.T) {
	_, _, a, b := gated(t)
	c := writeOf(b, 0, 1)
	c.prepare()
	a.manage(lun.AbortTask, 0, 4711)
	a.manage(lun.AbortTask, 0, c.Tag+1<<40)
	if m := a.begin(lun.AbortTask, 9, c.Tag); m.Response != lun.IncorrectLUN || m.done != 1 {
		t.Errorf("at a LUN without a unit: %d", m.Response)
	}
	if m := a.begin(lun.Function(40), 0, c.Tag); m.Response != lun.FunctionRejected || m.done != 1 {
		t.Errorf("unknown function: %d", m.Response)
	}
	if c.Aborted() {
		t.Error("a task of another nexus, or another tag, was aborted")
	}
	c.fetch()
	c.execute()
	b.wait(func() bool { return c.ended > 0 })
	c.good().release()
}

// ABORT TASK SET means the nexus' own tasks; CLEAR TASK SET and LOGICAL UNIT RESET all of the unit's. Those of others
// end with TASK ABORTED, the own ones with nothing (SAM-5 5.7, TAS 1).
func TestWhoseTasksEndHow(t *testing.T) {
	for fn, all := range map[lun.Function]bool{lun.AbortTaskSet: false, lun.ClearTaskSet: true, lun.LogicalUnitReset: true} {
		_, g, a, b := gated(t)
		g.Shut()
		own, other := writeOf(a, 0, 1).start(), writeOf(b, 100, 2).start()
		<-g.Arrived()
		early, late := writeOf(a, 200, 3), writeOf(b, 300, 4)
		early.prepare()
		m := a.begin(fn, 0, 0)
		late.prepare() // after the function: not meant by it
		g.Open()
		a.wait(func() bool { return own.ended > 0 && other.ended > 0 })
		early.fetch()
		early.execute()
		for _, c := range []*command{own, other, early} {
			if m.done != 0 {
				t.Errorf("function %d: answered early", fn)
			}
			c.release()
		}
		if m.done != 1 || m.Response != lun.FunctionComplete {
			t.Errorf("function %d: done %d times, response %d", fn, m.done, m.Response)
		}
		if !own.Quiet || !early.Quiet {
			t.Errorf("function %d: own tasks end with %v and %v", fn, own.Status, early.Status)
		}
		if all && (other.Quiet || other.Status != scsi.StatusTaskAborted) || !all && other.Status != scsi.StatusGood {
			t.Errorf("function %d: another's task ends with %v, quiet %v", fn, other.Status, other.Quiet)
		}
		switch {
		case late.Aborted():
			t.Errorf("function %d: a later task was aborted", fn)
		case late.verdict == lun.Proceed:
			late.fetch()
			late.execute()
			b.wait(func() bool { return late.ended > 0 })
			late.good().release()
		case fn == lun.LogicalUnitReset:
			late.check(scsi.KeyUnitAttention, scsi.ASCTargetReset).release()
		default:
			t.Errorf("function %d: a later task does not proceed", fn)
		}
		a.attentions(0)
		a.expect(200, make([]byte, 8*testBlock))
	}
}

// Two functions that wait for the same tasks are both answered, once.
func TestFunctionsThatOverlap(t *testing.T) {
	_, g, a, b := gated(t)
	g.Shut()
	c := writeOf(a, 0, 1).start()
	<-g.Arrived()
	ms := []*function{a.begin(lun.AbortTask, 0, c.Tag), b.begin(lun.LogicalUnitReset, 0, 0), a.begin(lun.AbortTaskSet, 0, 0)}
	g.Open()
	a.wait(func() bool { return c.ended > 0 })
	for _, m := range ms {
		if m.done != 0 {
			t.Error("answered early")
		}
	}
	c.release()
	for i, m := range ms {
		if m.done != 1 || m.Response != lun.FunctionComplete {
			t.Errorf("function %d: done %d times", i, m.done)
		}
	}
	if !c.Quiet {
		t.Error("a task that its own nexus has aborted must stay quiet")
	}
}

// Abort is the target's own: for a nexus that is gone.
func TestTargetAborts(t *testing.T) {
	s, g, a, _ := gated(t)
	g.Shut()
	running := writeOf(a, 0, 1).start()
	<-g.Arrived()
	queued, idle := writeOf(a, 100, 2).start(), writeOf(a, 200, 3)
	a.at(func(f *dispatch.Frame) {
		s.Abort(f, &running.Task)
		s.Abort(f, &queued.Task)
		s.Abort(f, &idle.Task) // not in a task set
	})
	g.Open()
	a.wait(func() bool { return running.ended > 0 && queued.ended > 0 })
	running.release()
	queued.release()
	if !running.Quiet || !queued.Quiet || idle.Aborted() {
		t.Error("the wrong tasks were aborted")
	}
	a.expect(100, make([]byte, 8*testBlock))
}

// ORDERED tasks wait for all that are older, SIMPLE ones for older ORDERED ones, HEAD OF QUEUE ones for none (SAM-5 8.6).
func TestTaskAttributes(t *testing.T) {
	_, _, a, b := gated(t)
	task := func(x *initiator, attr scsi.TaskAttribute, v lun.Verdict) *command {
		t.Helper()
		c := writeOf(x, 0, 1)
		c.Attribute = attr
		if got := c.prepare(); got != v {
			t.Fatalf("%v task: verdict %d, want %d", attr, got, v)
		}
		return c
	}
	end := func(c *command) {
		c.fetch()
		if c.execute() == lun.Pending {
			a.wait(func() bool { return c.ended > 0 })
		}
		c.good().release()
	}
	s1, s2 := task(a, scsi.TaskSimple, lun.Proceed), task(b, scsi.TaskSimple, lun.Proceed)
	o1 := task(a, scsi.TaskOrdered, lun.Blocked)
	s3, h1 := task(b, scsi.TaskSimple, lun.Blocked), task(b, scsi.TaskHeadOfQueue, lun.Proceed)
	o2, s4 := task(b, scsi.TaskOrdered, lun.Blocked), task(a, scsi.TaskSimple, lun.Blocked)
	ready := func(want ...*command) {
		t.Helper()
		for _, c := range []*command{o1, s3, o2, s4} {
			is := false
			for _, w := range want {
				is = is || w == c
			}
			if c.ready != is {
				t.Fatalf("task %d of the blocked ones: ready %v", c.Tag, c.ready)
			}
		}
	}
	end(s2)
	end(s1)
	ready()
	end(h1)
	ready(o1)
	end(o1)
	ready(o1, s3)
	m := a.begin(lun.AbortTask, 0, s4.Tag) // a blocked task has done nothing: no need to wait
	if m.done != 1 {
		t.Error("the abort of a blocked task waits")
	}
	ready(o1, s3, s4)
	if s4.verdict != lun.Finished || !s4.Quiet {
		t.Errorf("aborted blocked task: verdict %d", s4.verdict)
	}
	s4.release()
	ready(o1, s3, s4)
	end(s3)
	ready(o1, s3, o2, s4)
	end(o2)

	c := writeOf(a, 0, 1)
	c.Attribute = scsi.TaskACA
	c.run().check(scsi.KeyIllegalRequest, 0x4900)
}
