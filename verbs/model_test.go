package verbs

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"minisrp/test/interleave"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model runs operations and nodes of a device with the scheduler at every access to
// state that goroutines share: two workers, two processors, and what a test adds.
type model struct {
	interleave.Run
	t      *testing.T
	d      *Device
	p, q   *dispatch.Processor
	drv    *modelDriver
	log    []string // what happened, in order
	inside int      // callbacks under way, by processor p and q
	bad    []string
}

func newModel(t *testing.T) *model {
	m := &model{t: t, p: dispatch.NewManual("p"), q: dispatch.NewManual("q")}
	m.drv = &modelDriver{m: m}
	m.d = &Device{drv: m.drv, attr: DeviceAttr{Name: "model", MaxCQE: 1, MaxWR: 1, MaxSGE: 1, MaxMRSize: 1 << 40, CompletionVectors: 1, MemoryWindows: true}}
	m.d.worker = dispatch.NewManualWorker()
	m.d.node.init(m.d, m.p, holds{})
	m.d.node.destroy = func(context.Context) { m.happened("device destroyed") }
	m.d.trace = func(ready func() bool) { m.When(ready) }
	for _, name := range []string{"worker 1", "worker 2"} {
		m.Serve(name, func() bool { return !m.d.worker.Idle() }, func() { m.d.worker.RunOne() })
	}
	for _, p := range []*dispatch.Processor{m.p, m.q} {
		m.Serve("processor "+p.Name(), func() bool { return !p.Idle() }, p.RunUntilIdle)
	}
	return m
}

func (m *model) happened(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *model) wrong(format string, args ...any) {
	m.bad = append(m.bad, fmt.Sprintf(format, args...))
}

// times counts how often something happened.
func (m *model) times(what string) (n int) {
	for _, l := range m.log {
		if l == what {
			n++
		}
	}
	return n
}

// before demands that a happened, once, and b after it, once.
func (m *model) before(a, b string) {
	i, j := slices.Index(m.log, a), slices.Index(m.log, b)
	if i < 0 || j < 0 || i > j || m.times(a) != 1 || m.times(b) != 1 {
		m.wrong("want %q once, then %q once", a, b)
	}
}

// explore runs a scenario in many random orders and in a bounded search of all, and
// fails with the order of the first run that went wrong.
func explore(t *testing.T, random int, most int, scenario func(m *model) (check func())) {
	t.Helper()
	if testing.Short() {
		random, most = random/8, most/8
	}
	run := func(choose interleave.Chooser) bool {
		m := newModel(t)
		check := scenario(m)
		if err := m.Finish(choose); err != nil {
			m.wrong("%v", err)
		}
		check()
		if m.bad == nil {
			return true
		}
		t.Errorf("%q\nafter %q", m.bad, m.log)
		return false
	}
	for seed := range uint64(random) {
		if !run(interleave.Random(seed)) {
			t.Fatalf("seed %d", seed)
		}
	}
	n := interleave.Search(most, func(c interleave.Chooser) { run(c) }, t.Failed)
	t.Logf("%d random orders, %d of the search", random, n)
}

// modelDriver is a device whose every object can be made and does nothing.
type modelDriver struct {
	m    *model
	made int
}

func (d *modelDriver) Attr() DeviceAttr      { return d.m.d.attr }
func (d *modelDriver) Start(*Device)         {}
func (d *modelDriver) Close(context.Context) {}
func (d *modelDriver) CreatePD(context.Context) (PDDriver, error) {
	return d.new("PD"), nil
}
func (d *modelDriver) CreateCQ(context.Context, *CQAttr, *CQ) (CQDriver, error) {
	return &modelCQ{modelObject: d.new("CQ")}, nil
}
func (d *modelDriver) Listen(context.Context, *ListenAttr, *Listener) (ListenerDriver, error) {
	return d.new("listener"), nil
}

func (d *modelDriver) new(kind string) *modelObject {
	d.m.At() // it takes time
	d.made++
	d.m.happened("%s made", kind)
	return &modelObject{d, kind}
}

type modelObject struct {
	d    *modelDriver
	kind string
}

func (o *modelObject) RegisterMR(context.Context, *MRAttr) (MRDriver, Keys, error) {
	return o.d.new("MR"), Keys{}, nil
}
func (o *modelObject) AllocMW(context.Context) (MWDriver, uint32, uint32, error) {
	return o.d.new("MW"), 0, 0, nil
}
func (o *modelObject) CreateQP(ctx context.Context, attr *QPAttr, up *QP) (QPDriver, uint32, error) {
	return &modelQP{modelObject: o.d.new("QP"), up: up}, 2, nil
}

func (o *modelObject) Destroy(context.Context) {
	o.d.m.At()
	o.d.made--
	o.d.m.happened("%s destroyed", o.kind)
}

type modelCQ struct {
	*modelObject
	armed bool
}

func (c *modelCQ) Poll(*dispatch.Frame, []WC) int { return 0 }
func (c *modelCQ) Arm(*dispatch.Frame) bool       { c.armed = true; return false }

type modelQP struct {
	*modelObject
	up         *QP
	connecting bool
	cancelled  bool
}

func (q *modelQP) Post(*dispatch.Frame, []WR) (int, error)         { return 0, ErrState }
func (q *modelQP) PostRecv(*dispatch.Frame, []RecvWR) (int, error) { return 0, ErrState }
func (q *modelQP) Ring(*dispatch.Frame)                            {}
func (q *modelQP) State() QPState                                  { return Reset }
func (q *modelQP) Modify(context.Context, QPState) error           { q.d.m.At(); return nil }
func (q *modelQP) Connect(context.Context, *ConnectAttr) error {
	q.d.m.At()
	if q.cancelled {
		return ErrClosed
	}
	q.connecting = true
	return nil
}
func (q *modelQP) Disconnect(context.Context) { q.d.m.At(); q.up.DisconnectDone() }
func (q *modelQP) Cancel(context.Context) {
	q.d.m.At()
	q.cancelled = true
	if q.connecting {
		q.connecting = false
		q.up.ConnectFailed(ErrClosed)
	}
}

func modelArena(t *testing.T) *arena.Arena {
	a, err := arena.New(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}
