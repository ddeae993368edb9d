package verbs

import (
	"context"

	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// MRAttr says what memory to register. It is the caller's and must stay unchanged
// until the operation has ended.
type MRAttr struct {
	Arena  *arena.Arena
	Access Access
}

// MR is a memory region: an arena that the device may reach (IBA 10.6.3.1).
type MR struct {
	node
	drv  MRDriver
	keys Keys
	addr uint64
	size uint64
}

// Keys name registered memory: locally in SGEs, remotely in the peer's requests.
type Keys struct{ LKey, RKey uint32 }

// RegisterMR registers an arena. The region must be closed before the arena.
// Level: both. Errors: ErrInvalid, ErrClosed, ErrNoResources.
func (pd *PD) RegisterMR(op *Op[*MR], attr *MRAttr) {
	err := error(nil)
	switch {
	case attr.Arena == nil || attr.Arena.Size() == 0:
		err = invalid("no arena to register")
	case uint64(attr.Arena.Size()) > pd.dev.attr.MaxMRSize:
		err = invalid("a region of %d bytes; the device takes up to %d", int64(attr.Arena.Size()), int64(pd.dev.attr.MaxMRSize))
	case attr.Access&^(LocalWrite|RemoteRead|RemoteWrite|BindMW) != 0:
		err = invalid("rights %#x of a region", int64(attr.Access))
	case attr.Access&RemoteWrite != 0 && attr.Access&LocalWrite == 0:
		err = invalid("remote write without local write (IBA 10.6.3.1)")
	}
	op.start(pd.dev, pd.proc, pd, attr, holds{&pd.node}, "register MR", err)
}

func (attr *MRAttr) perform(ctx context.Context, on any, op *Op[*MR]) (*MR, error, bool) {
	pd := on.(*PD)
	drv, keys, err := pd.drv.RegisterMR(ctx, attr)
	if err != nil {
		return nil, opError("register MR", pd.dev.attr.Name, err), true
	}
	mr := &MR{drv: drv, keys: keys, addr: attr.Arena.Addr(), size: uint64(attr.Arena.Size())}
	mr.node.init(pd.dev, pd.proc, op.keep())
	mr.node.destroy = drv.Destroy
	return mr, nil, true
}

// LKey returns the key for SGEs.
func (mr *MR) LKey() uint32 { return mr.keys.LKey }

// RKey returns the key for the peer; it gives the region's remote rights to every
// QP of the PD.
func (mr *MR) RKey() uint32 { return mr.keys.RKey }

// Addr returns the address of the region's first byte.
func (mr *MR) Addr() uint64 { return mr.addr }

// Size returns the region's length in bytes.
func (mr *MR) Size() uint64 { return mr.size }

// MW is a type-2 memory window: an rkey that can be bound, by work requests of one
// QP, to a piece of a region with rights of its own (IBA 10.6.7.2).
type MW struct {
	node
	drv    MWDriver
	handle uint32
	rkey   uint32
}

// AllocMW makes a window that is bound to nothing. Level: both.
// Errors: ErrUnsupported, ErrClosed, ErrNoResources.
func (pd *PD) AllocMW(op *Op[*MW]) {
	err := error(nil)
	if !pd.dev.attr.MemoryWindows {
		err = ErrUnsupported
	}
	op.start(pd.dev, pd.proc, pd, allocMW{}, holds{&pd.node}, "allocate MW", err)
}

type allocMW struct{}

func (allocMW) perform(ctx context.Context, on any, op *Op[*MW]) (*MW, error, bool) {
	pd := on.(*PD)
	drv, handle, rkey, err := pd.drv.AllocMW(ctx)
	if err != nil {
		return nil, opError("allocate MW", pd.dev.attr.Name, err), true
	}
	mw := &MW{drv: drv, handle: handle, rkey: rkey}
	mw.node.init(pd.dev, pd.proc, op.keep())
	mw.node.destroy = drv.Destroy
	return mw, nil, true
}

// Handle returns what WR.MW names the window by.
func (mw *MW) Handle() uint32 { return mw.handle }

// RKey returns the window's first rkey. Each binding takes a new one: NextKey of
// the one before.
func (mw *MW) RKey() uint32 { return mw.rkey }

// NextKey returns the rkey that follows key: the same window, the next key byte.
func NextKey(key uint32) uint32 { return key&^0xff | (key+1)&0xff }

// CQAttr describes a completion queue. It is the caller's and must stay unchanged
// until the operation has ended.
type CQAttr struct {
	Entries   uint32 // 1 to DeviceAttr.MaxCQE
	Vector    int    // 0 to DeviceAttr.CompletionVectors-1
	Processor *dispatch.Processor
	Notify    NotifyFunc
}

// NotifyFunc is told that an armed CQ has completions.
//
//level:dispatch noalloc
type NotifyFunc func(f *dispatch.Frame, cq *CQ)
