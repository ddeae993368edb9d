package disk_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
	"minisrp/verbs/dispatch"
)

// TestModel compares a disk with a slice of bytes: random units, random requests on ranges that do not overlap, at the
// unit at the same time, whose commands end in random order, some of them after failures. Each request completes
// exactly once; what has succeeded reads as it should, and what was to be durable is.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(t, rt)
		defer m.rig.close()
		for range rapid.IntRange(1, 6).Draw(rt, "batches") {
			m.batch()
		}
	})
}

type model struct {
	*rapid.T
	rig   *rig
	block int
	count int // blocks
	want  []byte
	done  map[*disk.Request]int
}

func newModel(t *testing.T, rt *rapid.T) *model {
	b := func(name string) bool { return rapid.Bool().Draw(rt, name) }
	n := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(rt, name) }
	m := &model{T: rt, block: 512 << n("block", 0, 3), done: map[*disk.Request]int{}}
	m.count = n("blocks", 1, 200)
	c := disktest.Config{
		Capacity: scsi.Capacity{
			LastLBA: uint64(m.count - 1), BlockSize: uint32(m.block), PhysicalExponent: uint8(n("physical", 0, 4)),
			LowestAligned: uint16(n("lowest", 0, 8)), Provisioned: b("thin"), ReadsZeros: b("LBPRZ"),
		},
		Limits: &scsi.BlockLimits{
			MaxTransfer: uint32(n("transfer", 0, 40)), MaxPrefetch: uint32(n("prefetch", 0, 60)),
			MaxUnmapBlocks:      uint32(n("unmap", 0, 60)),
			MaxUnmapDescriptors: uint32(n("descriptors", 0, 3)), UnmapGranularity: uint32(n("granularity", 0, 9)),
			UnmapAligned: b("aligned"), UnmapAlignment: uint32(n("alignment", 0, 9)), MaxWriteSame: uint64(n("same", 0, 60)),
		},
		WriteCache: b("cache"), NoCachingPage: b("no page"), DPOFUA: b("FUA"), NoData: b("NDOB"),
		LBAStatus: b("LBA status"), Prefetch: b("prefetch"),
		MaxWriteSame: uint64(n("true same", 0, 80)),
		Provisioning: &scsi.Provisioning{Unmap: b("LBPU"), UnmapByWriteSame: b("LBPWS"), UnmapByWriteSame10: b("LBPWS10")},
	}
	if c.Capacity.ReadsZeros {
		c.Provisioning.ReadZeros = 1
	}
	for _, op := range []scsi.Opcode{
		scsi.OpUnmap, scsi.OpWriteSame10, scsi.OpWriteSame16, scsi.OpMaintenanceIn, scsi.OpModeSense10, scsi.OpReadCapacity10,
	} {
		if n(op.String(), 0, 3) == 0 {
			c.Unknown = append(c.Unknown, op)
		}
	}
	m.rig = newRig(t, c, disk.Options{Depth: n("depth", 1, 5), MaxSegments: n("segments", 1, 16), MaxTransfer: 64 << 10})
	m.rig.unit.Hold = true
	fill(m.rig.unit.Data, 1)
	copy(m.rig.unit.Durable, m.rig.unit.Data)
	m.want = bytes.Clone(m.rig.unit.Data)
	return m
}

// batch has several requests under way at the same time.
func (m *model) batch() {
	r := m.rig
	fill(r.arena.Bytes(), rapid.Byte().Draw(m.T, "seed"))
	var qs []*disk.Request
	memory, lba := 0, 0
	for lba < m.count && len(qs) < 6 {
		lba += rapid.IntRange(0, 20).Draw(m.T, "gap")
		if lba >= m.count {
			break
		}
		blocks := rapid.IntRange(0, m.count-lba).Draw(m.T, "length")
		q := &disk.Request{
			Op:  disk.Op(rapid.IntRange(0, disk.Ops-1).Draw(m.T, "op")),
			FUA: rapid.Bool().Draw(m.T, "fua"), MayUnmap: rapid.Bool().Draw(m.T, "hole"),
			Offset: uint64(lba * m.block), Length: uint64(blocks * m.block),
		}
		q.Done = func(f *dispatch.Frame, q *disk.Request) { m.done[q]++ }
		if q.Op == disk.Status {
			q.Extents = make([]disk.Extent, rapid.IntRange(1, 20).Draw(m.T, "extents"))
		}
		if q.Op == disk.Read || q.Op == disk.Write {
			q.Data = m.segments(&memory, blocks)
		}
		lba += blocks
		qs = append(qs, q)
	}
	before := bytes.Clone(r.arena.Bytes())
	clear(m.done)
	for _, q := range rapid.Permutation(qs).Draw(m.T, "order") {
		r.submit(q)
	}
	fatal := m.run(len(qs))
	for _, q := range qs {
		if m.done[q] != 1 {
			m.Fatalf("%v completed %d times", q.Op, m.done[q])
		}
		if q.Err != nil && !fatal {
			m.Errorf("%v at %d: %v", q.Op, q.Offset, q.Err)
		}
		m.compare(q, before)
	}
	if !bytes.Equal(r.unit.Data, m.want) {
		m.Error("blocks have changed that nobody has written")
	}
	m.flush()
}

