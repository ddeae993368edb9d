package verbstest

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Fake is a device without a fabric. It implements verbs.Driver.
//
// Ownership: made by NewFake; holds no goroutine and needs no Close.
type Fake struct {
	attr verbs.DeviceAttr // fixed after verbs.Open

	mu      sync.Mutex // guards the rest; taken at Passive only
	up      *verbs.Device
	fail    map[string][]error
	qps     map[*verbs.QP]*FakeQP
	open    int
	lastKey uint32
	lastQP  uint32

	regions atomic.Pointer[map[uint32]region] // by key; replaced under mu, never changed
}

// region is registered memory.
type region struct {
	addr uint64
	b    []byte
}

// NewFake makes a device with windows and generous limits; Limits changes them.
func NewFake(name string) *Fake {
	d := &Fake{
		attr: verbs.DeviceAttr{
			Name: name, NodeGUID: 0x02_00_00_ff_fe_fa_ce_00,
			Ports: []verbs.PortAttr{{Active: true, GIDs: []verbs.GID{{0: 0xfe, 1: 0x80, 15: 1}}, PKeys: []uint16{0xffff}, MTU: 4096}},
			MaxQP: 1 << 16, MaxCQ: 1 << 16, MaxMR: 1 << 16, MaxMW: 1 << 16, MaxPD: 1 << 16,
			MaxWR: 1 << 14, MaxSGE: verbs.MaxSGE, MaxCQE: 1 << 16, MaxMRSize: 1 << 40, MaxReadAtomic: 16,
			CompletionVectors: 1, MemoryWindows: true,
		},
		fail: map[string][]error{}, qps: map[*verbs.QP]*FakeQP{},
	}
	d.regions.Store(new(map[uint32]region))
	return d
}

// Limits returns the device's attributes, to be changed before verbs.Open.
func (d *Fake) Limits() *verbs.DeviceAttr { return &d.attr }

// Fail makes the next call of a verb return err: "create PD", "create CQ", "create
// QP", "register MR", "allocate MW", "listen", "modify QP", "connect" or "accept".
// Several calls of Fail make as many calls of the verb fail.
//
//level:passive
func (d *Fake) Fail(verb string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail[verb] = append(d.fail[verb], err)
}

// failure returns what Fail said about a verb, or nil, and counts an object if made.
func (d *Fake) failure(verb string, made int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errs := d.fail[verb]; len(errs) > 0 {
		d.fail[verb] = errs[1:]
		return errs[0]
	}
	d.open += made
	return nil
}

func (d *Fake) destroyed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open--
}

// Open returns how many objects have been made and not destroyed.
//
//level:passive
func (d *Fake) Open() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open
}

// QP returns what the device knows of a queue pair.
//
//level:passive
func (d *Fake) QP(qp *verbs.QP) *FakeQP {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.qps[qp]
}

// Attr returns the limits.
func (d *Fake) Attr() verbs.DeviceAttr { return d.attr }

// Start is called by verbs.Open.
func (d *Fake) Start(up *verbs.Device) { d.up = up }

// Close is called by verbs.Device.Close.
func (d *Fake) Close(ctx context.Context) {}

// object is what has no behaviour but its end.
type object struct{ dev *Fake }

func (o object) Destroy(ctx context.Context) { o.dev.destroyed() }

// CreatePD makes a domain.
func (d *Fake) CreatePD(ctx context.Context) (verbs.PDDriver, error) {
	if err := d.failure("create PD", 1); err != nil {
		return nil, err
	}
	return fakePD{object{d}}, nil
}

type fakePD struct{ object }

func (pd fakePD) RegisterMR(ctx context.Context, attr *verbs.MRAttr) (verbs.MRDriver, verbs.Keys, error) {
	d := pd.dev
	if err := d.failure("register MR", 1); err != nil {
		return nil, verbs.Keys{}, err
	}
	k := d.key()
	d.setRegion(k, region{attr.Arena.Addr(), attr.Arena.Bytes()})
	return fakeMR{pd.object, k}, verbs.Keys{LKey: k, RKey: k}, nil
}

type fakeMR struct {
	object
	key uint32
}

func (mr fakeMR) Destroy(ctx context.Context) {
	mr.dev.setRegion(mr.key, region{})
	mr.object.Destroy(ctx)
}

// setRegion changes what a key names; an empty region means nothing.
func (d *Fake) setRegion(k uint32, r region) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := maps.Clone(*d.regions.Load())
	if next == nil {
		next = map[uint32]region{}
	}
	next[k] = r
	if r.b == nil {
		delete(next, k)
	}
	d.regions.Store(&next)
}

func (pd fakePD) AllocMW(ctx context.Context) (verbs.MWDriver, uint32, uint32, error) {
	if err := pd.dev.failure("allocate MW", 1); err != nil {
		return nil, 0, 0, err
	}
	k := pd.dev.key()
	return pd.object, k >> 8, k, nil
}

func (d *Fake) key() uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lastKey += 0x100
	return d.lastKey
}

// CreateCQ makes a completion queue.
func (d *Fake) CreateCQ(ctx context.Context, attr *verbs.CQAttr, up *verbs.CQ) (verbs.CQDriver, error) {
	if err := d.failure("create CQ", 1); err != nil {
		return nil, err
	}
	return &fakeCQ{object: object{d}, up: up, entries: int(attr.Entries)}, nil
}

// fakeCQ belongs to its processor.
type fakeCQ struct {
	object
	up      *verbs.CQ
	entries int
	wcs     []fakeWC
	armed   bool
}

// fakeWC is a completion with the places that polling it frees.
type fakeWC struct {
	wc   verbs.WC
	free *int
	n    int
}

func (c *fakeCQ) Poll(f *dispatch.Frame, wcs []verbs.WC) int {
	n := min(len(c.wcs), len(wcs))
	for i := range n {
		wcs[i] = c.wcs[i].wc
		if c.wcs[i].free != nil {
			*c.wcs[i].free -= c.wcs[i].n
		}
	}
	c.wcs = c.wcs[:copy(c.wcs, c.wcs[n:])]
	return n
}

func (c *fakeCQ) Arm(f *dispatch.Frame) bool {
	if len(c.wcs) != 0 {
		return true
	}
	c.armed = true
	return false
}

func (c *fakeCQ) push(f *dispatch.Frame, wc fakeWC) {
	c.wcs = append(c.wcs, wc)
	if c.armed {
		c.armed = false
		c.up.Fire(f)
	}
}
