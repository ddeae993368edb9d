package disk_test

import (
	"context"
	"io"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plain is a disk of 2,048 blocks of 512 bytes with everything a modern unit has.
func plain() disktest.Config {
	return disktest.Config{
		Serial: "S1",
		NAA:    scsi.NAA6(0x001405, 1, 2),
		Capacity: scsi.Capacity{
			LastLBA: 2047, BlockSize: 512, PhysicalExponent: 3, Provisioned: true, ReadsZeros: true,
		},
		Limits: &scsi.BlockLimits{
			TransferGranularity: 8, MaxTransfer: 256, OptimalTransfer: 128, MaxUnmapBlocks: 512, MaxUnmapDescriptors: 4,
			UnmapGranularity: 8, MaxWriteSame: 1024, WriteSameNonZero: true,
		},
		Characteristics: &scsi.BlockCharacteristics{RotationRate: scsi.RotationSolid},
		Provisioning: &scsi.Provisioning{
			Unmap: true, UnmapByWriteSame: true, UnmapByWriteSame10: true, ReadZeros: 1, Type: scsi.ProvisioningThin,
		},
		WriteCache: true, DPOFUA: true, NoData: true,
	}
}

// with returns plain with a change.
func with(change func(c *disktest.Config)) disktest.Config {
	c := plain()
	change(&c)
	return c
}

// rig is a disk on a unit of RAM, and memory for requests. Time stands still but for Advance.
type rig struct {
	t      *testing.T
	proc   *dispatch.Processor
	unit   *disktest.Unit
	port   *disktest.Port
	disk   *disk.Disk
	arena  *arena.Arena
	region *miniport.Region
	events chan disk.Event
	order  []*disk.Request // as they completed
	limits disk.Options
}

// limit is how many segments a command can have.
func (r *rig) limit() int {
	if r.limits.MaxSegments == 0 {
		return disk.MaxSegments
	}
	return r.limits.MaxSegments
}

const rigMemory = 2 << 20

func newRig(t *testing.T, c disktest.Config, o disk.Options) *rig {
	t.Helper()
	return newRigWith(t, c, o, nil)
}

// newRigWith makes a rig whose unit has a hook from the beginning.
func newRigWith(t *testing.T, c disktest.Config, o disk.Options, h disktest.Hook) *rig {
	t.Helper()
	r, err := tryRigWith(t, c, o, h)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryRig(t *testing.T, c disktest.Config, o disk.Options) (*rig, error) {
	t.Helper()
	return tryRigWith(t, c, o, nil)
}

func tryRigWith(t *testing.T, c disktest.Config, o disk.Options, h disktest.Hook) (*rig, error) {
	t.Helper()
	r := &rig{t: t, proc: dispatch.NewManual("test"), events: make(chan disk.Event, 100)}
	r.unit = disktest.NewUnit(r.proc, c)
	r.unit.Hook = h
	r.port = disktest.NewPort(r.proc)
	r.limits = o
	a, err := arena.New(rigMemory)
	if err != nil {
		t.Fatal(err)
	}
	r.arena, r.region = a, miniport.NewRegion(a)
	t.Cleanup(func() { a.Close() })
	o.Event = func(ctx context.Context, e disk.Event) { r.events <- e }
	o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	r.passive(func() { r.disk, err = disk.Open(t.Context(), r.unit, r.port, o) })
	if err != nil {
		if n := r.port.Regions(); n != 0 {
			t.Errorf("%d regions left", n)
		}
		return nil, err
	}
	r.unit.Record = true
	t.Cleanup(r.close)
	return r, nil
}

// passive runs fn on a goroutine while this one runs the processor.
func (r *rig) passive(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	r.proc.RunUntil(done)
}

func (r *rig) close() {
	if r.disk == nil {
		return
	}
	r.unit.Hold = false
	for len(r.unit.Held()) > 0 {
		r.unit.Finish(r.unit.Held()[0], nil)
	}
	var err error
	r.passive(func() { err = r.disk.Close(context.Background()) })
	if err != nil {
		r.t.Error("close:", err)
	}
	c := r.disk.Counters()
	if c.Commands != c.Completed {
		r.t.Errorf("%d commands sent, %d came back", c.Commands, c.Completed)
	}
	if n := r.port.Regions(); n != 0 {
		r.t.Errorf("%d regions left", n)
	}
	r.disk = nil
}

// at is a piece of the rig's memory.
func (r *rig) at(offset, length int) miniport.Segment {
	return miniport.Segment{Region: r.region, Offset: uint64(offset), Length: uint32(length)}
}

// request makes a request that is entered into order when it is done.
func (r *rig) request(op disk.Op, offset, length int) *disk.Request {
	q := &disk.Request{Op: op, Offset: uint64(offset), Length: uint64(length)}
	q.Done = func(f *dispatch.Frame, q *disk.Request) { r.order = append(r.order, q) }
	if (op == disk.Read || op == disk.Write) && length != 0 {
		q.Data = []miniport.Segment{r.at(0, length)}
	}
	return q
}

// submit hands requests in at once.
func (r *rig) submit(qs ...*disk.Request) {
	var f dispatch.Frame
	r.proc.Raise(&f)
	before := len(r.order)
	for _, q := range qs {
		r.disk.Submit(&f, q)
	}
	if len(r.order) != before {
		r.t.Error("Done was called inside Submit")
	}
	f.Lower()
}

// do hands a request in and returns its error. It must complete without time passing.
func (r *rig) do(q *disk.Request) error {
	r.t.Helper()
	before := len(r.order)
	r.submit(q)
	r.proc.RunUntilIdle()
	if len(r.order) != before+1 || r.order[before] != q {
		r.t.Fatalf("%v did not complete", q.Op)
	}
	return q.Err
}

// event returns the next event.
func (r *rig) event() disk.Event {
	r.t.Helper()
	var e disk.Event
	r.passive(func() { e = <-r.events })
	return e
}

// quiet checks that the worker has nothing more to say.
func (r *rig) quiet() {
	r.t.Helper()
	r.proc.RunUntilIdle()
	select {
	case e := <-r.events:
		r.t.Errorf("event %v", e.Kind)
	default:
	}
}

// until runs the processor until a condition holds, which the worker brings about.
func (r *rig) until(holds func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(deadline) {
			r.t.Fatal("waited for 10 s")
		}
		r.proc.RunUntilIdle()
	}
}

// memory makes a segment of its own.
func memory(tb testing.TB, n int) ([]miniport.Segment, func()) {
	a, err := arena.New(n)
	if err != nil {
		tb.Fatal(err)
	}
	return []miniport.Segment{{Region: miniport.NewRegion(a), Length: uint32(n)}}, func() { a.Close() }
}
