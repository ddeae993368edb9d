package miniport

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// memoryScript is a script whose adapter has to know memory, and that fails where it is
// told to.
type memoryScript struct {
	*script
	failAt string
	calls  []string
	known  *atomic.Int32 // registrations that have not been released
	mu     sync.Mutex
}

var errScript = errors.New("as the script says")

func (m *memoryScript) step(what string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, what)
	if m.failAt == what {
		return errScript
	}
	return nil
}

func (m *memoryScript) FindAdapter(ctx context.Context, a *Adapter) error {
	m.a = a
	return m.step("find")
}
func (m *memoryScript) Initialize(f *dispatch.Frame) error { return m.step("initialize") }
func (m *memoryScript) AdapterControl(ctx context.Context, c AdapterControl) error {
	return m.step(c.String())
}
func (m *memoryScript) Close(ctx context.Context) error { return m.step("close") }
func (m *memoryScript) Register(ctx context.Context, a *arena.Arena) (*Registration, error) {
	if err := m.step("register"); err != nil {
		return nil, err
	}
	m.known.Add(1)
	var once atomic.Bool
	return &Registration{LKey: 1, Release: func() {
		if once.Swap(true) {
			panic("released twice")
		}
		m.known.Add(-1)
	}}, nil
}

// An adapter that cannot be added leaves nothing behind: what it has registered is
// released, it is stopped and closed, and its place is free again. The rest of the port
// goes on.
func TestAddAdapterThatFailsLeavesNothing(t *testing.T) {
	for failAt, want := range map[string][]string{
		"find":       {"find"},
		"register":   {"find", "register", "stop", "close"},
		"initialize": {"find", "register", "initialize", "stop", "close"},
	} {
		t.Run(failAt, func(t *testing.T) {
			r := newRig(t)
			var known atomic.Int32
			for range 2 * maxAdapters {
				m := &memoryScript{script: &script{t: t}, failAt: failAt, known: &known}
				r.passive(func() {
					if _, err := r.port.AddAdapter(t.Context(), "bad", m); !errors.Is(err, errScript) {
						t.Errorf("%v", err)
					}
				})
				if !slices.Equal(m.calls, want) || known.Load() != 0 {
					t.Fatalf("%v, %d registrations left", m.calls, known.Load())
				}
			}
			if n := len(r.port.Adapters()); n != 1 {
				t.Errorf("%d adapters", n)
			}
			m := &memoryScript{script: &script{t: t}, known: &known}
			r.passive(func() {
				if _, err := r.port.AddAdapter(t.Context(), "good", m); err != nil {
					t.Error(err)
				}
			})
			if known.Load() != 1 {
				t.Errorf("%d registrations", known.Load())
			}
		})
	}
}

func TestTooManyAdapters(t *testing.T) {
	r := newRig(t)
	r.passive(func() {
		for range maxAdapters - 1 {
			if _, err := r.port.AddAdapter(t.Context(), "a", &script{t: t}); err != nil {
				t.Error(err)
			}
		}
		if _, err := r.port.AddAdapter(t.Context(), "one more", &script{t: t}); err == nil {
			t.Error("no error")
		}
	})
}

// Whatever order regions and adapters come and go in, each region is known to each
// adapter, and nothing is known of a region that is gone.
func TestRegionsAndAdaptersComeAndGo(t *testing.T) {
	r := newRig(t)
	var known atomic.Int32
	var regions [4]*Region
	r.passive(func() {
		var all sync.WaitGroup
		for i := range regions {
			all.Go(func() {
				a, err := arena.New(4096)
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(func() { a.Close() })
				for range 20 {
					g, err := r.port.RegisterRegion(t.Context(), a)
					if err != nil {
						t.Error(err)
						return
					}
					for _, d := range r.port.Adapters()[1:] {
						if g.on(d) == nil {
							t.Error("a region is not known to an adapter")
						}
					}
					r.port.DeregisterRegion(t.Context(), g)
				}
				regions[i], err = r.port.RegisterRegion(t.Context(), a)
				if err != nil {
					t.Error(err)
				}
			})
		}
		for i := range 10 {
			all.Go(func() {
				m := &memoryScript{script: &script{t: t}, known: &known}
				if i%2 == 1 {
					m.failAt = "initialize"
				}
				r.port.AddAdapter(t.Context(), "m", m)
			})
		}
		all.Wait()
	})
	adapters := r.port.Adapters()[1:]
	if len(adapters) != 5 {
		t.Errorf("%d adapters", len(adapters))
	}
	for _, a := range adapters {
		for _, g := range regions {
			if g.on(a) == nil {
				t.Error("a region is not known to an adapter")
			}
		}
	}
	if n := known.Load(); n != 5*5 { // with the port's own
		t.Errorf("%d registrations", n)
	}
	r.passive(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for _, g := range regions { // the caller is about to free the memory, whatever its context says
			r.port.DeregisterRegion(ended, g)
		}
	})
	if n := known.Load(); n != 5 {
		t.Errorf("%d registrations left", n)
	}
}

