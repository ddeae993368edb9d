package target

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Port is an SRP target port: what initiators log in to, and the units that it shows them.
//
// Ownership: made by New, ended by Close of the same caller. New, Attach, Detach, Listen, Sessions and Close are called
// by any goroutine; the rest runs on the port's processor.
type Port struct {
	// Fixed after construction.
	cfg    Config
	proc   *dispatch.Processor
	server *lun.Server
	pd     *verbs.PD
	pool   pool
	worker *dispatch.Worker // builds and takes down channels

	enabled atomic.Bool // a stale read answers a login as it would have been a moment before

	mu        sync.Mutex // makes Attach, Detach, Listen and Close one at a time
	slots     [lun.MaxUnits]unitSlot
	listeners []*verbs.Listener

	// Processor.
	closing  bool
	nexuses  *nexus
	channels *channel // those that hold resources, from login to their end
	count    int
	serial   uint64
	gone     bool
	quiet    chan struct{} // closed when no channel is left and none will come; Close waits
}

// unitSlot is how a unit's memory is known to the device. It is written before the unit is attached and after its last
// task, so that tasks see it whole.
type unitSlot struct {
	unit *lun.Unit
	mr   *verbs.MR // nil: the store is not memory

	tasks   atomic.Int32  // that may use it
	leaving atomic.Bool   // Detach waits; set before tasks is looked at for the last time
	drained chan struct{} // capacity 1: tasks has become 0 while leaving
}

// New makes a port that listens nowhere and has no units, enabled. Errors: ErrConfig, and the device's.
func New(ctx context.Context, cfg Config) (*Port, error) {
	if err := cfg.settle(); err != nil {
		return nil, err
	}
	p := &Port{cfg: cfg, proc: cfg.Processor, server: lun.NewServer(cfg.Processor), quiet: make(chan struct{})}
	pd, err := wait(ctx, cfg.Device.CreatePD)
	if err != nil {
		return nil, fmt.Errorf("target %v: %w", cfg.ID, err)
	}
	p.pd = pd
	if err := p.pool.open(ctx, pd, cfg.Buffers); err != nil {
		return nil, errors.Join(fmt.Errorf("target %v: %w", cfg.ID, err), closeObject(pd))
	}
	p.worker = dispatch.NewWorker(builders)
	p.enabled.Store(true)
	return p, nil
}

// builders is the number of goroutines that build and take down channels: more than one, so that a device that is slow
// with one does not hold up the others.
const builders = 2

// wait starts an operation and waits for it.
func wait[T any](ctx context.Context, start func(op *verbs.Op[T])) (T, error) {
	op := new(verbs.Op[T]) // stays in use when ctx ends first
	start(op)
	return op.Wait(ctx)
}

// closeObject closes a verbs object and waits for it.
//
//level:passive
func closeObject(o interface{ Close(*verbs.Op[verbs.None]) }) error {
	_, err := wait(context.Background(), o.Close)
	return err
}

// ID returns the target port identifier.
func (p *Port) ID() srp.PortID { return p.cfg.ID }

// Attach shows u at LUN n, 0 to lun.MaxUnits-1. A unit on memory is registered with the device, so that its data is not
// copied. A unit may be attached to several ports of its processor. Errors: lun.ErrLUN, lun.ErrConfig, the device's.
func (p *Port) Attach(ctx context.Context, n int, u *lun.Unit) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n < 0 || n >= lun.MaxUnits || p.slots[n].unit != nil {
		return p.server.Attach(n, u) // which says what is wrong
	}
	s := &p.slots[n]
	if a := u.Memory(); a != nil {
		attr := &verbs.MRAttr{Arena: a, Access: verbs.LocalWrite}
		// Waited for to the end: a region that came later would be of memory that may be gone.
		mr, err := wait(context.WithoutCancel(ctx), func(op *verbs.Op[*verbs.MR]) { p.pd.RegisterMR(op, attr) })
		if err != nil {
			return fmt.Errorf("LUN %d: %w", n, err)
		}
		s.mr = mr
	}
	s.unit, s.drained = u, make(chan struct{}, 1)
	s.leaving.Store(false)
	if err := p.server.Attach(n, u); err != nil {
		return errors.Join(err, s.clear())
	}
	return nil
}

