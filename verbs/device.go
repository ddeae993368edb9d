package verbs

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"minisrp/verbs/dispatch"
)

// DeviceAttr describes a device and its limits.
type DeviceAttr struct {
	Name     string
	NodeGUID GUID
	Ports    []PortAttr // port numbers count from 1

	MaxQP, MaxCQ, MaxMR, MaxMW, MaxPD int
	MaxWR                             uint32 // work requests in one queue
	MaxSGE                            uint32 // pieces of one request, up to the package's MaxSGE
	MaxCQE                            uint32 // completions in one CQ
	MaxMRSize                         uint64 // bytes
	MaxReadAtomic                     uint8  // RDMA READs a QP answers at a time
	CompletionVectors                 int
	MemoryWindows                     bool // type 2, BIND_MW and LOCAL_INV as work requests
}

// PortAttr describes a port.
type PortAttr struct {
	Active bool
	GIDs   []GID
	PKeys  []uint16
	MTU    uint32 // bytes
}

// Event is something that happened to a device.
type Event uint8

const (
	PortUp Event = iota
	PortDown
	AddressChange // GID, LID or P_Key table
	DeviceFatal   // the device needs a reset
	DeviceRemoved
	eventCount
)

var eventText = [...]string{"port up", "port down", "address change", "device fatal", "device removed"}

func (e Event) String() string { return text(eventText[:], e, "event") }

// EventFunc is told of a device's events, each at least once; events of one kind
// that come before it has run may be told once.
//
//level:dispatch
type EventFunc func(f *dispatch.Frame, e Event)

// Device is an open HCA.
//
// Ownership: made by Open, ended by Close of the same caller. Objects made from it
// hold it open.
type Device struct {
	node
	drv    Driver
	attr   DeviceAttr
	worker *dispatch.Worker
	trace  trace // fixed

	event    EventFunc
	events   atomic.Uint32 // bits of Event
	eventDPC dispatch.DPC

	closing   sync.Once
	destroyed chan struct{}
}

// Open wraps a provider's device. p is the processor on which device events and
// the callbacks of PD, MR, MW and listener operations run; event may be nil.
//
//level:passive
func Open(drv Driver, p *dispatch.Processor, event EventFunc) *Device {
	d := &Device{drv: drv, attr: drv.Attr(), worker: dispatch.NewWorker(workers), event: event}
	d.eventDPC.Init(p, d.runEvents)
	d.node.init(d, p, holds{})
	d.node.destroy = d.drv.Close
	d.destroyed = make(chan struct{})
	drv.Start(d)
	return d
}

// workers is the number of goroutines for blocking verbs: more than one, so that
// a slow firmware command does not hold up every other.
const workers = 2

// Attr returns what the device can do.
func (d *Device) Attr() *DeviceAttr { return &d.attr }

// Name returns the device's name.
func (d *Device) Name() string { return d.attr.Name }

// Processor returns the processor given to Open.
func (d *Device) Processor() *dispatch.Processor { return d.proc }

// Raise tells the consumer of an event. Called by the provider, at both levels.
func (d *Device) Raise(e Event) {
	d.events.Or(1 << e)
	d.eventDPC.Post()
}

func (d *Device) runEvents(f *dispatch.Frame) {
	bits := d.events.Swap(0)
	for e := range eventCount {
		if bits&(1<<e) != 0 && d.event != nil {
			d.event(f, e)
		}
	}
}

// Close waits until every object of the device is closed, closes it, and returns
// when no callback frame of the device is left anywhere. When ctx ends first it
// returns its error; the device stays pending until its objects are closed, and
// Close may be called again to wait on. It must not be called from a callback.
func (d *Device) Close(ctx context.Context) error {
	d.closing.Do(func() {
		op := new(Op[None])
		d.node.Close(op)
		go d.finish(op)
	})
	select {
	case <-d.destroyed:
		return nil
	case <-ctx.Done():
		left := d.refs.Load() &^ closingBit
		return opError("close", d.attr.Name, fmt.Errorf("%d objects are still open: %w", left, ctx.Err()))
	}
}

// finish is a goroutine that ends with the last object of the device.
func (d *Device) finish(op *Op[None]) {
	op.Wait(context.Background())
	d.worker.Close()
	d.barrier(d.proc)
	close(d.destroyed)
}

// CreatePD makes a protection domain. Level: both.
// Errors: ErrClosed, ErrNoResources.
func (d *Device) CreatePD(op *Op[*PD]) {
	op.start(d, d.proc, d, createPD{}, holds{&d.node}, "create PD", nil)
}

type createPD struct{}

func (createPD) perform(ctx context.Context, on any, op *Op[*PD]) (*PD, error, bool) {
	d := on.(*Device)
	drv, err := d.drv.CreatePD(ctx)
	if err != nil {
		return nil, opError("create PD", d.attr.Name, err), true
	}
	pd := &PD{drv: drv}
	pd.node.init(d, d.proc, op.keep())
	pd.node.destroy = drv.Destroy
	return pd, nil, true
}

// PD is a protection domain: memory and QPs of different domains do not know each
// other (IBA 10.2.3).
type PD struct {
	node
	drv PDDriver
}

// Device returns the device that the domain belongs to.
func (pd *PD) Device() *Device { return pd.dev }
