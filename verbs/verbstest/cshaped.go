package verbstest

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// CShaped is a device behind a boundary that is shaped like cgo. It implements
// verbs.Driver.
//
//	Post      fills the QP's chain of C structures
//	Ring      and the lowering of the frame: one crossing for the chain
//	PostRecv  one crossing a call
//	Poll      one crossing for up to 64 completions
//	Arm       one crossing
//
// Ownership: made by NewCShaped; holds no goroutine.
type CShaped struct {
	inner verbs.Driver
	attr  verbs.DeviceAttr

	postSends, postRecvs, polls, arms atomic.Uint64
	strays                            atomic.Uint64

	mu      sync.Mutex                   // guards writing
	qps     atomic.Pointer[[]*cshapedQP] // by what stands in a completion's ID
	regions atomic.Pointer[[]*cshapedMR]
}

// NewCShaped puts a provider's device behind a boundary.
func NewCShaped(inner verbs.Driver) *CShaped {
	d := &CShaped{inner: inner, attr: inner.Attr()}
	d.qps.Store(new([]*cshapedQP))
	d.regions.Store(new([]*cshapedMR))
	return d
}

// Crossings counts calls over the boundary.
type Crossings struct{ PostSend, PostRecv, Poll, Arm uint64 }

// Crossings returns the counts so far.
func (d *CShaped) Crossings() Crossings {
	return Crossings{d.postSends.Load(), d.postRecvs.Load(), d.polls.Load(), d.arms.Load()}
}

// Strays returns how many pieces of requests have crossed whose memory is not, or not
// wholly, registered with the device: memory on the Go heap, for instance.
func (d *CShaped) Strays() uint64 { return d.strays.Load() }

// Attr returns the inner device's limits.
func (d *CShaped) Attr() verbs.DeviceAttr { return d.attr }

// Start is called by verbs.Open.
func (d *CShaped) Start(up *verbs.Device) { d.inner.Start(up) }

// Close is called by verbs.Device.Close.
func (d *CShaped) Close(ctx context.Context) { d.inner.Close(ctx) }

// CreatePD makes a domain.
func (d *CShaped) CreatePD(ctx context.Context) (verbs.PDDriver, error) {
	pd, err := d.inner.CreatePD(ctx)
	if err != nil {
		return nil, err
	}
	return &cshapedPD{pd, d}, nil
}

// Listen makes a listener, which is the inner provider's: requests do not cross often.
func (d *CShaped) Listen(ctx context.Context, attr *verbs.ListenAttr, up *verbs.Listener) (verbs.ListenerDriver, error) {
	mine := *attr
	defer func() { mine = verbs.ListenAttr{} }()
	return d.inner.Listen(ctx, &mine, up)
}

type cshapedPD struct {
	verbs.PDDriver
	dev *CShaped
}

func (pd *cshapedPD) RegisterMR(ctx context.Context, attr *verbs.MRAttr) (verbs.MRDriver, verbs.Keys, error) {
	mine := *attr
	defer func() { mine = verbs.MRAttr{} }()
	mr := &cshapedMR{dev: pd.dev, addr: attr.Arena.Addr(), size: uint64(attr.Arena.Size())}
	var err error
	var keys verbs.Keys
	if mr.MRDriver, keys, err = pd.PDDriver.RegisterMR(ctx, &mine); err != nil {
		return nil, keys, err
	}
	pd.dev.change(func(rs []*cshapedMR) []*cshapedMR { return append(rs, mr) })
	return mr, keys, nil
}

type cshapedMR struct {
	verbs.MRDriver
	dev        *CShaped
	addr, size uint64
}

func (mr *cshapedMR) Destroy(ctx context.Context) {
	mr.MRDriver.Destroy(ctx)
	mr.dev.change(func(rs []*cshapedMR) (left []*cshapedMR) {
		for _, r := range rs {
			if r != mr {
				left = append(left, r)
			}
		}
		return left
	})
}

// change replaces the list of regions by what fn makes of a copy.
func (d *CShaped) change(fn func([]*cshapedMR) []*cshapedMR) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rs := fn(append([]*cshapedMR(nil), *d.regions.Load()...))
	d.regions.Store(&rs)
}

