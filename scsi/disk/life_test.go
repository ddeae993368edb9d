package disk_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/disk"
	"minisrp/scsi/disk/disktest"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Close waits for what is at the unit, and ends what is not.
func TestClose(t *testing.T) {
	r := newRig(t, plain(), disk.Options{Depth: 1})
	r.unit.Hold = true
	at, waiting, later := r.request(disk.Read, 0, 512), r.request(disk.Read, 512, 512), r.request(disk.Read, 1024, 512)
	r.submit(at, waiting)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var err error
	r.passive(func() { err = r.disk.Close(ctx) })
	if !errors.Is(err, context.Canceled) {
		t.Error("close in a hurry:", err)
	}
	if r.port.Regions() != 1 {
		t.Error("memory was given back that the unit can reach")
	}
	if len(r.order) != 1 || r.order[0] != waiting || waiting.Err != disk.ErrClosed {
		t.Fatalf("%d complete, %v", len(r.order), waiting.Err)
	}
	if err := r.do(later); err != disk.ErrClosed {
		t.Error(err)
	}
	r.unit.Finish(r.unit.Held()[0], nil)
	if at.Err != nil || len(r.order) != 3 {
		t.Error(at.Err, len(r.order))
	}
	r.close()
}

// A request with parts at the unit and parts that wait ends when the last of the former has come back.
func TestCloseInTheMiddle(t *testing.T) {
	r := newRig(t, plain(), disk.Options{Depth: 2})
	r.unit.Hold = true
	q := r.request(disk.Read, 0, 1<<20)
	r.submit(q)
	d := r.disk
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Close(context.Background())
	}()
	r.until(func() bool { return len(r.unit.Held()) == 2 && r.closing(d) })
	for len(r.unit.Held()) > 0 {
		r.unit.Finish(r.unit.Held()[0], nil)
	}
	r.proc.RunUntil(done)
	if len(r.order) != 2 || q.Err != disk.ErrClosed || len(r.unit.Log) != 2 {
		t.Errorf("%d complete, %v, %d commands", len(r.order), q.Err, len(r.unit.Log))
	}
}

// closing says whether the disk has begun to close: it takes no more requests.
func (r *rig) closing(d *disk.Disk) bool {
	q := r.request(disk.Read, 0, 0)
	closed := false
	q.Done = func(f *dispatch.Frame, q *disk.Request) { closed = q.Err == disk.ErrClosed }
	var f dispatch.Frame
	r.proc.Raise(&f)
	d.Submit(&f, q)
	f.Lower()
	r.proc.RunUntilIdle()
	if closed {
		r.order = append(r.order, q)
	}
	return closed
}

// A command that waits for its unit to become ready does not delay Close.
func TestCloseDuringPause(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	r.unit.Script(scsi.OpRead10, becoming)
	q := r.request(disk.Read, 0, 512)
	r.submit(q)
	r.proc.RunUntilIdle()
	r.close()
	if len(r.order) != 1 || q.Err != disk.ErrClosed {
		t.Error(len(r.order), q.Err)
	}
}

func TestSubmitTwicePanics(t *testing.T) {
	r := newRig(t, plain(), disk.Options{})
	r.unit.Hold = true
	q := r.request(disk.Read, 0, 512)
	r.submit(q)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		var f dispatch.Frame
		r.proc.Raise(&f)
		defer f.Lower()
		r.disk.Submit(&f, q)
	}()
	r.unit.Finish(r.unit.Held()[0], nil)
}

// A chain of requests, each submitted from the end of the one before, runs at a constant stack, also when the disk
// has nothing to send.
func TestChain(t *testing.T) {
	for _, op := range []disk.Op{disk.Read, disk.Flush} {
		r := newRig(t, with(func(c *disktest.Config) { c.WriteCache = false }), disk.Options{})
		r.unit.Record = false
		n, inside := 0, false
		q := r.request(op, 0, 4096)
		q.Data = []miniport.Segment{r.at(0, 4096)}
		q.Done = func(f *dispatch.Frame, q *disk.Request) {
			if inside {
				t.Error("Done is nested")
			}
			inside = true
			if n++; n < 10_000 {
				r.disk.Submit(f, q)
			}
			inside = false
		}
		r.submit(q)
		r.proc.RunUntilIdle()
		if n != 10_000 {
			t.Errorf("%v: %d completed", op, n)
		}
	}
}

