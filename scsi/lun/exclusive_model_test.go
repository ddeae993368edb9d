package lun_test

import (
	"testing"

	"pgregory.net/rapid"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
)

// exclusiveTask is a task with the blocks that it touches, in a set where some are to be alone.
type exclusiveTask struct {
	*command
	first, last uint64
	alone       bool
	seq         int
}

func (k *exclusiveTask) active() bool {
	return k.ready && k.Status == scsi.StatusGood && k.verdict == lun.Proceed
}

func (k *exclusiveTask) conflicts(o *exclusiveTask) bool {
	return (k.alone || o.alone) && k.first <= o.last && o.first <= k.last
}

// No two tasks of which one is to be alone with its blocks are ever under way together, whatever their attributes, who
// is aborted, and in which order they end; and all of them end.
func TestExclusiveModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const blocks = 6
		s := newServer()
		u := must(lun.NewUnit(s.Processor(), lun.Config{Store: luntest.Count(ram(blocks * testBlock)), Serial: "model", Workers: 1}))
		if err := s.Attach(0, u); err != nil {
			rt.Fatal(err)
		}
		x := newInitiator(t, s)
		x.attentions(0)
		var tasks []*exclusiveTask
		seq := 0
		remove := func(k *exclusiveTask) {
			for i := range tasks {
				if tasks[i] == k {
					tasks = append(tasks[:i:i], tasks[i+1:]...)
					break
				}
			}
			k.release()
		}
		// step takes a task that can go on one step on.
		step := func(pick func(can []*exclusiveTask) *exclusiveTask) bool {
			var can []*exclusiveTask
			for _, k := range tasks {
				if k.ready && (k.Data == nil || k.ended > 0) {
					can = append(can, k)
				}
			}
			if len(can) == 0 {
				return false
			}
			k := pick(can)
			if k.verdict == lun.Finished || k.ended > 0 {
				remove(k)
				return true
			}
			k.fetch()
			if k.execute() == lun.Done { // aborted
				remove(k)
				return true
			}
			x.wait(func() bool { return k.ended > 0 })
			return true
		}
		rt.Repeat(map[string]func(*rapid.T){
			"new": func(rt *rapid.T) {
				k := &exclusiveTask{seq: seq}
				seq++
				k.first = uint64(rapid.IntRange(0, blocks-1).Draw(rt, "first"))
				n := rapid.IntRange(1, blocks-int(k.first)).Draw(rt, "blocks")
				k.last = k.first + uint64(n) - 1
				data := make([]byte, 2*n*testBlock)
				switch rapid.IntRange(0, 3).Draw(rt, "kind") {
				case 0:
					k.command = x.command(0, cdb(&scsi.RW{LBA: k.first, Blocks: uint32(n)}), nil, n*testBlock)
				case 1:
					k.command = x.command(0, cdb(&scsi.RW{Write: true, LBA: k.first, Blocks: uint32(n)}), data[:n*testBlock], 0)
				case 2:
					k.alone = true
					k.command = x.compareAndWrite(k.first, data[:n*testBlock], data[n*testBlock:])
				case 3:
					k.first, k.last = 0, blocks-1
					list := unmapList(scsi.Extent{LBA: 0, Blocks: 1})
					k.command = x.command(0, cdb(&scsi.Unmap{ParameterListLength: uint16(len(list))}), list, 0)
				}
				k.Attribute = rapid.SampledFrom([]scsi.TaskAttribute{
					scsi.TaskSimple, scsi.TaskSimple, scsi.TaskSimple, scsi.TaskOrdered, scsi.TaskHeadOfQueue}).Draw(rt, "attribute")
				tasks = append(tasks, k)
				k.ready = k.prepare() != lun.Blocked
			},
			"step": func(rt *rapid.T) {
				if !step(func(can []*exclusiveTask) *exclusiveTask { return rapid.SampledFrom(can).Draw(rt, "task") }) {
					rt.Skip("no task can go on")
				}
			},
			"abort": func(rt *rapid.T) {
				if len(tasks) == 0 {
					rt.Skip("no task")
				}
				x.begin(lun.AbortTask, 0, rapid.SampledFrom(tasks).Draw(rt, "victim").Tag)
			},
			"": func(rt *rapid.T) {
				x.server.Processor().RunUntilIdle()
				for i, k := range tasks {
					for _, o := range tasks[:i] {
						// One that has ended, or was aborted and has not begun, moves no data any more.
						if k.active() && o.active() && k.ended == 0 && o.ended == 0 && !k.Aborted() && !o.Aborted() && k.conflicts(o) {
							rt.Fatalf("tasks %d and %d are under way together", o.seq, k.seq)
						}
					}
				}
			},
		})
		for len(tasks) > 0 {
			x.server.Processor().RunUntilIdle()
			if !step(func(can []*exclusiveTask) *exclusiveTask { return can[0] }) {
				rt.Fatalf("%d tasks are left, and none can go on", len(tasks))
			}
		}
		if err := u.Close(t.Context()); err != nil {
			rt.Fatal(err)
		}
	})
}
