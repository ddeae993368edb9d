package export

import (
	"context"
	"sync/atomic"

	"minisrp/cmd/srpd/nbd"
	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Backend is a disk as the NBD server takes it.
type Backend struct {
	// Fixed after construction.
	disk *disk.Disk
	port disk.Port

	next atomic.Uint32 // counts connections, so that they are spread over the processors
}

var (
	_ nbd.Backend      = (*Backend)(nil)
	_ nbd.LossAccepter = (*Backend)(nil)
)

// New makes a backend of a disk behind a port.
func New(d *disk.Disk, p disk.Port) *Backend { return &Backend{disk: d, port: p} }

// Submit implements nbd.Backend. Level: Dispatch.
//
//level:dispatch noalloc
func (b *Backend) Submit(f *dispatch.Frame, r *disk.Request) { b.disk.Submit(f, r) }

// Processor implements nbd.Backend: each call names the next of the port's.
func (b *Backend) Processor() *dispatch.Processor {
	all := b.port.Processors()
	return all[int(b.next.Add(1)-1)%len(all)]
}

// Register implements nbd.Backend.
func (b *Backend) Register(ctx context.Context, a *arena.Arena) (*miniport.Region, error) {
	return b.port.RegisterRegion(ctx, a)
}

// Deregister implements nbd.Backend.
func (b *Backend) Deregister(ctx context.Context, r *miniport.Region) {
	b.port.DeregisterRegion(ctx, r)
}

// Info implements nbd.Backend. A disk makes a write durable and zeroes by other means where the unit has none for it.
func (b *Backend) Info() nbd.Info {
	i := b.disk.Info()
	return nbd.Info{
		Size: i.Size, LogicalBlock: i.LogicalBlock, PhysicalBlock: i.PhysicalBlock,
		ReadOnly: i.ReadOnly, Rotational: i.Rotational, CanFUA: true, CanUnmap: i.Unmap, CanWriteZeroes: true,
		CanCache: i.Prefetch, Extents: i.Extents,
	}
}

// AcceptLoss implements nbd.LossAccepter.
func (b *Backend) AcceptLoss() bool { return b.disk.AcceptLoss() }
