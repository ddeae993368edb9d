package disk_test

import (
	"bytes"
	"errors"
	"testing"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
)

// fill writes a pattern into memory.
func fill(b []byte, seed byte) {
	for i := range b {
		b[i] = seed + byte(i) + byte(i>>8)
	}
}

func TestReadAndWrite(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	fill(r.arena.Bytes()[:64<<10], 7)
	if err := r.do(r.request(disk.Write, 8192, 64<<10)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.unit.Data[8192:][:64<<10], r.arena.Bytes()[:64<<10]) {
		t.Error("other data than were written")
	}
	q := r.request(disk.Read, 8192, 64<<10)
	q.Data = []miniport.Segment{r.at(100<<10, 64<<10)}
	if err := r.do(q); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.arena.Bytes()[:64<<10], r.arena.Bytes()[100<<10:][:64<<10]) {
		t.Error("other data than were read")
	}
	c := r.disk.Counters()
	if c.Read != (disk.OpCounters{Ops: 1, Bytes: 64 << 10}) || c.Write != (disk.OpCounters{Ops: 1, Bytes: 64 << 10}) {
		t.Errorf("%+v", c)
	}
}

// rws returns the READs or WRITEs that the unit was sent.
func rws(r *rig) (all []scsi.RW) {
	for _, e := range r.unit.Log {
		if rw, err := scsi.ParseRW(e.CDB[:]); err == nil {
			all = append(all, rw)
		}
	}
	return all
}

// SBC-4 6.6.4: no command is longer than MAXIMUM TRANSFER LENGTH; a boundary between commands is not within a
// physical block.
func TestSplitAtLimits(t *testing.T) {
	c := plain()
	c.Capacity.LowestAligned = 3
	c.Limits.MaxTransfer = 100
	r := newRig(t, c, disk.Options{})
	if err := r.do(r.request(disk.Read, 512, 300*512)); err != nil {
		t.Fatal(err)
	}
	next := uint64(1)
	for i, rw := range rws(r) {
		if rw.LBA != next || rw.Blocks > 100 {
			t.Errorf("command %d: %d blocks at %d, want up to 100 at %d", i, rw.Blocks, rw.LBA, next)
		}
		next += uint64(rw.Blocks)
		if next != 301 && (next-3)%8 != 0 {
			t.Errorf("command %d ends at %d, within a physical block", i, next)
		}
	}
	if next != 301 {
		t.Errorf("ended at %d", next)
	}
}

// The port takes 16 segments an SRB: more make more commands, also when a block is cut by a segment.
func TestSplitAtSegments(t *testing.T) {
	c := plain()
	c.Capacity.PhysicalExponent = 0
	r := newRig(t, c, disk.Options{})
	q := r.request(disk.Write, 0, 64*512)
	q.Data = nil
	for at := 0; at < 64*512; {
		n := min(700, 64*512-at)
		q.Data = append(q.Data, r.at(at, n))
		at += n
	}
	fill(r.arena.Bytes()[:64*512], 1)
	if err := r.do(q); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.unit.Data[:64*512], r.arena.Bytes()[:64*512]) {
		t.Error("other data than were written")
	}
	if n := len(rws(r)); n != 4 { // 16 × 700 bytes are 21 blocks
		t.Errorf("%d commands, want 4", n)
	}
}

func TestSegmentsTooSmallForABlock(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	q := r.request(disk.Write, 0, 512)
	q.Data = nil
	for i := range 32 {
		q.Data = append(q.Data, r.at(16*i, 16))
	}
	if err := r.do(q); err != disk.ErrInvalid {
		t.Error(err)
	}
}

