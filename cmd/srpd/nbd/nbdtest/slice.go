package nbdtest

import (
	"context"
	"sync/atomic"

	"minisrp/cmd/srpd/nbd"
	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Slice is an nbd.Backend that is a run of memory and nothing below it: a request is one copy, and complete when the
// frame that it was submitted on is lowered. It is what the server costs by itself. It can read, write and flush.
//
// Ownership: as a RAM's. The memory is touched by its processor only.
type Slice struct {
	p        *dispatch.Processor // fixed
	memory   *arena.Arena        // fixed
	incoming atomic.Pointer[disk.Request]
	dpc      dispatch.DPC
}

// NewSlice makes a disk of size bytes, a multiple of 512, that reads as zeros.
//
//level:passive
func NewSlice(size int) (*Slice, error) {
	a, err := arena.New(size)
	if err != nil {
		return nil, err
	}
	d := &Slice{p: dispatch.New("slice"), memory: a}
	d.dpc.Init(d.p, d.serve)
	return d, nil
}

// Close ends the disk's goroutine and gives its memory back. No request may be under way.
//
//level:passive
func (d *Slice) Close() error {
	d.p.Close()
	return d.memory.Close()
}

// Info implements nbd.Backend.
func (d *Slice) Info() nbd.Info {
	return nbd.Info{Size: uint64(d.memory.Size()), LogicalBlock: 512, PhysicalBlock: arena.PageSize, CanFUA: true}
}

// Processor implements nbd.Backend.
func (d *Slice) Processor() *dispatch.Processor { return d.p }

// Register implements nbd.Backend.
func (d *Slice) Register(_ context.Context, a *arena.Arena) (*miniport.Region, error) {
	return miniport.NewRegion(a), nil
}

// Deregister implements nbd.Backend.
func (d *Slice) Deregister(context.Context, *miniport.Region) {}

// Submit implements nbd.Backend. Level: Dispatch.
func (d *Slice) Submit(f *dispatch.Frame, r *disk.Request) {
	push(&d.incoming, r)
	d.dpc.Queue(f)
}

func (d *Slice) serve(f *dispatch.Frame) {
	for r := takeAll(&d.incoming); r != nil; {
		next := r.Next
		r.Err = d.run(r)
		r.Done(f, r)
		r = next
	}
}

func (d *Slice) run(r *disk.Request) error {
	all := d.memory.Bytes()
	if r.Op == disk.Flush {
		return nil
	}
	if r.Offset > uint64(len(all)) || r.Length > uint64(len(all))-r.Offset {
		return disk.ErrRange
	}
	if r.Op != disk.Read && r.Op != disk.Write {
		return disk.ErrUnsupported
	}
	return move(r, all[r.Offset:][:r.Length])
}

// move does what a read or a write of the bytes at does.
func move(r *disk.Request, at []byte) error {
	for _, s := range r.Data {
		b := s.Bytes()
		if len(b) > len(at) {
			return errLength
		}
		if r.Op == disk.Read {
			copy(b, at)
		} else {
			copy(at, b)
		}
		at = at[len(b):]
	}
	if len(at) != 0 {
		return errLength
	}
	return nil
}
