package nbdtest

import (
	"context"
	"errors"
	"sync/atomic"

	"minisrp/cmd/srpd/nbd"
	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Option sets a property of a RAM.
type Option func(*RAM)

// Async makes requests run on a goroutine of the disk, so that they complete on
// frames that are not the submitter's.
func Async() Option { return func(d *RAM) { d.worker = dispatch.NewWorker(1) } }

// Cached gives the disk a volatile write cache: Durable shows what a flush or FUA
// has made durable.
func Cached() Option { return func(d *RAM) { d.durable = make([]byte, len(d.data)) } }

// FaultFunc is asked before each request; a result that is not nil is the
// request's error. It runs at Dispatch, or on the goroutine of Async.
//
//level:dispatch
type FaultFunc func(r *disk.Request) error

// Fault makes requests fail as f says.
func Fault(f FaultFunc) Option { return func(d *RAM) { d.fault = f } }

// RAM is an nbd.Backend in memory.
type RAM struct {
	p       *dispatch.Processor
	info    atomic.Pointer[nbd.Info]
	worker  *dispatch.Worker // nil: requests run in a DPC
	fault   FaultFunc
	data    []byte
	kept    []bool // by logical block: written since it was last unmapped
	durable []byte // nil: there is no cache

	incoming atomic.Pointer[disk.Request]
	waiting  atomic.Int64 // requests that Hold keeps
	holding  atomic.Bool
	regions  atomic.Int64
	counts   [disk.Ops]atomic.Uint64
	losing   atomic.Bool // flushes fail

	dpc      dispatch.DPC
	work     dispatch.Work
	finished atomic.Pointer[disk.Request] // run by the worker, to be completed
	finish   dispatch.DPC
}

// Disk describes a disk of size bytes in blocks of 512 that can do everything.
func Disk(size uint64) nbd.Info {
	return nbd.Info{
		Size: size, LogicalBlock: 512, PhysicalBlock: 4096,
		CanFUA: true, CanUnmap: true, CanWriteZeroes: true, CanCache: true, Extents: true,
	}
}

// NewRAM makes a disk that reads as zeros.
func NewRAM(info nbd.Info, opts ...Option) *RAM {
	d := &RAM{data: make([]byte, info.Size), kept: make([]bool, info.Size/uint64(max(info.LogicalBlock, 1))), p: dispatch.New("ram")}
	d.info.Store(&info)
	for _, o := range opts {
		o(d)
	}
	d.dpc.Init(d.p, func(f *dispatch.Frame) { d.serve(f) })
	d.finish.Init(d.p, func(f *dispatch.Frame) { complete(f, &d.finished) })
	d.work.Init(func(context.Context) { d.serve(nil) })
	return d
}

// Close ends the disk's goroutines. No request may be under way.
//
//level:passive
func (d *RAM) Close() {
	if d.worker != nil {
		d.worker.Close()
	}
	d.p.Close()
}

// Info implements nbd.Backend.
func (d *RAM) Info() nbd.Info { return *d.info.Load() }

// SetInfo changes what the disk says that it is. It does not grow.
func (d *RAM) SetInfo(i nbd.Info) { d.info.Store(&i) }

// LoseWrites makes flushes fail with disk.ErrLostWrites until AcceptLoss.
func (d *RAM) LoseWrites() { d.losing.Store(true) }

// AcceptLoss implements nbd.LossAccepter.
func (d *RAM) AcceptLoss() bool { return d.losing.Swap(false) }

// Processor implements nbd.Backend.
func (d *RAM) Processor() *dispatch.Processor { return d.p }

// Register implements nbd.Backend.
func (d *RAM) Register(_ context.Context, a *arena.Arena) (*miniport.Region, error) {
	d.regions.Add(1)
	return miniport.NewRegion(a), nil
}

// Deregister implements nbd.Backend.
func (d *RAM) Deregister(context.Context, *miniport.Region) { d.regions.Add(-1) }

// Regions returns how many regions are registered.
func (d *RAM) Regions() int64 { return d.regions.Load() }

// Count returns how many requests of an operation have run.
func (d *RAM) Count(op disk.Op) uint64 { return d.counts[op].Load() }

// Hold keeps requests from running until Release.
func (d *RAM) Hold() { d.holding.Store(true) }

// Held returns how many requests Hold keeps.
func (d *RAM) Held() int64 { return d.waiting.Load() }

// Release lets requests run again.
func (d *RAM) Release() {
	d.holding.Store(false)
	if d.worker != nil {
		d.worker.Queue(&d.work)
	} else {
		d.dpc.Post()
	}
}

// Submit implements nbd.Backend. Level: Dispatch.
func (d *RAM) Submit(f *dispatch.Frame, r *disk.Request) {
	d.waiting.Add(1)
	push(&d.incoming, r)
	if d.worker != nil {
		d.worker.Queue(&d.work)
	} else {
		d.dpc.Queue(f)
	}
}

// Snapshot returns a copy of what the disk holds.
func (d *RAM) Snapshot() []byte { return d.copyOf(&d.data) }

// Durable returns a copy of what would be left after a loss of power.
func (d *RAM) Durable() []byte { return d.copyOf(&d.durable) }

func (d *RAM) copyOf(src *[]byte) []byte {
	done := make(chan []byte, 1)
	if d.worker != nil {
		var w dispatch.Work
		w.Init(func(context.Context) { done <- append([]byte(nil), *src...) })
		d.worker.Queue(&w)
	} else {
		var c dispatch.DPC
		c.Init(d.p, func(*dispatch.Frame) {
			b := append([]byte(nil), *src...)
			select {
			case done <- b:
			default: // cannot be: it has room for the one
			}
		})
		c.Post()
	}
	return <-done
}

// serve runs what has come in; on the worker f is nil.
func (d *RAM) serve(f *dispatch.Frame) {
	if d.holding.Load() {
		return
	}
	for r := takeAll(&d.incoming); r != nil; {
		next := r.Next
		d.waiting.Add(-1)
		d.counts[r.Op].Add(1)
		r.Err = d.run(r)
		if f != nil {
			r.Done(f, r)
		} else {
			push(&d.finished, r)
			d.finish.Post()
		}
		r = next
	}
}

func complete(f *dispatch.Frame, from *atomic.Pointer[disk.Request]) {
	for r := takeAll(from); r != nil; {
		next := r.Next
		r.Done(f, r)
		r = next
	}
}

var errLength = errors.New("data and length disagree")

func (d *RAM) run(r *disk.Request) error {
	if d.fault != nil {
		if err := d.fault(r); err != nil {
			return err
		}
	}
	i := d.info.Load()
	switch {
	case r.Op == disk.Flush && d.losing.Load():
		return disk.ErrLostWrites
	case r.Op == disk.Flush:
		copy(d.durable, d.data)
		return nil
	case r.Offset+r.Length > i.Size:
		return disk.ErrRange
	}
	at := d.data[r.Offset:][:r.Length]
	first, last := r.Offset/uint64(i.LogicalBlock), (r.Offset+r.Length)/uint64(i.LogicalBlock)
	switch r.Op {
	case disk.Read, disk.Write:
		if err := move(r, at); err != nil {
			return err
		}
		if r.Op == disk.Write {
			d.keep(first, last, true)
		}
	case disk.WriteZeroes:
		if r.Fast && !r.MayUnmap {
			return disk.ErrSlow
		}
		clear(at)
		d.keep(first, last, !r.MayUnmap)
	case disk.Unmap:
		clear(at)
		d.keep(first, last, false)
	case disk.Status:
		d.tell(r, first, last, uint64(i.LogicalBlock))
	}
	if r.FUA && d.durable != nil {
		copy(d.durable[r.Offset:], at)
	}
	return nil
}

// keep notes that blocks have space, or have not.
func (d *RAM) keep(first, last uint64, kept bool) {
	for n := first; n < last; n++ {
		d.kept[n] = kept
	}
}

// tell answers a disk.Status.
func (d *RAM) tell(r *disk.Request, first, last, block uint64) {
	r.Extents = r.Extents[:0]
	for at := first; at < last && len(r.Extents) < cap(r.Extents); {
		end := at + 1
		for end < last && d.kept[end] == d.kept[at] {
			end++
		}
		r.Extents = append(r.Extents, disk.Extent{Length: (end - at) * block, Hole: !d.kept[at], Zero: !d.kept[at]})
		at = end
	}
}

// push adds to a list that takeAll empties.
func push(list *atomic.Pointer[disk.Request], r *disk.Request) {
	for {
		h := list.Load()
		r.Next = h
		if list.CompareAndSwap(h, r) {
			return
		}
	}
}

// takeAll empties a list and returns it, the oldest first.
func takeAll(list *atomic.Pointer[disk.Request]) *disk.Request {
	var oldest *disk.Request
	for r := list.Swap(nil); r != nil; {
		r, r.Next, oldest = r.Next, oldest, r
	}
	return oldest
}
