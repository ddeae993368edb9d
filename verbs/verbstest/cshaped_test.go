package verbstest_test

import (
	"strings"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	pt "minisrp/verbs/internal/providertest"
	"minisrp/verbs/soft"
	"minisrp/verbs/verbstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shaped plugs two soft HCAs, each behind a boundary.
func shaped(t testing.TB) (a, b verbs.Driver) {
	t.Helper()
	fb := soft.New(soft.Config{})
	plug := func(i int) verbs.Driver {
		h, err := fb.Plug(soft.HCAConfig{Name: string(rune('a' + i)), Addr: pt.Addr(i)})
		if err != nil {
			t.Fatal(err)
		}
		return verbstest.NewCShaped(h)
	}
	return plug(0), plug(1)
}

// The data path of soft passes the same tests behind the boundary.
func TestDataPathBehindABoundary(t *testing.T) { pt.DataPath(t, shaped) }

// shapedPair makes two connected ends and returns the device of the first.
func shapedPair(t *testing.T, o pt.Options) (d *verbstest.CShaped, a, b *pt.End) {
	a, b = pt.Pair(t, func(t testing.TB) (verbs.Driver, verbs.Driver) {
		x, y := shaped(t)
		d = x.(*verbstest.CShaped)
		return x, y
	}, o)
	return d, a, b
}

// All that is posted while a frame is raised crosses at once, and so does a batch of
// completions.
func TestCrossingsAreBatched(t *testing.T) {
	d, a, b := shapedPair(t, pt.Options{Manual: true, MaxSend: 60, MaxRecv: 60})
	before := d.Crossings()
	n := 0
	b.At(func(f *dispatch.Frame) {
		for i := range 50 {
			m, _ := b.QP.PostRecv(f, []verbs.RecvWR{{ID: uint64(i)}})
			n += m
		}
	})
	var f dispatch.Frame
	a.P.Raise(&f)
	for i := range 50 {
		m, _ := a.QP.Post(&f, []verbs.WR{pt.WR(uint64(i), verbs.Send)})
		n += m
	}
	if got := d.Crossings(); got != before {
		t.Errorf("crossed before the frame was lowered: %+v, then %+v", before, got)
	}
	f.Lower()
	a.Settle()
	var wcs [64]verbs.WC
	a.P.Raise(&f)
	got := a.SCQ.Poll(&f, wcs[:])
	f.Lower()
	if n != 100 || got != 50 {
		t.Errorf("%d posted, %d completed", n, got)
	}
	after := d.Crossings()
	if after.PostSend-before.PostSend != 1 || after.Poll-before.Poll != 1 {
		t.Errorf("crossings %+v, then %+v", before, after)
	}
	b.Received(50)
}

// Ring crosses at once.
func TestRing(t *testing.T) {
	d, a, b := shapedPair(t, pt.Options{Manual: true})
	b.Recv(1)
	var f dispatch.Frame
	before := d.Crossings().PostSend
	a.P.Raise(&f)
	a.QP.Post(&f, []verbs.WR{pt.WR(1, verbs.Send)})
	a.QP.Ring(&f)
	rung := d.Crossings().PostSend - before
	f.Lower()
	if after := d.Crossings().PostSend - before; rung != 1 || after != 1 {
		t.Errorf("%d crossings after Ring, %d after Lower", rung, after)
	}
	a.Sent(1)
}

// A request that names memory on the Go heap shows.
func TestGoHeapIsAStray(t *testing.T) {
	d, a, _ := shapedPair(t, pt.Options{Manual: true})
	a.Post(a.RDMA(1, verbs.Write, 0, 10, a, 0, 0))
	if n := d.Strays(); n != 0 {
		t.Errorf("%d strays among registered memory", n)
	}
	heap := make([]byte, 10)
	a.Post(pt.WR(2, verbs.Send, verbs.SGE{Addr: uint64(uintptr(unsafe.Pointer(&heap[0]))), Length: 10, LKey: a.MR.LKey()}))
	if n := d.Strays(); n != 1 {
		t.Errorf("%d strays; want 1", n)
	}
	a.Sent(2)
}

// A doorbell that fails shows as error completions, of just what it did not get
// across.
func TestDoorbellThatFails(t *testing.T) {
	w := pt.NewWorld(t, 1, true)
	fake := verbstest.NewFake("f")
	e := pt.NewEnd(w, 0, verbstest.NewCShaped(fake), pt.Options{Manual: true})
	var op verbs.Op[verbs.ConnectReply]
	e.QP.Connect(&op, &verbs.ConnectAttr{})
	for fake.QP(e.QP).Connecting() == nil {
		w.Settle()
	}
	fake.QP(e.QP).Establish(nil)
	pt.Wait(w, &op)
	var f dispatch.Frame
	e.P.Raise(&f)
	e.QP.Post(&f, []verbs.WR{pt.WR(1, verbs.Send), pt.WR(2, verbs.Send)})
	e.QP.Ring(&f)
	e.QP.Post(&f, []verbs.WR{pt.WR(3, verbs.Send), pt.WR(4, verbs.Read)})
	fake.QP(e.QP).Refuse(&f, verbs.ErrFull)
	f.Lower()
	for i, wc := range e.Sent(2) {
		e.Want(wc, uint64(3+i), []verbs.Opcode{verbs.Send, verbs.Read}[i], verbs.FatalErr)
	}
	e.At(func(f *dispatch.Frame) { fake.QP(e.QP).CompleteAll(f) })
	for i, wc := range e.Sent(2) {
		e.Want(wc, uint64(1+i), verbs.Send, verbs.Success)
	}
}

// An address that is not of the shared memory does not cross.
func TestAForeignAddressIsRefused(t *testing.T) {
	defer func() {
		if v := recover(); v == nil || !strings.Contains(v.(string), "crossed the boundary") {
			t.Errorf("recovered %v", v)
		}
	}()
	verbstest.CrossForeign(t)
}
