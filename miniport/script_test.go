package miniport

import (
	"context"
	"sync/atomic"
	"testing"

	"minisrp/scsi"
	"minisrp/verbs/dispatch"
)

// script is a miniport without hardware: a test says what becomes of each SRB.
type script struct {
	t       testing.TB
	a       *Adapter
	proc    *dispatch.Processor
	verdict func(s *SRB) Verdict // nil: Pending
	started []*SRB               // at the "adapter", oldest first
	aborts  []*Token
	resets  []*Token // unit
	targets []*Token
	buses   []*Token
	release func(s *SRB) // nil: completes with StatusBusReset
	aborted func(s *SRB, t *Token)
	builds  int

	auto dispatch.DPC // completes everything with success
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
		m.auto.Queue(f)
	}
	return Pending
}

func (m *script) AbortTask(f *dispatch.Frame, s *SRB, t *Token) {
	m.aborts = append(m.aborts, t)
	if m.aborted != nil {
		m.aborted(s, t)
	}
}

func (m *script) ResetUnit(f *dispatch.Frame, p *Path, t *Token) {
	m.resets = append(m.resets, t)
}
func (m *script) ResetTarget(f *dispatch.Frame, p *Path, t *Token) {
	m.targets = append(m.targets, t)
}
func (m *script) ResetBus(f *dispatch.Frame, t *Token) { m.buses = append(m.buses, t) }
func (m *script) ReleaseIO(f *dispatch.Frame, s *SRB) {
	if m.release != nil {
		m.release(s)
		return
	}
	m.complete(f, s, StatusBusReset, 0)
}
func (m *script) AdapterControl(ctx context.Context, c AdapterControl) error    { return nil }
func (m *script) UnitControl(ctx context.Context, p *Path, c UnitControl) error { return nil }

// complete ends an SRB that was started.
func (m *script) complete(f *dispatch.Frame, s *SRB, st Status, scsiStatus scsi.Status) {
	for i, o := range m.started {
		if o == s {
			m.started = append(m.started[:i], m.started[i+1:]...)
			s.Status, s.SCSIStatus, s.Transferred = st, scsiStatus, s.Length
			m.a.Complete(f, s)
			return
		}
	}
	m.t.Fatalf("the test completes an SRB that is not started")
}

// rig is a port with one scripted adapter and one unit, on a manual processor.
type rig struct {
	t    *testing.T
	p    *dispatch.Processor
	port *Port
	mp   *script
	unit *Unit
	srbs []*SRB
	done []*SRB
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, p: dispatch.NewManual("p")}
	r.mp = &script{t: t, proc: r.p}
	r.mp.auto.Init(r.p, func(f *dispatch.Frame) {
		for len(r.mp.started) > 0 {
			r.mp.complete(f, r.mp.started[0], StatusSuccess, 0)
		}
	})
	var err error
	if r.port, err = New(Config{Processors: []*dispatch.Processor{r.p}}); err != nil {
		t.Fatal(err)
	}
	added := make(chan struct{})
	go func() {
		defer close(added)
		if _, err := r.port.AddAdapter(t.Context(), "script", r.mp); err != nil {
			t.Error(err)
		}
	}()
	r.p.RunUntil(added)
	target := &Target{channels: make([]atomic.Pointer[channelOf], 1)}
	target.channels[0].Store(new(channelOf))
	target.units.Store(&[]*Unit{})
	path := &Path{adapter: r.mp.a, target: target}
	r.unit = newUnit(r.port, "naa.1", scsi.StandardInquiry{}, path)
	path.unit = r.unit
	target.addUnit(r.unit)
	r.port.units = append(r.port.units, r.unit)
	t.Cleanup(func() {
		r.mp.verdict, r.mp.on = nil, true
		r.mp.auto.Post()
		closed := make(chan struct{})
		go func() { r.port.Close(context.Background()); close(closed) }()
		r.p.RunUntil(closed)
	})
	return r
}

func (r *rig) srb() *SRB {
	s := &SRB{CDBLength: 6}
	s.Done = func(f *dispatch.Frame, s *SRB) { r.done = append(r.done, s) }
	r.srbs = append(r.srbs, s)
	return s
}

// at runs fn at Dispatch and then what it has started.
func (r *rig) at(fn func(f *dispatch.Frame)) {
	var f dispatch.Frame
	r.p.Raise(&f)
	fn(&f)
	f.Lower()
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
