package miniport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/arena"
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

	async atomic.Bool // a target has reported an asynchronous event

	bus busReset

	mu      sync.Mutex                // guards changing what follows
	targets atomic.Pointer[[]*Target] // never changed in place
	stopped bool
}

// Errors of AddTarget.
var (
	// ErrDuplicate: the adapter is logged in to that target port already, with the
	// same initiator port. Use another initiator_ext, or the target that is there.
	ErrDuplicate = errors.New("already connected to this target port")
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
	return nil
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
	mr, err := op.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return &Registration{LKey: mr.LKey(), RKey: mr.RKey(), Release: func(ctx context.Context) { closeObject(ctx, mr) }}, nil
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
// error the target is not kept, unless keep says to go on trying.
// Errors: ErrDuplicate, srp's login errors.
func (m *SRP) AddTarget(ctx context.Context, c TargetConfig, keep bool) (*Target, error) {
	if c.Name == "" {
		c.Name = c.Address.String()
	}
	c.Session.Protect = m.config.Protect
	t := &Target{mp: m, config: c, wake: make(chan struct{}, 1), done: make(chan struct{}), watch: make(chan struct{})}
	t.channels = make([]atomic.Pointer[srp.Channel], len(m.adapter.port.execs))
	t.waiters = make([]waiters, len(t.channels))
	t.units.Store(&[]*Unit{})

	m.mu.Lock()
	if m.stopped {
		m.mu.Unlock()
		return nil, ErrClosed
	}
	for _, o := range *m.targets.Load() {
		if o.config.Port == c.Port && o.config.Initiator == c.Initiator {
			m.mu.Unlock()
			return nil, fmt.Errorf("target %s: %w: it is %s", c.Name, ErrDuplicate, o.config.Name)
		}
	}
	m.setTargets(append(m.Targets(), t))
	m.mu.Unlock()

	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.cancel = cancel
	go t.keep(life)
	if err := t.await(ctx, TargetUp); err != nil && !keep {
		m.RemoveTarget(context.WithoutCancel(ctx), t)
		return nil, fmt.Errorf("target %s: %w", c.Name, err)
	}
	return t, nil
}

// RemoveTarget logs out and forgets the target. I/O of units that have no other path
// completes with StatusNoDevice.
func (m *SRP) RemoveTarget(ctx context.Context, t *Target) {
	m.mu.Lock()
	m.setTargets(slices.DeleteFunc(m.Targets(), func(o *Target) bool { return o == t }))
	m.mu.Unlock()
	t.cancel()
	t.poke()
	<-t.done
	t.lost.Store(true)
	m.adapter.TargetChanged(t)
}

// Targets returns the targets in the order they were added.
func (m *SRP) Targets() []*Target { return slices.Clone(*m.targets.Load()) }

func (m *SRP) setTargets(ts []*Target) { m.targets.Store(&ts) }

// rescan looks for units again after a target has said that something changed.
func (m *SRP) rescan(ctx context.Context, t *Target) {
	if _, err := m.adapter.port.Scan(ctx, m.adapter, t); err != nil && ctx.Err() == nil {
		m.adapter.Log().Warn("scan after an asynchronous event", "target", t.Name(), "err", err)
	}
}

// AdapterControl suspends, resumes and stops.
func (m *SRP) AdapterControl(ctx context.Context, c AdapterControl) error {
	switch c {
	case Suspend, Resume:
		want := TargetUp
		if c == Suspend {
			want = TargetSuspended
		}
		var errs []error
		for _, t := range m.Targets() {
			t.mu.Lock()
			t.hold = c == Suspend
			t.mu.Unlock()
			t.poke()
			if err := t.await(ctx, want); err != nil {
				errs = append(errs, fmt.Errorf("target %s: %w", t.Name(), err))
			}
		}
		return errors.Join(errs...)
	default:
		m.mu.Lock()
		m.stopped = true
		m.mu.Unlock()
		for _, t := range m.Targets() {
			m.RemoveTarget(ctx, t)
		}
	}
	return nil
}

// UnitControl notes which units a target leads to.
func (m *SRP) UnitControl(ctx context.Context, p *Path, c UnitControl) error {
	if c == UnitStart {
		p.target.addUnit(p.unit)
	}
	return nil
}

// Close closes the protection domain, after everything else. There is none when FindAdapter has failed.
func (m *SRP) Close(ctx context.Context) error {
	if m.pd == nil {
		return nil
	}
	return closeObject(ctx, m.pd)
}