// Detach takes the unit at LUN n away, waits for its tasks to end, and returns it: it is the caller's to close. When ctx
// ends first the unit is gone for initiators but still in use; Detach may be called again. Errors: lun.ErrLUN, ctx's.
func (p *Port) Detach(ctx context.Context, n int) (*lun.Unit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.server.Detach(n); err != nil && (n < 0 || n >= lun.MaxUnits || p.slots[n].unit == nil) {
		return nil, err
	}
	s := &p.slots[n]
	// Who has looked the unit up before is counted once the processor has been there.
	if err := p.proc.Call(ctx, func(*dispatch.Frame) {}); err != nil {
		return nil, err
	}
	s.leaving.Store(true)
	for s.tasks.Load() != 0 {
		select {
		case <-s.drained:
		case <-ctx.Done():
			return nil, fmt.Errorf("LUN %d: %d tasks left: %w", n, s.tasks.Load(), ctx.Err())
		}
	}
	u := s.unit
	return u, s.clear()
}

// clear forgets the unit and its registration.
//
//level:passive
func (s *unitSlot) clear() error {
	mr := s.mr
	s.unit, s.mr = nil, nil
	if mr == nil {
		return nil
	}
	return closeObject(mr)
}

// exit counts a task out.
func (s *unitSlot) exit() {
	if s.tasks.Add(-1) == 0 && s.leaving.Load() {
		select {
		case s.drained <- struct{}{}:
		default:
		}
	}
}

// Listen takes logins at an address, also at several. Errors: verbs.ErrInUse and others of the device; ErrClosed.
func (p *Port) Listen(ctx context.Context, at verbs.Address) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.worker == nil {
		return ErrClosed
	}
	attr := &verbs.ListenAttr{Address: at, Processor: p.proc, Request: p.request}
	l, err := wait(ctx, func(op *verbs.Op[*verbs.Listener]) { p.cfg.Device.Listen(op, attr) })
	if err != nil {
		return fmt.Errorf("target %v: %w", p.cfg.ID, err)
	}
	p.listeners = append(p.listeners, l)
	p.cfg.Log.Info("target listens", "target", p.cfg.ID, "address", at)
	return nil
}

// SetEnabled says whether logins are taken. While they are not, initiators are told to try again later; those that are
// logged in stay.
func (p *Port) SetEnabled(on bool) { p.enabled.Store(on) }

// Close ends the port: it tells every initiator by SRP_T_LOGOUT, waits for what they have outstanding to end, and gives
// everything back. Units are detached and not closed. When ctx ends first, Close can be called again. Errors: ctx's, the
// device's.
func (p *Port) Close(ctx context.Context) error {
	p.mu.Lock()
	if p.worker == nil {
		p.mu.Unlock()
		return nil
	}
	p.enabled.Store(false)
	var errs []error
	for _, l := range p.listeners {
		errs = append(errs, closeObject(l))
	}
	p.listeners = nil
	p.mu.Unlock()
	if err := p.proc.Call(ctx, p.shutDown); err != nil {
		return err
	}
	select {
	case <-p.quiet:
	case <-ctx.Done():
		return fmt.Errorf("target %v: channels are left: %w", p.cfg.ID, ctx.Err())
	}
	for n := range lun.MaxUnits {
		if p.slots[n].unit != nil {
			if _, err := p.Detach(ctx, n); err != nil {
				return err
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.worker.Close()
	p.worker = nil
	errs = append(errs, p.pool.close(), closeObject(p.pd))
	p.cfg.Log.Info("target closed", "target", p.cfg.ID)
	return errors.Join(errs...)
}

// shutDown tells every channel to go.
func (p *Port) shutDown(f *dispatch.Frame) {
	if p.closing {
		return
	}
	p.closing = true
	for c := p.channels; c != nil; c = c.next {
		c.logout(f, srp.LogoutNoReason)
	}
	p.left(f)
}

// left tells Close when no channel is left.
func (p *Port) left(f *dispatch.Frame) {
	if p.closing && p.channels == nil && !p.gone {
		p.gone = true
		close(p.quiet)
	}
}
