package verbs

import (
	"context"

	"minisrp/verbs/dispatch"
)

// Driver is what a provider implements for one device. Its Passive methods run on
// the device's workers and may block; they return the package's sentinel errors.
type Driver interface {
	// Attr is called once, by Open.
	Attr() DeviceAttr
	// Start gives the provider the device to tell of events.
	Start(d *Device)
	CreatePD(ctx context.Context) (PDDriver, error)
	CreateCQ(ctx context.Context, attr *CQAttr, up *CQ) (CQDriver, error)
	Listen(ctx context.Context, attr *ListenAttr, up *Listener) (ListenerDriver, error)
	// Close is the last call.
	Close(ctx context.Context)
}

// Find returns the object of type T that drv is, or that it stands before: a driver
// that wraps another's has a method Unwrap() any. A provider that is given objects of
// its own, as attributes, looks for them with it.
//
//level:passive
func Find[T any](drv any) (t T, ok bool) {
	for {
		if t, ok = drv.(T); ok {
			return t, true
		}
		w, wraps := drv.(interface{ Unwrap() any })
		if !wraps {
			return t, false
		}
		drv = w.Unwrap()
	}
}

// PDDriver is a provider's protection domain.
type PDDriver interface {
	RegisterMR(ctx context.Context, attr *MRAttr) (MRDriver, Keys, error)
	AllocMW(ctx context.Context) (drv MWDriver, handle, rkey uint32, err error)
	CreateQP(ctx context.Context, attr *QPAttr, up *QP) (drv QPDriver, num uint32, err error)
	Destroy(ctx context.Context)
}

// MRDriver is a provider's memory region.
type MRDriver interface {
	// Destroy returns when no access under the region's keys is left.
	Destroy(ctx context.Context)
}

// MWDriver is a provider's memory window.
type MWDriver interface {
	// Destroy returns when no access under the window's key is left.
	Destroy(ctx context.Context)
}

// CQDriver is a provider's completion queue.
type CQDriver interface {
	// Poll takes up to len(wcs) completions.
	//
	//level:dispatch noalloc
	Poll(f *dispatch.Frame, wcs []WC) int
	// Arm asks for one CQ.Fire at the next completion; true says that there are
	// completions already and nothing was armed.
	//
	//level:dispatch noalloc
	Arm(f *dispatch.Frame) (fireNow bool)
	Destroy(ctx context.Context)
}

// QPDriver is a provider's queue pair.
type QPDriver interface {
	// Post, PostRecv and Ring implement QP's methods of these names.
	//
	//level:dispatch noalloc
	Post(f *dispatch.Frame, wrs []WR) (accepted int, err error)
	//level:dispatch noalloc
	PostRecv(f *dispatch.Frame, wrs []RecvWR) (accepted int, err error)
	//level:dispatch noalloc
	Ring(f *dispatch.Frame)
	// State may be called at both levels.
	//
	//level:dispatch
	State() QPState
	Modify(ctx context.Context, to QPState) error
	// Connect begins to connect; QP.Connected or ConnectFailed ends it. An error
	// ends it at once.
	Connect(ctx context.Context, attr *ConnectAttr) error
	// Disconnect begins to disconnect; QP.DisconnectDone ends it.
	Disconnect(ctx context.Context)
	// Cancel ends what is pending, by ConnectFailed, AcceptDone and DisconnectDone,
	// and takes the QP to Error, which flushes what is posted. Nothing begins later.
	Cancel(ctx context.Context)
	// Destroy returns when the device has forgotten the QP. It comes after Cancel,
	// when nothing is pending.
	Destroy(ctx context.Context)
}

// ListenerDriver is a provider's listener.
type ListenerDriver interface {
	// Destroy refuses what has not been delivered.
	Destroy(ctx context.Context)
}

// RequestDriver is a provider's connection request.
type RequestDriver interface {
	// Accept begins to accept with a QP of the same provider; QP.AcceptDone ends it.
	// An error ends it at once.
	Accept(ctx context.Context, qp QPDriver, attr *AcceptAttr) error
	// Reject refuses; it copies private and does not wait.
	//
	//level:dispatch
	Reject(reason RejectReason, private []byte)
}