func TestRefusedRequests(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	const size = 1 << 20
	foreign := func(change func(q *disk.Request)) *disk.Request {
		q := r.request(disk.Write, 0, 1024)
		change(q)
		return q
	}
	for _, c := range []struct {
		name string
		q    *disk.Request
		want error
	}{
		{"at the end", r.request(disk.Read, size-512, 512), nil},
		{"one block beyond", r.request(disk.Read, size-512, 1024), disk.ErrRange},
		{"from the end", r.request(disk.Read, size, 512), disk.ErrRange},
		{"nothing at the end", r.request(disk.Read, size, 0), nil},
		{"nothing beyond the end", r.request(disk.Read, size+512, 0), disk.ErrRange},
		{"unmap beyond", r.request(disk.Unmap, size, 512), disk.ErrRange},
		{"zeroing beyond", r.request(disk.WriteZeroes, size-512, 1024), disk.ErrRange},
		{"the sum overflows", &disk.Request{Op: disk.Unmap, Offset: 512, Length: 1<<64 - 512}, disk.ErrRange},
		{"offset within a block", r.request(disk.Write, 100, 512), disk.ErrAlignment},
		{"length within a block", r.request(disk.Unmap, 0, 100), disk.ErrAlignment},
		{"unknown operation", r.request(disk.Op(77), 0, 512), disk.ErrInvalid},
		{"no data", foreign(func(q *disk.Request) { q.Data = nil }), disk.ErrInvalid},
		{"less data", foreign(func(q *disk.Request) { q.Data[0].Length = 512 }), disk.ErrInvalid},
		{"more data", foreign(func(q *disk.Request) { q.Length = 512 }), disk.ErrInvalid},
		{"an empty segment", foreign(func(q *disk.Request) { q.Data = append(q.Data, r.at(0, 0)) }), disk.ErrInvalid},
		{"no region", foreign(func(q *disk.Request) { q.Data[0].Region = nil }), disk.ErrInvalid},
		{"behind the region", foreign(func(q *disk.Request) { q.Data[0].Offset = r.region.Size() - 1023 }), disk.ErrInvalid},
		{"far behind the region", foreign(func(q *disk.Request) { q.Data[0].Offset = 1<<64 - 8 }), disk.ErrInvalid},
		{"nothing to write", r.request(disk.Write, 512, 0), nil},
		{"nothing to unmap", r.request(disk.Unmap, 512, 0), nil},
	} {
		if c.q.Done == nil {
			c.q.Done = r.request(0, 0, 0).Done
		}
		if err := r.do(c.q); err != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if n := len(r.unit.Log); n != 1 {
		t.Errorf("%d commands were sent, want 1", n)
	}
}

func TestReadOnly(t *testing.T) {
	r := newRig(t, with(func(c *disktest.Config) { c.WriteProtected = true }), disk.Options{})
	for _, op := range []disk.Op{disk.Write, disk.Unmap, disk.WriteZeroes} {
		if err := r.do(r.request(op, 0, 4096)); err != disk.ErrReadOnly {
			t.Errorf("%v: %v", op, err)
		}
	}
	for _, op := range []disk.Op{disk.Read, disk.Flush} {
		if err := r.do(r.request(op, 0, 4096)); err != nil {
			t.Errorf("%v: %v", op, err)
		}
	}
}

// SBC-4 5.16: READ(10) cannot name a block above 2^32-1.
func TestLongAddresses(t *testing.T) {
	r := newRig(t, with(func(c *disktest.Config) { c.Capacity.LastLBA = 1 << 40 }), disk.Options{})
	for _, lba := range []uint64{1<<32 - 1, 1 << 32, 1 << 40} {
		q := r.request(disk.Read, 0, 512)
		q.Offset = lba * 512
		if err := r.do(q); err != nil {
			t.Error(lba, err)
		}
	}
	ops := []scsi.Opcode{}
	for i, e := range r.unit.Log {
		rw, _ := scsi.ParseRW(e.CDB[:])
		ops = append(ops, scsi.Opcode(e.CDB[0]))
		if want := []uint64{1<<32 - 1, 1 << 32, 1 << 40}[i]; rw.LBA != want {
			t.Errorf("LBA %d, want %d", rw.LBA, want)
		}
	}
	if len(ops) != 3 || ops[0] != scsi.OpRead10 || ops[1] != scsi.OpRead16 || ops[2] != scsi.OpRead16 {
		t.Error(ops)
	}
}

// Of a request with several failures the first one counts; what was not begun is not begun.
func TestFirstErrorIsKept(t *testing.T) {
	r := newRig(t, plain(), disk.Options{Depth: 2})
	r.unit.Hold = true
	q := r.request(disk.Read, 0, 1<<20) // 8 commands, of which 2 are at the unit at a time
	r.submit(q)
	held := r.unit.Held()
	if len(held) != 2 {
		t.Fatalf("%d at the unit", len(held))
	}
	a, b := held[0], held[1]
	r.unit.Finish(b, disktest.Check(scsi.KeyMediumError, scsi.ASCUnrecoveredRead))
	if len(r.order) != 0 {
		t.Fatal("complete while a command is at the unit")
	}
	r.unit.Finish(a, disktest.Check(scsi.KeyHardwareError, scsi.ASCInternalTargetFailure))
	var e *disk.Error
	if len(r.order) != 1 || !errors.As(q.Err, &e) || !errors.Is(e, disk.ErrMedium) {
		t.Fatalf("%d complete, error %v", len(r.order), q.Err)
	}
	if e.LBA != 256 || e.Blocks != 256 || e.Op != disk.Read {
		t.Errorf("%+v", e)
	}
	if n := len(r.unit.Log); n != 2 {
		t.Errorf("%d commands were sent", n)
	}
}

// Back-pressure: no more than the depth is at the unit, and requests are begun in the order of Submit.
func TestDepthAndOrder(t *testing.T) {
	r := newRig(t, plain(), disk.Options{Depth: 4})
	var qs []*disk.Request
	for i := range 50 {
		qs = append(qs, r.request(disk.Read, i*4096, 4096))
	}
	r.submit(qs...)
	r.proc.RunUntilIdle()
	if len(r.order) != len(qs) {
		t.Fatalf("%d complete", len(r.order))
	}
	for i, rw := range rws(r) {
		if rw.LBA != uint64(i)*8 {
			t.Errorf("command %d at LBA %d", i, rw.LBA)
		}
		if r.order[i] != qs[i] {
			t.Errorf("request %d out of order", i)
		}
	}
	if m := r.unit.Most(); m != 4 {
		t.Errorf("%d at the unit at a time", m)
	}
	if c := r.disk.Counters(); c.Waits != 46 {
		t.Errorf("%d waited", c.Waits)
	}
}