// From real processors, and from goroutines whose frames own none of them, each request completes exactly once.
func TestManyProcessors(t *testing.T) {
	const each, rounds = 8, 50
	procs := []*dispatch.Processor{dispatch.New("a"), dispatch.New("b"), dispatch.New("foreign"), dispatch.New("unit")}
	for _, p := range procs {
		defer p.Close()
	}
	u := disktest.NewUnit(procs[3], plain())
	n := 0
	u.Hook = func(c *disktest.Command) *disktest.Answer {
		if n++; n%11 == 0 {
			return attention
		}
		return nil
	}
	port := disktest.NewPort(procs[0], procs[1])
	d, err := disk.Open(t.Context(), u, port, disk.Options{Depth: 3})
	if err != nil {
		t.Fatal(err)
	}
	a, err := arena.New(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	region := miniport.NewRegion(a)
	var wg sync.WaitGroup
	var ended atomic.Int32
	for g := range 3 * each {
		proc := procs[g%3]
		at := uint64(g) * 8192
		wg.Go(func() {
			done := make(chan *disk.Request, 1)
			q := &disk.Request{Data: []miniport.Segment{{Region: region, Offset: at, Length: 8192}}, Offset: at, Length: 8192}
			q.Done = func(f *dispatch.Frame, q *disk.Request) {
				ended.Add(1)
				if g%3 != 2 && f.Processor() != proc {
					t.Error("completed elsewhere than submitted")
				}
				select {
				case done <- q:
				default:
					t.Error("completed twice")
				}
			}
			var f dispatch.Frame
			for i := range rounds {
				q.Op = []disk.Op{disk.Write, disk.Read, disk.WriteZeroes, disk.Flush}[i%4]
				proc.Raise(&f)
				d.Submit(&f, q)
				f.Lower()
				if q := <-done; q.Err != nil {
					t.Error(q.Op, q.Err)
				}
			}
		})
	}
	wg.Wait()
	if ended.Load() != 3*each*rounds {
		t.Errorf("%d completed", ended.Load())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := d.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := d.Close(ctx); err != nil {
		t.Error("closed again:", err)
	}
	if c := d.Counters(); c.Commands != c.Completed || port.Regions() != 0 {
		t.Errorf("%+v", c)
	}
}

// The data path allocates nothing, also where it fails.
func TestAllocations(t *testing.T) {
	r := newRig(t, with(func(c *disktest.Config) { c.DPOFUA = false }), disk.Options{})
	r.unit.Record = false
	retried, failed := disktest.Check(scsi.KeyAbortedCommand, scsi.ASCNone), medium
	var answers [4]*disktest.Answer
	n := 0
	r.unit.Hook = func(c *disktest.Command) *disktest.Answer {
		n++
		return answers[n%len(answers)]
	}
	for _, c := range []struct {
		name    string
		q       *disk.Request
		answers [4]*disktest.Answer
	}{
		{"read", r.request(disk.Read, 0, 4096), [4]*disktest.Answer{}},
		{"long read", r.request(disk.Read, 0, 1<<20), [4]*disktest.Answer{}},
		{"write", r.request(disk.Write, 0, 4096), [4]*disktest.Answer{}},
		{"write with FUA", &disk.Request{Op: disk.Write, FUA: true, Length: 512, Data: []miniport.Segment{r.at(0, 512)}}, [4]*disktest.Answer{}},
		{"flush", r.request(disk.Flush, 0, 0), [4]*disktest.Answer{}},
		{"retries", r.request(disk.Read, 0, 4096), [4]*disktest.Answer{1: retried, 2: retried}},
		{"failures", r.request(disk.Read, 0, 4096), [4]*disktest.Answer{failed, failed, failed, failed}},
		{"refused", r.request(disk.Read, 1, 4096), [4]*disktest.Answer{}},
		{"beyond the end", r.request(disk.Read, 4<<20, 4096), [4]*disktest.Answer{}},
	} {
		c.q.Done = func(f *dispatch.Frame, q *disk.Request) {}
		answers = c.answers
		var f dispatch.Frame
		if a := testing.AllocsPerRun(100, func() {
			r.proc.Raise(&f)
			r.disk.Submit(&f, c.q)
			f.Lower()
			r.proc.RunUntilIdle()
		}); a != 0 {
			t.Errorf("%s: %v allocations", c.name, a)
		}
	}
}
