package miniport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"minisrp/scsi"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// Errors that callers branch on.
var (
	// ErrNoUnit: there is no such unit, or no path to it. Scan again.
	ErrNoUnit = errors.New("no such logical unit")
	// ErrClosed: the port is closed.
	ErrClosed = errors.New("port is closed")
)

// Config says how to make a port.
type Config struct {
	// Processors run the port's lanes, 1 to 64, each once. Channels belong to them, and
	// callers that raise one of them get their completions there.
	Processors []*dispatch.Processor
	// Log is told of state changes, never at Dispatch. nil means the default logger.
	Log *slog.Logger
	// UnitFound is told of each unit that a scan finds for the first time, and
	// UnitChanged of one whose paths changed, the last of which may be gone. Called at
	// Passive, during a scan or the removal of a target, not while the port closes; they
	// may send commands, but not close the port. May be nil.
	UnitFound, UnitChanged func(u *Unit)
	// Rescanned is told that units were looked for since the target said that something
	// is other than before, or has logged in again, and the error of Scan: who has one
	// scans again, later. Called as those are. May be nil.
	Rescanned func(t *Target, err error)
}

// Port is the port driver: it owns adapters, the units behind them, and the memory
// that requests point into.
//
// Ownership: made by New, ended by Close. LOCK ORDER: scans, setup, mu. mu is never held
// across a call into a miniport or a callback; setup never across a callback.
type Port struct {
	// Fixed after construction.
	config Config
	log    *slog.Logger
	execs  []*executor
	probe  *Region
	scans  semaphore // held by the scan that uses the probe's memory
	setup  semaphore // guards regions; held while adapters and regions are made known to each other

	reporter *reporter

	life context.Context // ended by Close
	end  context.CancelFunc

	regions []*Region // that every adapter knows; guarded by setup

	memoryNote sync.Once

	mu       dispatch.Mutex[dispatch.RankUnits] // guards what follows
	places   [maxAdapters]bool
	adapters []*Adapter
	units    []*Unit
	byID     map[scsi.UnitID]*Unit
	byPath   map[pathKey]*Path
	closed   bool
	calls    sync.WaitGroup // that Close waits for; none begins once closed
}

// New makes a port without adapters. Errors: invalid processors, or no memory.
//
//level:passive
func New(c Config) (*Port, error) {
	if n := len(c.Processors); n < 1 || n > 64 {
		return nil, fmt.Errorf("a port with %d processors: want 1 to 64", n)
	}
	p := &Port{
		config: c, log: c.Log, scans: newSemaphore(), setup: newSemaphore(),
		byID: make(map[scsi.UnitID]*Unit), byPath: make(map[pathKey]*Path),
	}
	p.config.Processors = slices.Clone(c.Processors)
	if p.log == nil {
		p.log = slog.Default()
	}
	for i, proc := range p.config.Processors {
		if slices.Contains(p.config.Processors[:i], proc) {
			return nil, fmt.Errorf("processor %s is there twice: want each once", proc.Name())
		}
		p.execs = append(p.execs, newExecutor(p, proc, i))
	}
	a, err := arena.New(probeMemory)
	if err != nil {
		return nil, err
	}
	p.probe = NewRegion(a)
	p.regions = append(p.regions, p.probe)
	p.life, p.end = context.WithCancel(context.Background())
	p.reporter = startReporter(p)
	return p, nil
}

// Processors returns the processors that the port was made with.
func (p *Port) Processors() []*dispatch.Processor { return slices.Clone(p.config.Processors) }

// Units returns the units in the order they were found, also those to which no path
// leads any more.
func (p *Port) Units() []*Unit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.units)
}

// Unit returns the unit with an identity, or ErrNoUnit.
func (p *Port) Unit(id scsi.UnitID) (*Unit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.byID[id]; u != nil {
		return u, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrNoUnit, id)
}

// enter begins a call that Close cuts short and waits for.
func (p *Port) enter(ctx context.Context) (context.Context, func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, ErrClosed
	}
	p.calls.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.life, cancel)
	return ctx, func() {
		stop()
		cancel()
		p.calls.Done()
	}, nil
}

// Close stops everything: units take no more requests, what is queued completes with
// StatusFlushed, what is at an adapter completes, and the adapters stop. When ctx ends,
// adapters are stopped without waiting for what is at them. The processors must run until
// it returns. A second Close does nothing. Errors: the adapters'.
func (p *Port) Close(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	units, adapters := slices.Clone(p.units), slices.Clone(p.adapters)
	p.mu.Unlock()
	p.end()
	for _, u := range units {
		u.stop()
	}
	for _, u := range units {
		if u.drain(ctx) != nil {
			break
		}
	}
	var errs []error
	for _, a := range adapters {
		if err := a.mp.AdapterControl(ctx, Stop); err != nil {
			errs = append(errs, fmt.Errorf("adapter %s: %w", a.name, err))
		}
	}
	// The adapters have given everything back, so that no call waits for them.
	p.calls.Wait()
	all := context.WithoutCancel(ctx)
	for _, u := range units {
		u.rest(all)
	}
	_ = p.setup.acquire(all)
	defer p.setup.release()
	for _, r := range p.regions {
		r.forgetAll()
	}
	p.regions = nil
	for _, a := range adapters {
		if err := a.mp.Close(all); err != nil {
			errs = append(errs, fmt.Errorf("adapter %s: %w", a.name, err))
		}
	}
	p.reporter.close()
	if err := p.probe.arena.Close(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// call runs fn at Dispatch on an executor's processor and waits for it. When ctx ends
// first fn may still run.
func (p *Port) call(ctx context.Context, e *executor, fn dispatch.Func) error {
	done := make(chan struct{})
	d := new(dispatch.DPC)
	d.Init(e.proc, func(f *dispatch.Frame) {
		fn(f)
		close(done)
	})
	d.Post()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