// Close ends what is queued as flushed, waits for what is at the adapter, then stops,
// forgets memory and closes, in this order. What is submitted afterwards is flushed, and
// calls say that the port is closed.
func TestCloseInOrder(t *testing.T) {
	r := newRig(t)
	var known atomic.Int32
	m := &memoryScript{script: &script{t: t}, known: &known}
	r.passive(func() {
		if _, err := r.port.AddAdapter(t.Context(), "m", m); err != nil {
			t.Error(err)
		}
	})
	r.unit.SetDepth(1)
	r.submit(2)
	closed := make(chan error, 1)
	go func() { closed <- r.port.Close(context.Background()) }()
	r.eventually(func() bool { return len(r.done) > 0 })
	r.wantDone(StatusFlushed)
	if len(closed) != 0 || len(m.calls) != 3 {
		t.Fatalf("it did not wait for what is at the adapter: %v", m.calls)
	}
	r.complete(r.srbs[0], StatusSuccess)
	r.wantDone(StatusSuccess)
	r.passive(func() {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
	if !slices.Equal(m.calls[3:], []string{"stop", "close"}) || known.Load() != 0 {
		t.Errorf("%v, %d registrations left", m.calls, known.Load())
	}
	r.submit(1)
	r.wantDone(StatusFlushed)
	r.passive(func() {
		if err := r.port.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := r.port.AddAdapter(t.Context(), "m", m); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
		if _, err := r.port.RegisterRegion(t.Context(), nil); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
		if _, err := r.port.Scan(t.Context(), r.mp.a, r.target); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

// slow is a miniport whose FindAdapter takes as long as it is given.
type slow struct{ *memoryScript }

func (m slow) FindAdapter(ctx context.Context, a *Adapter) error {
	m.step("find")
	<-ctx.Done()
	return ctx.Err()
}

// Close cuts short the calls that are under way, and waits for them.
func TestCloseEndsCalls(t *testing.T) {
	r := newRig(t)
	m := slow{&memoryScript{script: &script{t: t}, known: new(atomic.Int32)}}
	results := make(chan error, 2)
	go func() {
		_, err := r.port.AddAdapter(t.Context(), "slow", m)
		results <- err
	}()
	r.target.channels[0].Store(nil)
	go func() {
		_, err := r.port.Scan(t.Context(), r.mp.a, r.target)
		results <- err
	}()
	r.eventually(func() bool { return len(*r.target.units.Load()) == 2 })
	r.passive(func() {
		if err := r.port.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		if err := <-results; !errors.Is(err, ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
	}
}

// Exec takes back what is queued when its context ends, on whichever lane it is; what
// is at the adapter is waited for. It can be run from a goroutine beside manual
// processors.
func TestExecTakesBackWhatIsQueued(t *testing.T) {
	r := newRigOn(t, 2)
	r.unit.SetDepth(1)
	r.submit(1)
	for _, how := range []string{"behind another", "paused", "no path"} {
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		switch how {
		case "paused":
			r.unit.Pause()
		case "no path":
			r.target.channels[0].Store(nil)
			r.target.channels[1].Store(nil)
		}
		s := &SRB{CDBLength: 6}
		go func() { result <- r.unit.Exec(ctx, s) }()
		r.eventually(func() bool { return r.unit.lanes[0].queue.head == s })
		cancel()
		r.passive(func() {
			if err := <-result; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", how, err)
			}
		})
		if s.stage != stageIdle {
			t.Errorf("%s: it is still the port's", how)
		}
	}
	r.wantStarted(1)

	r = newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- r.unit.Exec(ctx, &SRB{CDBLength: 6}) }()
	r.eventually(func() bool { return len(r.mp.started) == 1 })
	cancel()
	r.passive(func() {})
	if len(result) != 0 {
		t.Fatal("it did not wait for what is at the adapter")
	}
	r.complete(r.mp.started[0], StatusSuccess)
	r.passive(func() {
		if err := <-result; err != nil {
			t.Errorf("%v", err)
		}
	})
}

func TestPortsThatCannotBe(t *testing.T) {
	p := dispatch.NewManual("p")
	for _, procs := range [][]*dispatch.Processor{nil, make([]*dispatch.Processor, 65), {p, p}} {
		if _, err := New(Config{Processors: procs}); err == nil {
			t.Errorf("%d processors: no error", len(procs))
		}
	}
}