// see counts a piece that does not lie in one region.
func (d *CShaped) see(g *verbs.SGE) {
	if g.Length == 0 {
		return
	}
	for _, r := range *d.regions.Load() {
		if off := g.Addr - r.addr; off < r.size && uint64(g.Length) <= r.size-off {
			return
		}
	}
	d.strays.Add(1)
}

func (pd *cshapedPD) CreateQP(ctx context.Context, attr *verbs.QPAttr, up *verbs.QP) (verbs.QPDriver, uint32, error) {
	q, err := newCShapedQP(pd.dev, attr)
	if err != nil {
		return nil, 0, err
	}
	mine := *attr
	defer func() { mine = verbs.QPAttr{} }()
	drv, num, err := pd.PDDriver.CreateQP(ctx, &mine, up)
	if err != nil {
		q.mem.a.Close()
		return nil, 0, err
	}
	q.far.drv, q.num = drv, num
	return q, num, nil
}

// CreateCQ makes a completion queue.
func (d *CShaped) CreateCQ(ctx context.Context, attr *verbs.CQAttr, up *verbs.CQ) (verbs.CQDriver, error) {
	c := &cshapedCQ{dev: d, up: up}
	var err error
	if c.mem, err = newSpace(pollBatch * 48); err != nil {
		return nil, err
	}
	mine := *attr
	defer func() { mine = verbs.CQAttr{} }()
	c.far.mem = &c.mem
	if c.far.drv, err = d.inner.CreateCQ(ctx, &mine, up); err != nil {
		c.mem.a.Close()
		return nil, err
	}
	return c, nil
}

// pollBatch is how many completions one crossing can bring.
const pollBatch = 64

// cshapedCQ belongs to its processor.
type cshapedCQ struct {
	dev   *CShaped
	up    *verbs.CQ
	mem   space
	far   farCQ
	own   []verbs.WC // of requests that a doorbell did not get across
	armed bool
}

// Unwrap returns the inner provider's CQ.
func (c *cshapedCQ) Unwrap() any { return c.far.drv }

func (c *cshapedCQ) Poll(f *dispatch.Frame, wcs []verbs.WC) int {
	c.dev.polls.Add(1)
	n := c.far.poll(f, min(len(wcs), pollBatch), c.mem.addr(0))
	for i := range n {
		c.dev.completed(&wcs[i], c.mem.wc(c.mem.addr(i*48)))
	}
	if n < len(wcs) && len(c.own) > 0 {
		m := copy(wcs[n:], c.own)
		c.own = c.own[:copy(c.own, c.own[m:])]
		n += m
	}
	return n
}

func (c *cshapedCQ) Arm(f *dispatch.Frame) bool {
	c.dev.arms.Add(1)
	c.armed = true
	return c.far.drv.Arm(f) || len(c.own) > 0
}

func (c *cshapedCQ) push(f *dispatch.Frame, wc verbs.WC) {
	c.own = append(c.own, wc)
	if c.armed {
		c.armed = false
		c.up.Fire(f)
	}
}

func (c *cshapedCQ) Destroy(ctx context.Context) {
	c.far.drv.Destroy(ctx)
	c.mem.a.Close()
}

// Connect hands a copy of the attributes on, which does not last: libibverbs and
// librdmacm copy what they keep.
func (q *cshapedQP) Connect(ctx context.Context, attr *verbs.ConnectAttr) error {
	mine := *attr
	mine.Private = bytes.Clone(attr.Private)
	defer func() {
		clear(mine.Private)
		mine = verbs.ConnectAttr{}
	}()
	return q.far.drv.Connect(ctx, &mine)
}

func (q *cshapedQP) Disconnect(ctx context.Context) { q.far.drv.Disconnect(ctx) }
func (q *cshapedQP) Cancel(ctx context.Context)     { q.far.drv.Cancel(ctx) }

func (q *cshapedQP) Modify(ctx context.Context, to verbs.QPState) error {
	err := q.far.drv.Modify(ctx, to)
	if err == nil && to == verbs.Reset {
		call(q.proc, func(*dispatch.Frame) { q.free, q.crossed, q.rfree = q.tail, q.tail, q.rtail })
	}
	return err
}

func (q *cshapedQP) Destroy(ctx context.Context) {
	q.far.drv.Destroy(ctx)
	call(q.proc, func(*dispatch.Frame) { q.over = true })
	q.mem.a.Close()
}