// segments is memory for so many blocks, in pieces such that a command can hold at least a block of them.
func (m *model) segments(at *int, blocks int) (all []miniport.Segment) {
	left := blocks * m.block
	few := max(1, m.rig.limit()-1)
	least := (m.block + few - 1) / few
	for left > 0 {
		n := left
		if left >= 2*least {
			n = rapid.IntRange(least, left-least).Draw(m.T, "piece")
		}
		if m.rig.limit() == 1 {
			n = max(m.block, n-n%m.block)
		}
		*at += rapid.IntRange(0, 3).Draw(m.T, "hole")
		all = append(all, m.rig.at(*at, n))
		*at += n
		left -= n
	}
	return all
}

// run lets commands end, one by one, until all n requests are complete. It reports whether one has failed for good.
func (m *model) run(n int) (fatal bool) {
	r := m.rig
	retries := 4
	for len(m.done) < n {
		r.proc.RunUntilIdle()
		held := r.unit.Held()
		if len(held) == 0 {
			if d, ok := r.proc.NextTimer(); ok {
				r.proc.Advance(d)
			} else if len(m.done) < n {
				m.Fatal("nothing is under way")
			}
			continue
		}
		c := held[rapid.IntRange(0, len(held)-1).Draw(m.T, "which")]
		var a *disktest.Answer
		switch k := rapid.IntRange(0, 20).Draw(m.T, "how"); {
		case k == 20 && scsi.Opcode(c.SRB.CDB[0]) != scsi.OpSynchronizeCache:
			a, fatal = disktest.Ends(scsi.StatusReservationConflict), true
		case k > 13 && k < 20 && retries > 0:
			retries--
			a = []*disktest.Answer{
				disktest.Check(scsi.KeyUnitAttention, scsi.ASCCommandsCleared), aborted, disktest.Ends(scsi.StatusBusy),
				disktest.Fails(miniport.StatusBusReset, false), disktest.Fails(miniport.StatusBusReset, true), link,
			}[k-14]
		}
		r.unit.Finish(c, a)
	}
	return fatal
}

// compare checks a request's effect, and brings the model to what is there where that is not certain.
func (m *model) compare(q *disk.Request, before []byte) {
	r := m.rig
	at, end := int(q.Offset), int(q.Offset+q.Length)
	if q.Op == disk.Flush {
		return
	}
	have, want := r.unit.Data[at:end], m.want[at:end]
	if q.Err != nil {
		if q.Op != disk.Read {
			copy(want, have)
		}
		return
	}
	switch q.Op {
	case disk.Status:
		told := mapped(r.unit, q.Offset, q.Length, r.disk.Info().LBPRZ, cap(q.Extents))
		if !r.unit.Config.LBAStatus || !r.disk.Info().Thin {
			if told = nil; q.Length > 0 {
				told = []disk.Extent{{Length: q.Length}}
			}
		}
		if !slices.Equal(q.Extents, told) {
			m.Errorf("status of %d bytes at %d: %v, want %v", q.Length, at, q.Extents, told)
		}
		return
	case disk.Read:
		for _, s := range q.Data {
			if !bytes.Equal(s.Bytes(), want[:s.Length]) {
				m.Errorf("read at %d: other data", at)
			}
			want = want[s.Length:]
		}
		return
	case disk.Write:
		for _, s := range q.Data {
			want = want[copy(want, before[s.Offset:][:s.Length]):]
		}
		want = m.want[at:end]
	case disk.WriteZeroes:
		clear(want)
	case disk.Unmap:
		// A block is as it was, or as the unit has it when unmapped.
		for b := 0; b < len(want); b += m.block {
			zero := bytes.Equal(have[b:][:m.block], make([]byte, m.block))
			if zero || !r.disk.Info().LBPRZ {
				copy(want[b:], have[b:][:m.block])
			}
		}
	}
	if !bytes.Equal(have, want) {
		m.Errorf("%v at %d: other data on the disk", q.Op, at)
	}
	if q.FUA && q.Op != disk.Unmap && !bytes.Equal(r.unit.Durable[at:end], want) {
		m.Errorf("%v at %d is not durable", q.Op, at)
	}
}

// flush makes everything durable.
func (m *model) flush() {
	q := &disk.Request{Op: disk.Flush}
	q.Done = func(f *dispatch.Frame, q *disk.Request) { m.done[q]++ }
	clear(m.done)
	m.rig.submit(q)
	for m.rig.proc.RunUntilIdle(); m.done[q] == 0; {
		m.rig.unit.Finish(m.rig.unit.Held()[0], nil)
		m.rig.proc.RunUntilIdle()
	}
	if q.Err != nil || !bytes.Equal(m.rig.unit.Durable, m.rig.unit.Data) {
		m.Errorf("flush: %v", q.Err)
	}
}

// A request that nothing answers does not complete, and time alone does not send it again: deadlines are the port's.
func TestDeadlinesAreThePorts(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	r.unit.Hold = true
	q := r.request(disk.Read, 0, 512)
	r.submit(q)
	r.proc.Advance(time.Hour)
	if len(r.order) != 0 || len(r.unit.Held()) != 1 {
		t.Error(fmt.Sprint(len(r.order), " complete, ", len(r.unit.Held()), " at the unit"))
	}
	// An hour is more than a command is tried for: what ends now in a failure is not tried again.
	r.unit.Finish(r.unit.Held()[0], aborted)
	if len(r.order) != 1 || q.Err == nil {
		t.Error(q.Err)
	}
}
