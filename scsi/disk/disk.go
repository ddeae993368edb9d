package disk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"minisrp/miniport"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Unit is the logical unit as the disk needs it: *miniport.Unit.
type Unit interface {
	// Submit queues an SRB. Done is called exactly once, later, never inside, and
	// only when no copy of the command can be executed any more.
	//
	//level:dispatch noalloc
	Submit(f *dispatch.Frame, s *miniport.SRB)
}

// Port is where the unit is: *miniport.Port.
type Port interface {
	// Processors returns those on which the unit takes SRBs at once.
	Processors() []*dispatch.Processor
	// RegisterRegion makes memory known to every adapter.
	RegisterRegion(ctx context.Context, a *arena.Arena) (*miniport.Region, error)
	// DeregisterRegion undoes it.
	DeregisterRegion(ctx context.Context, r *miniport.Region)
}

var (
	_ Unit = (*miniport.Unit)(nil)
	_ Port = (*miniport.Port)(nil)
)

// Options are what a disk can be told. The zero value has the defaults.
type Options struct {
	// Depth is how many commands the disk has at the unit for each processor, 1 to
	// MaxDepth; 0 means DefaultDepth. More requests wait in the disk.
	Depth int
	// Stock is where it takes their storage from, but for one; nil: it has all of its own.
	Stock *Stock
	// MaxTransfer is the most data of one command that the adapter takes, in bytes,
	// MinMaxTransfer or more; 0 means DefaultMaxTransfer. The unit may want less.
	MaxTransfer uint32
	// MaxSegments is how many pieces of memory it takes, 1 to MaxSegments; 0 means
	// MaxSegments.
	MaxSegments int
	// Event is told of what happens to the disk, one event at a time. It must not
	// close the disk. It may be nil.
	//
	//level:passive
	Event func(ctx context.Context, e Event)
	// Log is told of state changes, never at Dispatch. nil means the default logger.
	Log *slog.Logger
}

// Disk is an open disk.
//
// Ownership: made by Open, ended by Close. Requests belong to the lane of the processor they were submitted on; what
// all lanes share is replaced as a whole, or atomic.
type Disk struct {
	// Fixed after construction.
	unit    Unit
	port    Port
	options Options
	log     *slog.Logger
	lanes   []*lane
	stock   *Stock
	lists   []miniport.Segment // of the lanes' own slots
	control miniport.Segment   // for the answers to an identification; has no region when there is none under way
	worker  *dispatch.Worker   // one goroutine: what must look again at the unit

	view     atomic.Pointer[view]
	refused  atomic.Uint32 // caps that the unit was found not to have
	pending  atomic.Uint32 // notes for the worker
	opened   atomic.Bool   // identified: notes count
	closing  atomic.Bool
	changed  atomic.Bool // another unit is in its place
	lost     atomic.Bool // acknowledged writes are lost
	look     dispatch.Work
	asking   bool // the control slot has a command that nobody waits for any more
	released bool // the memory has been given back
}

// Open identifies the unit and makes a disk of it. It waits for a unit that is becoming ready. The processors must
// run, and the caller must not be the only one to run them.
//
// Errors: ErrNoUnit, ErrNotDisk, ErrNoMedium, ErrNoCapacity, ErrBlockSize, ErrNotReady, ErrGone, ErrReserved,
// other *Error, ctx's error, or no memory. When ctx ends it still waits for the command at the unit, whose deadline
// bounds it.
func Open(ctx context.Context, u Unit, p Port, o Options) (*Disk, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	d := &Disk{unit: u, port: p, options: o, log: o.Log}
	processors := p.Processors()
	if len(processors) == 0 {
		return nil, fmt.Errorf("%w: a port without processors", ErrInvalid)
	}
	if err := d.makeLanes(ctx, len(processors)); err != nil {
		return nil, err
	}
	v, err := d.identify(ctx)
	if err != nil {
		d.stopLanes(context.WithoutCancel(ctx))
		d.release(context.WithoutCancel(ctx))
		return nil, err
	}
	d.view.Store(v)
	d.look.InitRunner((*looker)(d))
	d.startWorker()
	d.opened.Store(true)
	return d, nil
}

