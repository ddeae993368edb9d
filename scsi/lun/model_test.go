package lun_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
)

// modelTask is a write of one block of its own, with what the model knows of it.
type modelTask struct {
	*command
	lba      uint64
	nexus    int
	enabled  bool // may run: told by Prepare or TaskReady
	executed bool // Execute was called
	waits    bool // and said Pending
	released bool
	aborted  bool
	late     bool   // aborted before Execute
	fenced   []byte // the block as it was when an abort of the task was answered
}

type modelFunction struct {
	*function
	covers  []*modelTask
	checked bool
}

// model checks a unit's task set against the rules of SAM-5 8, and aborts against what they promise.
type model struct {
	store lun.Store
	x     [2]*initiator
	tasks []*modelTask // not released, in order of arrival
	all   []*modelTask
	fns   []*modelFunction
	lba   uint64
}

func (m *model) newTask(t *rapid.T) {
	if m.lba == testBlocks {
		t.Skip("out of blocks")
	}
	k := &modelTask{lba: m.lba, nexus: rapid.IntRange(0, 1).Draw(t, "nexus")}
	m.lba++
	k.command = m.x[k.nexus].command(0, cdb(&scsi.RW{Write: true, LBA: k.lba, Blocks: 1}), bytes.Repeat([]byte{1}, testBlock), 0)
	k.Attribute = rapid.SampledFrom([]scsi.TaskAttribute{
		scsi.TaskSimple, scsi.TaskSimple, scsi.TaskSimple, scsi.TaskOrdered, scsi.TaskHeadOfQueue}).Draw(t, "attribute")
	m.all, m.tasks = append(m.all, k), append(m.tasks, k)
	if v := k.prepare(); v == lun.Finished {
		t.Fatalf("a write ends in Prepare: %v", k.err())
	} else if v == lun.Proceed {
		k.ready = true
	}
}

// mayRun says what SAM-5 8.6 does about task i, which is not running yet.
func (m *model) mayRun(i int) bool {
	k := m.tasks[i]
	if k.aborted || k.Attribute == scsi.TaskHeadOfQueue {
		return true
	}
	for j, o := range m.tasks {
		switch {
		case j < i && (k.Attribute == scsi.TaskOrdered || o.Attribute == scsi.TaskOrdered):
			return false
		case j > i && k.Attribute == scsi.TaskOrdered && o.Attribute == scsi.TaskHeadOfQueue:
			return false
		}
	}
	return true
}

// step takes a task that the target has one step on.
func (m *model) step(t *rapid.T) {
	var can []*modelTask
	for _, k := range m.tasks {
		if k.ready && (!k.waits || k.ended > 0) {
			can = append(can, k)
		}
	}
	if len(can) == 0 {
		t.Skip("no task can go on")
	}
	k := rapid.SampledFrom(can).Draw(t, "task")
	if k.verdict == lun.Finished || k.executed {
		m.release(t, k)
		return
	}
	k.fetch()
	k.executed, k.late = true, k.aborted
	k.waits = k.execute() == lun.Pending
}

func (m *model) release(t *rapid.T, k *modelTask) {
	want := scsi.StatusGood
	if k.aborted && k.Status != scsi.StatusGood {
		want = scsi.StatusTaskAborted
	}
	if k.Status != want || k.ended > 1 || k.Quiet && !k.aborted {
		t.Fatalf("task ends with %v, quiet %v, aborted %v, done %d times", k.Status, k.Quiet, k.aborted, k.ended)
	}
	wrote := m.block(k)[0] == 1
	if wrote != (k.Status == scsi.StatusGood) && !(wrote && k.aborted && k.waits) {
		t.Fatalf("status %v, written %v", k.Status, wrote)
	}
	if k.late && wrote {
		t.Fatal("a task that was aborted before it was executed has written")
	}
	k.released = true
	for i, o := range m.tasks {
		if o == k {
			m.tasks = append(m.tasks[:i:i], m.tasks[i+1:]...)
			break
		}
	}
	k.command.release()
}

func (m *model) manage(t *rapid.T) {
	fn := rapid.SampledFrom([]lun.Function{lun.AbortTask, lun.AbortTask, lun.AbortTaskSet, lun.ClearTaskSet}).Draw(t, "function")
	by := rapid.IntRange(0, 1).Draw(t, "by")
	var tag uint64
	if len(m.all) > 0 {
		tag = rapid.SampledFrom(m.all).Draw(t, "victim").Tag
	}
	g := &modelFunction{}
	for _, k := range m.tasks {
		if fn == lun.ClearTaskSet || k.nexus == by && (fn == lun.AbortTaskSet || k.Tag == tag) {
			g.covers = append(g.covers, k)
			k.aborted = true
		}
	}
	m.fns = append(m.fns, g)
	g.function = m.x[by].begin(fn, 0, tag)
}

func (m *model) block(k *modelTask) []byte {
	b := make([]byte, testBlock)
	if err := m.store.Read(nil, [][]byte{b}, k.lba*testBlock); err != nil {
		panic(err)
	}
	return b
}

// check holds what is true after every step.
func (m *model) check(t *rapid.T) {
	m.x[0].server.Processor().RunUntilIdle()
	for i, k := range m.tasks {
		if may := m.mayRun(i); k.ready && !k.enabled && !may {
			t.Fatalf("task %d runs too early", i)
		} else if !k.ready && may {
			t.Fatalf("task %d may run and was not told", i)
		}
		k.enabled = k.ready
	}
	for _, g := range m.fns {
		if g.done > 1 {
			t.Fatalf("a function was answered %d times", g.done)
		}
		left := 0
		for _, k := range g.covers {
			if !k.released {
				left++
			}
			if !k.released && k.ready && k.enabled && k.verdict == lun.Proceed && !k.waits && g.done > 0 && k.fenced == nil {
				t.Fatal("a function was answered while the target had a task that it means")
			}
		}
		if left == 0 && g.done == 0 {
			t.Fatal("all tasks of a function are gone and it is not answered")
		}
		if g.done > 0 && !g.checked {
			g.checked = true
			for _, k := range g.covers {
				k.fenced = m.block(k)
			}
		}
	}
	for _, k := range m.all {
		if k.fenced != nil && !bytes.Equal(k.fenced, m.block(k)) {
			t.Fatal("a task wrote after its abort was answered")
		}
	}
}

// Task sets keep the order of SAM-5 8.6, answer every function once, and let no aborted task write afterwards.
func TestTaskSetModel(t *testing.T) {
	for name, over := range map[string]func(lun.Store) lun.Store{
		"at Dispatch": func(s lun.Store) lun.Store { return s },
		"by worker":   func(s lun.Store) lun.Store { return luntest.Count(s) },
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				m := &model{store: ram(testBlocks / 16 * testBlock)}
				s := newServer()
				u := must(lun.NewUnit(s.Processor(), lun.Config{Store: over(m.store), Serial: "model", Workers: 2}))
				if err := s.Attach(0, u); err != nil {
					rt.Fatal(err)
				}
				for i := range m.x {
					m.x[i] = newInitiator(t, s)
					m.x[i].immediate = true
					m.x[i].tag = uint64(i) << 32
					m.x[i].attentions(0)
				}
				rt.Repeat(map[string]func(*rapid.T){"new": m.newTask, "step": m.step, "manage": m.manage, "": m.check})
				for len(m.tasks) > 0 {
					m.x[0].wait(func() bool {
						for _, k := range m.tasks {
							if k.ready && (!k.waits || k.ended > 0) {
								return true
							}
						}
						return false
					})
					m.step(rt)
					m.check(rt)
				}
				if err := u.Close(t.Context()); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}
