package miniport

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"minisrp/verbs/dispatch"
)

// maxAdapters bounds the table of keys in a Region.
const maxAdapters = 16

// Adapter is one adapter as the port knows it, and what a miniport calls the port
// by.
type Adapter struct {
	// Fixed after construction.
	port  *Port
	mp    Miniport
	name  string
	index int
}

// Name returns the adapter's name.
func (a *Adapter) Name() string { return a.name }

// Log returns where state changes are logged; not at Dispatch.
func (a *Adapter) Log() *slog.Logger { return a.port.log.With("adapter", a.name) }

// Processors returns the processors on which StartIO is called: channel i of a
// session belongs to processor i.
func (a *Adapter) Processors() []*dispatch.Processor { return a.port.config.Processors }

// AddAdapter finds and initialises an adapter. It succeeds with no target in reach, and
// leaves nothing behind when it fails. Errors: ErrClosed, the miniport's, ctx's.
func (p *Port) AddAdapter(ctx context.Context, name string, mp Miniport) (*Adapter, error) {
	ctx, exit, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer exit()
	a := &Adapter{port: p, mp: mp, name: name}
	if a.index, err = p.reserve(); err == nil {
		if err = mp.FindAdapter(ctx, a); err == nil {
			err = p.start(ctx, a)
		}
		if err != nil {
			p.unreserve(a.index)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("adapter %s: %w", name, p.orClosed(err))
	}
	return a, nil
}

// reserve takes a place in the regions' tables.
func (p *Port) reserve() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.places[:], false)
	if i < 0 {
		return 0, fmt.Errorf("a port has at most %d adapters", maxAdapters)
	}
	p.places[i] = true
	return i, nil
}

func (p *Port) unreserve(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places[i] = false
}

// start makes an adapter that was found ready, or gives back what it has. Regions come
// and go before or afterwards.
func (p *Port) start(ctx context.Context, a *Adapter) error {
	err := p.setup.acquire(ctx)
	if err == nil {
		defer p.setup.release()
		if err = p.introduce(ctx, a); err == nil {
			return nil
		}
		for _, r := range p.regions {
			r.forget(a)
		}
	}
	all := context.WithoutCancel(ctx)
	if e := a.mp.AdapterControl(all, Stop); e != nil {
		a.Log().Warn("adapter stopped", "err", e)
	}
	if e := a.mp.Close(all); e != nil {
		a.Log().Warn("adapter closed", "err", e)
	}
	return err
}

// introduce makes regions and adapter known to each other. The caller holds setup.
func (p *Port) introduce(ctx context.Context, a *Adapter) error {
	for _, r := range p.regions {
		if err := r.register(ctx, a); err != nil {
			return err
		}
	}
	var err error // not looked at when the call may still run
	if e := p.call(ctx, p.execs[0], func(f *dispatch.Frame) { err = a.mp.Initialize(f) }); e != nil {
		return e
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	p.adapters = append(p.adapters, a)
	return nil
}

// Adapters returns the adapters in the order they were added.
func (p *Port) Adapters() []*Adapter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.adapters)
}