// complete checks the options and fills in the defaults.
func (o *Options) complete() error {
	if o.Depth == 0 {
		o.Depth = DefaultDepth
	}
	if o.MaxTransfer == 0 {
		o.MaxTransfer = DefaultMaxTransfer
	}
	if o.MaxSegments == 0 {
		o.MaxSegments = MaxSegments
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	switch {
	case o.Depth < 1 || o.Depth > MaxDepth:
		return fmt.Errorf("%w: a depth of %d commands, want 1 to %d", ErrInvalid, o.Depth, MaxDepth)
	case o.MaxTransfer < MinMaxTransfer || o.MaxTransfer > 1<<31:
		return fmt.Errorf("%w: a transfer limit of %d bytes, want %d to 2^31", ErrInvalid, o.MaxTransfer, MinMaxTransfer)
	case o.MaxSegments < 1 || o.MaxSegments > MaxSegments:
		return fmt.Errorf("%w: %d segments a command, want 1 to %d", ErrInvalid, o.MaxSegments, MaxSegments)
	}
	return nil
}

// makeLanes makes the lanes of n processors, with a stock of their own if the disk was given none.
func (d *Disk) makeLanes(ctx context.Context, n int) error {
	o := &d.options
	if d.stock = o.Stock; d.stock == nil {
		m, err := newMemory(ctx, d.port, n*o.Depth)
		if err != nil {
			return err
		}
		if d.stock, err = NewStock(ctx, m, o.Depth-1); err != nil {
			return errors.Join(err, m.Close(ctx))
		}
	}
	m := d.stock.memory
	for _, h := range d.stock.shelves {
		list, err := m.take(ctx, &m.lists)
		if err != nil {
			return errors.Join(err, d.release(ctx))
		}
		d.lists = append(d.lists, list)
		l := new(lane)
		l.init(d, h, list)
		d.lanes = append(d.lanes, l)
	}
	return nil
}

// startWorker starts the goroutine that looks again at the unit. Close ends it.
func (d *Disk) startWorker() { d.worker = dispatch.NewWorker(1) }

// Info returns what is known of the disk now. Level: both.
func (d *Disk) Info() Info { return d.view.Load().info }

// Submit begins a request. It never fails and never waits: Done is called exactly once, later, at Dispatch, on the
// processor that f owns if that is one of the port's. Requests beyond the depth wait in the order of Submit. Level:
// Dispatch.
//
// A request that the caller may not make, or that needs nothing of the unit, ends without a command: a Flush when
// the unit is known to have no volatile cache, an Unmap where the unit cannot unmap, any with a Length of 0.
//
//level:dispatch noalloc
func (d *Disk) Submit(f *dispatch.Frame, r *Request) {
	if r.work.lane != nil {
		panic("disk: a request was submitted that is not complete")
	}
	l := d.lanes[0]
	for _, o := range d.lanes {
		if o.proc == f.Processor() {
			l = o
		}
	}
	r.work.lane = l
	r.Err = nil
	if f.On(l.proc) {
		l.submit(f, r)
		return
	}
	r.work.link.r = r
	l.incoming.Push(&r.work.link)
	l.dpc.Queue(f)
}

// AcceptLoss ends the state in which each Flush fails with ErrLostWrites. The caller has seen to it that everybody
// who relies on flushes knows. It reports whether the disk was in that state. Level: both.
func (d *Disk) AcceptLoss() bool { return d.lost.Swap(false) }

// Close ends the disk: what is at the unit completes, what waits ends with ErrClosed, as does what is submitted
// from now on. It does not flush. It waits for the commands at the unit; when ctx ends first it returns ctx's error,
// the disk's memory stays the unit's, and Close may be called again. A second Close does nothing. Only one goroutine
// may be in it.
func (d *Disk) Close(ctx context.Context) error {
	if err := d.stopLanes(ctx); err != nil {
		return err
	}
	if d.released {
		return nil
	}
	// No command is left to tell the worker anything, and what it asks from now on ends at once.
	d.worker.Close()
	return d.release(ctx)
}

// stopLanes ends what waits and waits for what is at the unit.
func (d *Disk) stopLanes(ctx context.Context) error {
	d.closing.Store(true)
	for _, l := range d.lanes {
		l.dpc.Post()
	}
	for _, l := range d.lanes {
		select {
		case <-l.idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// release gives the memory back.
func (d *Disk) release(ctx context.Context) error {
	d.released = true
	m := d.stock.memory
	m.put(&m.lists, d.lists...)
	d.returnControl()
	if d.options.Stock != nil {
		return nil
	}
	d.stock.Close()
	return m.Close(ctx)
}

// takeControl gets memory for the answers to an identification.
func (d *Disk) takeControl(ctx context.Context) (err error) {
	if d.control.Region == nil {
		d.control, err = d.stock.memory.take(ctx, &d.stock.memory.controls)
	}
	return err
}

// returnControl gives it back.
func (d *Disk) returnControl() {
	if d.control.Region != nil {
		d.stock.memory.put(&d.stock.memory.controls, d.control)
		d.control = miniport.Segment{}
	}
}
