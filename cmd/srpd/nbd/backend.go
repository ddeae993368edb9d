package nbd

import (
	"context"
	"fmt"

	"minisrp/miniport"
	"minisrp/scsi/disk"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Backend is what an export stands for: a disk that takes requests at Dispatch.
//
// A Flush that it completes without an error covers every write that had
// completed when the Flush was submitted, whichever connection it came from.
// The server promises that to clients (NBD_FLAG_CAN_MULTI_CONN) on the strength
// of this sentence, and has no cache of its own that could break it.
type Backend interface {
	// Submit starts a request. Its Done is called exactly once, later.
	//
	//level:dispatch noalloc
	Submit(f *dispatch.Frame, r *disk.Request)

	// Processor returns where to raise before Submit.
	Processor() *dispatch.Processor

	// Register makes memory reachable for the disk. The region is valid until
	// Deregister, which is called when no request points into it any more.
	Register(ctx context.Context, a *arena.Arena) (*miniport.Region, error)

	// Deregister undoes Register: when it returns nothing reaches the memory any
	// more, and the arena may be closed.
	Deregister(ctx context.Context, r *miniport.Region)

	// Info returns what the disk is now. It computes.
	Info() Info
}

// Info is what a client is told about a disk.
type Info struct {
	Size          uint64 `json:"size"`           // bytes, a multiple of LogicalBlock
	LogicalBlock  uint32 `json:"logical_block"`  // bytes, a power of two, 1 to 64 KiB: the unit of addressing
	PhysicalBlock uint32 `json:"physical_block"` // bytes, a power of two; 0: as LogicalBlock

	ReadOnly       bool `json:"read_only"`
	Rotational     bool `json:"rotational"`
	CanFUA         bool `json:"fua"` // writes can be made durable one by one
	CanUnmap       bool `json:"unmap"`
	CanWriteZeroes bool `json:"write_zeroes"`
	CanCache       bool `json:"cache"`   // disk.Prefetch does something
	Extents        bool `json:"extents"` // disk.Status tells holes from data; else all is said to be data
}

// check tells whether the protocol can express the disk.
func (i Info) check() error {
	switch {
	case i.LogicalBlock == 0 || i.LogicalBlock > 64<<10 || i.LogicalBlock&(i.LogicalBlock-1) != 0:
		return fmt.Errorf("logical block of %d bytes: want a power of two up to 65536", i.LogicalBlock)
	case i.Size == 0:
		return fmt.Errorf("capacity of 0 bytes: there is nothing to export")
	case i.Size%uint64(i.LogicalBlock) != 0:
		return fmt.Errorf("capacity of %d bytes: want a multiple of the logical block of %d", i.Size, i.LogicalBlock)
	case i.Size > 1<<63-1:
		return fmt.Errorf("capacity of %d bytes: clients take at most 2^63-1", i.Size)
	}
	return nil
}

// preferred returns the preferred block size: a power of two from 512 bytes to
// MaxRequest.
func (i Info) preferred() uint32 {
	return min(max(4096, i.LogicalBlock, i.PhysicalBlock), MaxRequest)
}
