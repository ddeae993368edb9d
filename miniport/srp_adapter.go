package miniport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// SRPConfig says how to make an SRP adapter.
type SRPConfig struct {
	// Device is the HCA. It is the caller's, who closes it after the port.
	Device *verbs.Device
	// Protect is how memory is kept from targets; see srp.Protect. On a device without
	// memory windows ProtectIO becomes ProtectBounce.
	Protect srp.Protect
}

// SRP is the SRP miniport: an initiator port on an HCA, with the targets that it is
// logged in to. It implements Miniport and Registrar.
//
// Ownership: made by NewSRP, given to Port.AddAdapter, and the port's from then on.
type SRP struct {
	// Fixed after FindAdapter.
	config  SRPConfig
	adapter *Adapter
	pd      *verbs.PD

	scanner  *dispatch.Worker // looks for units after events
	resetter *dispatch.Worker // resets the bus
	buses    dispatch.Stack[Token, *Token]
	busWork  dispatch.Work

	mu        dispatch.Mutex[dispatch.RankAdapter] // guards changing what follows
	targets   atomic.Pointer[[]*Target]            // never changed in place
	suspended bool
	stopped   bool
}

// Errors of AddTarget.
var (
	// ErrDuplicate: the adapter is logged in to that target port already, with the
	// same initiator port. Use another initiator_ext, or the target that is there.
	ErrDuplicate = errors.New("already connected to this target port")
	// ErrSuspended: the adapter is suspended and logs in to nothing. Try again when it has
	// been resumed.
	ErrSuspended = errors.New("adapter is suspended")
)

// NewSRP makes an SRP adapter without targets.
func NewSRP(c SRPConfig) *SRP {
	if c.Protect == srp.ProtectIO && !c.Device.Attr().MemoryWindows {
		c.Protect = srp.ProtectBounce
	}
	m := &SRP{config: c}
	m.targets.Store(&[]*Target{})
	return m
}

// FindAdapter opens the protection domain.
func (m *SRP) FindAdapter(ctx context.Context, a *Adapter) error {
	var op verbs.Op[*verbs.PD]
	m.config.Device.CreatePD(&op)
	pd, err := op.Wait(ctx)
	if err != nil {
		return err
	}
	m.adapter, m.pd = a, pd
	m.busWork.Init(m.runBusReset)
	m.startWorkers()
	return nil
}

// startWorkers starts the goroutines that do for the adapter what blocks. Close ends
// them.
func (m *SRP) startWorkers() {
	m.scanner, m.resetter = dispatch.NewWorker(1), dispatch.NewWorker(1)
}

