package miniport

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// script is a miniport without hardware: a test says what becomes of each SRB. It is
// for manual processors, driven by one goroutine.
type script struct {
	t       testing.TB
	a       *Adapter
	verdict func(s *SRB) Verdict // nil: Pending
	started []*SRB               // at the "adapter", oldest first
	aborts  []*Token
	resets  []*Token // unit
	targets []*Token
	buses   []*Token
	release func(s *SRB) // nil: completes with StatusBusReset
	aborted func(s *SRB, t *Token)
	reset   func(s *SRB, t *Token)
	answer  func(s *SRB) (Status, scsi.Status) // with on; nil: success
	builds  int
	held    map[*Token]bool // given out, and not fired

	auto []dispatch.DPC // by processor: completes everything with success
	on   bool
}

func (m *script) FindAdapter(ctx context.Context, a *Adapter) error { m.a = a; return nil }
func (m *script) Initialize(f *dispatch.Frame) error                { return nil }
func (m *script) BuildIO(f *dispatch.Frame, s *SRB) Status          { m.builds++; return StatusPending }

func (m *script) StartIO(f *dispatch.Frame, s *SRB) Verdict {
	if m.verdict != nil {
		if v := m.verdict(s); v != Pending {
			return v
		}
	}
	m.started = append(m.started, s)
	if m.on {
		m.auto[s.lane.ex.index].Queue(f)
	}
	return Pending
}

// take notes that the port gives a token out, which it may not do twice.
func (m *script) take(t *Token) {
	if m.held[t] {
		m.t.Error("a token was given out that has not been fired")
	}
	m.held[t] = true
}

// fire ends what a token stands for.
func (m *script) fire(t *Token, ok bool) {
	delete(m.held, t)
	t.Fire(ok)
}

func (m *script) AbortTask(f *dispatch.Frame, s *SRB, t *Token) {
	m.take(t)
	m.aborts = append(m.aborts, t)
	if m.aborted != nil {
		m.aborted(s, t)
	}
}

func (m *script) ResetUnit(f *dispatch.Frame, s *SRB, t *Token) {
	m.take(t)
	m.resets = append(m.resets, t)
	if m.reset != nil {
		m.reset(s, t)
	}
}
func (m *script) ResetTarget(f *dispatch.Frame, p *Path, t *Token) {
	m.take(t)
	m.targets = append(m.targets, t)
}
func (m *script) ResetBus(f *dispatch.Frame, t *Token) {
	m.take(t)
	m.buses = append(m.buses, t)
}
func (m *script) ReleaseIO(f *dispatch.Frame, s *SRB) {
	if m.release != nil {
		m.release(s)
		return
	}
	m.complete(f, s, StatusBusReset, 0)
}
func (m *script) AdapterControl(ctx context.Context, c AdapterControl) error { return nil }
func (m *script) UnitControl(ctx context.Context, p *Path, c UnitControl) error {
	return (&SRP{}).UnitControl(ctx, p, c)
}
func (m *script) Close(ctx context.Context) error { return nil }

// complete ends an SRB that was started.
func (m *script) complete(f *dispatch.Frame, s *SRB, st Status, scsiStatus scsi.Status) {
	m.completeWith(f, s, st, scsiStatus, s.Length)
}

func (m *script) completeWith(f *dispatch.Frame, s *SRB, st Status, scsiStatus scsi.Status, n uint32) {
	for i, o := range m.started {
		if o == s {
			m.started = append(m.started[:i], m.started[i+1:]...)
			s.Status, s.SCSIStatus, s.Transferred = st, scsiStatus, n
			m.a.Complete(f, s)
			return
		}
	}
	m.t.Fatalf("the test completes an SRB that is not started")
}

// rig is a port with one scripted adapter and one unit, on manual processors.
type rig struct {
	t      *testing.T
	p      *dispatch.Processor // the first
	procs  []*dispatch.Processor
	port   *Port
	mp     *script
	unit   *Unit
	target *Target
	logged *logBook
	srbs   []*SRB
	done   []*SRB
}

func newRig(t *testing.T) *rig { return newRigOn(t, 1) }

