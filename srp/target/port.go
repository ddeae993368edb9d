package target

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Port is an SRP target port: what initiators log in to, and the units that it shows them.
//
// Ownership: made by New, ended by Close of the same caller. What takes a context is called by any goroutine; the rest
// runs on the port's processor.
type Port struct {
	// Fixed after construction.
	cfg      Config
	reversed srp.PortID // cfg.ID as initiators of SRP r10 write it, with its halves exchanged
	proc     *dispatch.Processor
	pd       *verbs.PD
	buffers  *Buffers
	mr       *verbs.MR        // of buffers
	worker   *dispatch.Worker // builds and takes down channels

	enabled atomic.Bool // a stale read answers a login as it would have been a moment before
	// groups is replaced as a whole. A stale read judges a login as it would have been a moment before. The last group
	// is the port's own, which those get that no other names.
	groups atomic.Pointer[[]*Group]

	mu        dispatch.Mutex[dispatch.RankPort] // makes AddGroup, Attach, Detach, Listen and Close one at a time
	memory    map[*lun.Unit]*unitMemory
	listeners []*verbs.Listener

	// Processor.
	closing  bool
	faults   fault.Layer
	shown    fault.Request // room for what faults is shown
	held     list          // commands of all channels that a fault delays
	refused  refusals
	nexuses  *nexus
	channels *channel // those that hold resources, from login to their end
	count    int
	serial   uint64
	gone     bool
	quiet    chan struct{} // closed when no channel is left and none will come; Close waits
}

// New makes a port that listens nowhere and has no units, enabled. Errors: ErrConfig, and the device's.
func New(ctx context.Context, cfg Config) (*Port, error) {
	if err := cfg.settle(); err != nil {
		return nil, err
	}
	p := &Port{cfg: cfg, proc: cfg.Processor, memory: map[*lun.Unit]*unitMemory{}, quiet: make(chan struct{})}
	p.groups.Store(&[]*Group{newGroup(p, &GroupConfig{})})
	p.faults = cfg.Faults
	copy(p.reversed[:8], cfg.ID[8:])
	copy(p.reversed[8:], cfg.ID[:8])
	pd, err := wait(ctx, cfg.Device.CreatePD)
	if err != nil {
		return nil, fmt.Errorf("target %v: %w", cfg.ID, err)
	}
	p.pd = pd
	if err := p.openBuffers(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("target %v: %w", cfg.ID, err), closeObject(pd))
	}
	p.worker = dispatch.NewWorker(builders)
	p.refused.init(p)
	p.enabled.Store(true)
	return p, nil
}

// openBuffers makes the port's buffers, if it has no shared ones, and registers them.
func (p *Port) openBuffers(ctx context.Context) error {
	p.buffers = p.cfg.Shared
	if p.buffers == nil {
		p.buffers = new(Buffers)
		if err := p.buffers.open(p.proc, p.cfg.Buffers, p.cfg.Buffers); err != nil {
			return err
		}
	}
	attr := &verbs.MRAttr{Arena: p.buffers.arena, Access: verbs.LocalWrite}
	// Waited for to the end: a region that came later would be of an arena that is gone.
	mr, err := wait(context.WithoutCancel(ctx), func(op *verbs.Op[*verbs.MR]) { p.pd.RegisterMR(op, attr) })
	if p.mr = mr; err != nil && p.cfg.Shared == nil {
		err = errors.Join(err, p.buffers.Close(ctx))
	}
	return err
}

// closeBuffers undoes it.
func (p *Port) closeBuffers(ctx context.Context) error {
	err := closeObject(p.mr)
	if p.cfg.Shared == nil {
		err = errors.Join(err, p.buffers.Close(ctx))
	}
	return err
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
	for _, g := range *p.groups.Load() {
		if err := g.detachAll(ctx); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.worker.Close()
	p.worker = nil
	errs = append(errs, p.closeBuffers(ctx), closeObject(p.pd))
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