// Register makes an arena known to the HCA, with no more rights than the protection
// needs.
func (m *SRP) Register(ctx context.Context, a *arena.Arena) (*Registration, error) {
	access := verbs.LocalWrite
	switch m.config.Protect {
	case srp.ProtectIO:
		access |= verbs.BindMW
	case srp.ProtectRegion:
		access |= verbs.RemoteRead | verbs.RemoteWrite
	}
	var op verbs.Op[*verbs.MR]
	m.pd.RegisterMR(&op, &verbs.MRAttr{Arena: a, Access: access})
	// Waited for to the end: a registration that came later would be of memory that is gone.
	mr, err := op.Wait(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	return &Registration{LKey: mr.LKey(), RKey: mr.RKey(), Release: func() {
		// It cannot fail, and nobody may use the memory before it has ended.
		_ = closeObject(context.Background(), mr)
	}}, nil
}

// closer is a verbs object.
type closer interface {
	Close(op *verbs.Op[verbs.None])
}

// closeObject closes a verbs object and waits for it.
func closeObject(ctx context.Context, c closer) error {
	op := new(verbs.Op[verbs.None])
	c.Close(op)
	_, err := op.Wait(ctx)
	return err
}

// AddTarget begins to log in to a target port and waits for the first attempt. On an
// error the target is not kept, unless keep says to go on trying: then there is no error,
// Target.Err has it, and when the target is there its units are looked for.
// Errors: ErrDuplicate, ErrSuspended, ErrClosed, srp's login errors, ctx's.
func (m *SRP) AddTarget(ctx context.Context, c TargetConfig, keep bool) (*Target, error) {
	if c.Name == "" {
		c.Name = c.Address.String()
	}
	c.Session.Protect = m.config.Protect
	t, err := m.enlist(c, keep)
	if err == nil {
		err = t.await(ctx, TargetUp)
	}
	switch {
	case t == nil:
	case err == nil:
		return t, nil
	case keep && t.State() != TargetClosed:
		t.unaskedFor()
		return t, nil
	default:
		m.RemoveTarget(context.WithoutCancel(ctx), t)
	}
	return nil, fmt.Errorf("target %s: %w", c.Name, err)
}

// enlist makes a target, and starts its keeper.
func (m *SRP) enlist(c TargetConfig, keep bool) (*Target, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped || m.adapter == nil {
		return nil, ErrClosed
	}
	for _, o := range *m.targets.Load() {
		if o.config.Port == c.Port && o.config.Initiator == c.Initiator {
			return nil, fmt.Errorf("%w as %s, by the same initiator port %s: to use a second path to it, give that another initiator_ext",
				ErrDuplicate, o.config.Name, c.Initiator)
		}
	}
	if m.suspended && !keep {
		return nil, ErrSuspended
	}
	t := newTarget(m, c, len(m.adapter.port.execs))
	t.hold = m.suspended
	m.setTargets(append(m.Targets(), t))
	t.start()
	if m.suspended {
		return t, ErrSuspended
	}
	return t, nil
}

// RemoveTarget logs out and forgets the target. What is at it may end, for as long as
// srp.SessionConfig.LogoutTimeout says and ctx lasts. I/O of units that have no other path
// completes with StatusNoDevice. Removing it again does nothing.
func (m *SRP) RemoveTarget(ctx context.Context, t *Target) {
	t.end()
	stop := context.AfterFunc(ctx, t.hurry)
	defer stop()
	<-t.done
	m.mu.Lock()
	m.setTargets(slices.DeleteFunc(m.Targets(), func(o *Target) bool { return o == t }))
	m.mu.Unlock()
	m.adapter.TargetRemoved(context.WithoutCancel(ctx), t)
}

// Targets returns the targets in the order they were added.
func (m *SRP) Targets() []*Target { return slices.Clone(*m.targets.Load()) }

func (m *SRP) setTargets(ts []*Target) { m.targets.Store(&ts) }

// rescan has units looked for. Level: both.
func (t *Target) rescan() { t.mp.scanner.Queue(&t.scan) }

// runScan looks for units after an event: what asks for it meanwhile has it run again,
// after a pause, so that a target that reports one event after the other is not all that
// the scanner does.
func (t *Target) runScan(ctx context.Context) {
	a := t.mp.adapter
	_, err := a.port.Scan(ctx, a, t)
	over := ctx.Err() != nil || t.life.Err() != nil || errors.Is(err, ErrClosed)
	if err != nil && !over {
		a.Log().Warn("scan", "target", t.Name(), "err", err)
	}
	if fn := a.port.config.Rescanned; fn != nil && !over {
		fn(t, err)
	}
	pause := time.NewTimer(scanPause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
}

// unaskedFor says that nobody is going to scan the target when it logs in.
func (t *Target) unaskedFor() {
	t.mu.Lock()
	t.unasked = true
	t.mu.Unlock()
	if t.logins.Load() > 0 {
		t.rescan() // it has been quicker
	}
}

// AdapterControl suspends, resumes and stops. Suspend logs out of every target, which what
// is outstanding may use to end; Resume logs in again, and ends with the errors of the
// first attempts, which go on.
func (m *SRP) AdapterControl(ctx context.Context, c AdapterControl) error {
	if c == Suspend || c == Resume {
		return m.suspend(ctx, c == Suspend)
	}
	m.mu.Lock()
	m.stopped = true
	m.mu.Unlock()
	var all sync.WaitGroup
	for _, t := range m.Targets() {
		all.Go(func() { m.RemoveTarget(ctx, t) })
	}
	all.Wait()
	return nil
}

func (m *SRP) suspend(ctx context.Context, hold bool) error {
	m.mu.Lock()
	if m.stopped {
		m.mu.Unlock()
		return ErrClosed
	}
	m.suspended = hold
	targets := m.Targets()
	for _, t := range targets {
		t.setHold(hold)
	}
	m.mu.Unlock()
	want := TargetUp
	if hold {
		want = TargetSuspended
	}
	var errs []error
	for _, t := range targets {
		if t.LoggedOut() && !hold {
			continue
		}
		if err := t.await(ctx, want); err != nil {
			errs = append(errs, fmt.Errorf("target %s: %w", t.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// UnitControl notes which units a target leads to.
func (m *SRP) UnitControl(ctx context.Context, p *Path, c UnitControl) error {
	switch {
	case c == UnitStart:
		p.target.addUnit(p.unit)
	case !slices.ContainsFunc(*p.unit.paths.Load(), func(o *Path) bool { return o.target == p.target }):
		p.target.removeUnit(p.unit)
	}
	return nil
}

// Close closes the protection domain, after everything else.
func (m *SRP) Close(ctx context.Context) error {
	if m.pd == nil {
		return nil // FindAdapter has failed
	}
	m.scanner.Close()
	m.resetter.Close()
	return closeObject(ctx, m.pd)
}