// newRigOn makes a rig on n processors.
func newRigOn(t *testing.T, n int) *rig {
	r := &rig{t: t, logged: &logBook{}}
	for range n {
		r.procs = append(r.procs, dispatch.NewManual("p"))
	}
	r.p = r.procs[0]
	r.mp = &script{t: t, auto: make([]dispatch.DPC, n), held: map[*Token]bool{}}
	for i, p := range r.procs {
		r.mp.auto[i].Init(p, func(f *dispatch.Frame) {
			for s := r.mp.first(p); s != nil; s = r.mp.first(p) {
				if r.mp.answer == nil {
					r.mp.complete(f, s, StatusSuccess, 0)
					continue
				}
				st, sc := r.mp.answer(s)
				r.mp.completeWith(f, s, st, sc, s.Transferred)
			}
		})
	}
	var err error
	if r.port, err = New(Config{Processors: r.procs, Log: slog.New(r.logged)}); err != nil {
		t.Fatal(err)
	}
	r.passive(func() {
		if _, err := r.port.AddAdapter(t.Context(), "script", r.mp); err != nil {
			t.Error(err)
		}
	})
	r.target = r.newTarget()
	r.unit = r.newUnit("naa.1", r.target)
	t.Cleanup(func() {
		r.mp.verdict, r.mp.release, r.mp.answer, r.mp.on = nil, nil, nil, true
		for i := range r.mp.auto {
			r.mp.auto[i].Post()
		}
		r.passive(func() { r.port.Close(context.Background()) })
	})
	return r
}

// newTarget makes a target with a channel on each processor.
func (r *rig) newTarget() *Target {
	t := newTarget(nil, TargetConfig{Name: "target"}, len(r.procs))
	for i := range t.channels {
		t.channels[i].Store(new(channelOf))
	}
	return t
}

// newUnit makes a unit at LUN 0 of a target.
func (r *rig) newUnit(id scsi.UnitID, t *Target) *Unit {
	path := &Path{adapter: r.mp.a, target: t}
	u := newUnit(r.port, id, scsi.StandardInquiry{}, path)
	path.unit = u
	t.addUnit(u)
	r.port.units = append(r.port.units, u)
	return u
}

// passive runs fn on a goroutine of its own, and the processors until it returns.
func (r *rig) passive(fn func()) {
	done := make(chan struct{})
	go func() { defer close(done); fn() }()
	for {
		r.run()
		select {
		case <-done:
			r.run()
			return
		default:
			runtime.Gosched()
		}
	}
}

// eventually runs the processors until cond, which is asked at Dispatch on the first,
// says so.
func (r *rig) eventually(cond func() bool) {
	for ok := false; !ok; runtime.Gosched() {
		r.run()
		r.at(func(f *dispatch.Frame) { ok = f.On(r.p) && cond() })
	}
}

// run runs the processors until nothing is left to do on any.
func (r *rig) run() {
	for again := true; again; {
		again = false
		for _, p := range r.procs {
			if !p.Idle() {
				p.RunUntilIdle()
				again = true
			}
		}
	}
}

// advance moves the clock of every processor, in small steps.
func (r *rig) advance(d time.Duration) {
	for ; d > 0; d -= tick / 2 {
		for _, p := range r.procs {
			p.Advance(min(d, tick/2))
		}
		r.run()
	}
}

func (r *rig) srb() *SRB {
	s := &SRB{CDBLength: 6}
	s.Done = func(f *dispatch.Frame, s *SRB) { r.done = append(r.done, s) }
	r.srbs = append(r.srbs, s)
	return s
}

// elsewhere runs fn on another goroutine, for callers at Dispatch, who may raise no second frame.
func elsewhere(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	<-done
}

// at runs fn at Dispatch and then what it has started.
func (r *rig) at(fn func(f *dispatch.Frame)) { r.on(0, fn) }

// on does so on a processor.
func (r *rig) on(i int, fn func(f *dispatch.Frame)) {
	var f dispatch.Frame
	r.procs[i].Raise(&f)
	fn(&f)
	f.Lower()
}

// first returns the oldest SRB at the adapter that a processor started, or nil.
func (m *script) first(p *dispatch.Processor) *SRB {
	for _, s := range m.started {
		if s.lane.ex.proc == p {
			return s
		}
	}
	return nil
}

func (r *rig) submit(n int) {
	r.at(func(f *dispatch.Frame) {
		for range n {
			r.unit.Submit(f, r.srb())
		}
	})
}

func (r *rig) wantStarted(n int) {
	r.t.Helper()
	if len(r.mp.started) != n {
		r.t.Fatalf("%d SRBs at the adapter, want %d", len(r.mp.started), n)
	}
}

func (r *rig) wantDone(statuses ...Status) {
	r.t.Helper()
	if len(r.done) != len(statuses) {
		r.t.Fatalf("%d SRBs done, want %d", len(r.done), len(statuses))
	}
	for i, s := range r.done {
		if s.Status != statuses[i] {
			r.t.Errorf("SRB %d: %s, want %s", i, s.Status, statuses[i])
		}
	}
	r.done = nil
}
