package soft_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// end is one side of a connection under test.
type end struct {
	t    *testing.T
	p    *dispatch.Processor
	dev  *verbs.Device
	pd   *verbs.PD
	cq   *verbs.CQ
	qp   *verbs.QP
	mr   *verbs.MR
	mem  []byte
	base uint64
	a    *arena.Arena

	events []verbs.QPEvent
}

const endMem = 1 << 20

func wait[T any](t *testing.T, op *verbs.Op[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	v, err := op.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

type setup struct {
	access verbs.Access // of the QPs
	mr     verbs.Access
	rnr    uint8
	config soft.Config
	two    bool // two processors
}

var everything = verbs.LocalWrite | verbs.RemoteRead | verbs.RemoteWrite | verbs.BindMW

// pair makes two connected ends, on one processor or two.
func pair(t *testing.T, s setup) (fb *soft.Fabric, a, b *end) {
	fb = soft.New(s.config)
	pa := dispatch.New("a")
	pb := pa
	t.Cleanup(pa.Close)
	if s.two {
		pb = dispatch.New("b")
		t.Cleanup(pb.Close)
	}
	a, b = newEnd(t, fb, pa, "192.0.2.1", s), newEnd(t, fb, pb, "192.0.2.2", s)
	connect(t, a, b, s)
	return fb, a, b
}

func newEnd(t *testing.T, fb *soft.Fabric, p *dispatch.Processor, addr string, s setup) *end {
	h, err := fb.Plug(soft.HCAConfig{Name: addr, GUID: 1, Addr: netip.MustParseAddr(addr)})
	if err != nil {
		t.Fatal(err)
	}
	e := &end{t: t, p: p, dev: verbs.Open(h, p, nil)}
	var pdOp verbs.Op[*verbs.PD]
	e.dev.CreatePD(&pdOp)
	e.pd = wait(t, &pdOp)
	var cqOp verbs.Op[*verbs.CQ]
	e.dev.CreateCQ(&cqOp, &verbs.CQAttr{Entries: 64, Processor: p})
	e.cq = wait(t, &cqOp)
	if e.a, err = arena.New(endMem); err != nil {
		t.Fatal(err)
	}
	e.mem, e.base = e.a.Bytes(), e.a.Addr()
	if s.mr == 0 {
		s.mr = everything
	}
	var mrOp verbs.Op[*verbs.MR]
	e.pd.RegisterMR(&mrOp, &verbs.MRAttr{Arena: e.a, Access: s.mr})
	e.mr = wait(t, &mrOp)
	if s.access == 0 {
		s.access = verbs.RemoteRead | verbs.RemoteWrite
	}
	var qpOp verbs.Op[*verbs.QP]
	e.pd.CreateQP(&qpOp, &verbs.QPAttr{
		SendCQ: e.cq, RecvCQ: e.cq, MaxSend: 16, MaxRecv: 16, MaxSGE: 4, Access: s.access,
		Event: func(f *dispatch.Frame, qp *verbs.QP, ev verbs.QPEvent) { e.events = append(e.events, ev) },
	})
	e.qp = wait(t, &qpOp)
	t.Cleanup(e.close)
	return e
}

func (e *end) close() {
	for _, c := range []interface{ Close(*verbs.Op[verbs.None]) }{e.qp, e.mr, e.cq, e.pd} {
		var op verbs.Op[verbs.None]
		c.Close(&op)
		op.Forget()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := e.dev.Close(ctx); err != nil {
		e.t.Error(err)
	}
	e.a.Close()
}

func connect(t *testing.T, a, b *end, s setup) {
	addr := verbs.Address{Dst: netip.MustParseAddrPort("192.0.2.2:5555")}
	var lOp verbs.Op[*verbs.Listener]
	var acc verbs.Op[verbs.None]
	accepted := make(chan struct{})
	b.dev.Listen(&lOp, &verbs.ListenAttr{Address: addr, Processor: b.p, Request: func(f *dispatch.Frame, l *verbs.Listener, r *verbs.ConnectRequest) {
		if !bytes.Equal(r.Private(), []byte("hello")) {
			t.Errorf("private data %q", r.Private())
		}
		b.qp.Accept(&acc, &verbs.AcceptAttr{Request: r, Private: []byte("welcome"), RNRRetry: s.rnr})
		acc.Then(func(f *dispatch.Frame, _ verbs.None, err error) {
			if err != nil {
				t.Error(err)
			}
			close(accepted)
		})
	}})
	l := wait(t, &lOp)
	var c verbs.Op[verbs.ConnectReply]
	a.qp.Connect(&c, &verbs.ConnectAttr{Address: addr, Private: []byte("hello"), RNRRetry: s.rnr})
	r := wait(t, &c)
	if string(r.Private()) != "welcome" {
		t.Errorf("reply's private data %q", r.Private())
	}
	<-accepted
	var cl verbs.Op[verbs.None]
	l.Close(&cl)
	wait(t, &cl)
}

// at runs fn at Dispatch, owning the processor, and returns when everything that it
// started has run.
func (e *end) at(fn func(f *dispatch.Frame)) {
	done := make(chan struct{})
	var d dispatch.DPC
	d.Init(e.p, func(f *dispatch.Frame) { fn(f); close(done) })
	d.Post()
	<-done
}

func (e *end) post(wrs ...verbs.WR) {
	e.t.Helper()
	e.at(func(f *dispatch.Frame) {
		if n, err := e.qp.Post(f, wrs); n != len(wrs) || err != nil {
			e.t.Errorf("posted %d of %d: %v", n, len(wrs), err)
		}
	})
}

func (e *end) recv(id uint64, off, n int) {
	e.at(func(f *dispatch.Frame) {
		if _, err := e.qp.PostRecv(f, []verbs.RecvWR{{ID: id, NumSGE: 1, SGE: [4]verbs.SGE{e.sge(off, n)}}}); err != nil {
			e.t.Error(err)
		}
	})
}

func (e *end) sge(off, n int) verbs.SGE {
	return verbs.SGE{Addr: e.base + uint64(off), Length: uint32(n), LKey: e.mr.LKey()}
}

// completions waits for n completions.
func (e *end) completions(n int) []verbs.WC {
	e.t.Helper()
	var got []verbs.WC
	deadline := time.Now().Add(10 * time.Second)
	for len(got) < n {
		e.at(func(f *dispatch.Frame) {
			var wcs [16]verbs.WC
			got = append(got, wcs[:e.cq.Poll(f, wcs[:])]...)
		})
		if time.Now().After(deadline) {
			e.t.Fatalf("%d completions of %d: %+v", len(got), n, got)
		}
	}
	return got
}

func forBoth(t *testing.T, fn func(t *testing.T, two bool)) {
	t.Run("one processor", func(t *testing.T) { fn(t, false) })
	t.Run("two processors", func(t *testing.T) { fn(t, true) })
}

func TestSendGathersAndScatters(t *testing.T) {
	forBoth(t, func(t *testing.T, two bool) {
		_, a, b := pair(t, setup{rnr: 7, two: two})
		for i := range 1000 {
			a.mem[i] = byte(i * 7)
		}
		b.at(func(f *dispatch.Frame) {
			b.qp.PostRecv(f, []verbs.RecvWR{{ID: 9, NumSGE: 3, SGE: [4]verbs.SGE{b.sge(0, 100), b.sge(5000, 1), b.sge(6000, 2000)}}})
		})
		a.post(verbs.WR{ID: 1, Op: verbs.Send, Flags: verbs.Signaled, NumSGE: 2, SGE: [4]verbs.SGE{a.sge(0, 600), a.sge(600, 400)}})
		if wc := a.completions(1)[0]; wc.ID != 1 || wc.Status != verbs.Success || wc.QPN != a.qp.Num() {
			t.Errorf("send completion %+v", wc)
		}
		if wc := b.completions(1)[0]; wc.ID != 9 || wc.Status != verbs.Success || wc.ByteLen != 1000 || wc.Op != verbs.Recv {
			t.Errorf("receive completion %+v", wc)
		}
		got := append(append(append([]byte{}, b.mem[:100]...), b.mem[5000]), b.mem[6000:6899]...)
		if !bytes.Equal(got, a.mem[:1000]) {
			t.Error("bytes differ")
		}
	})
}

func TestWriteAndReadUnderAWindow(t *testing.T) {
	forBoth(t, func(t *testing.T, two bool) {
		_, a, b := pair(t, setup{rnr: 7, two: two})
		var op verbs.Op[*verbs.MW]
		b.pd.AllocMW(&op)
		mw := wait(t, &op)
		defer func() { var c verbs.Op[verbs.None]; mw.Close(&c); wait(t, &c) }()
		key := verbs.NextKey(mw.RKey())
		b.post(verbs.WR{ID: 1, Op: verbs.BindWindow, Flags: verbs.Signaled, MW: mw.Handle(), Key: key,
			Access: verbs.RemoteWrite, NumSGE: 1, SGE: [4]verbs.SGE{b.sge(4096, 300000)}})
		if wc := b.completions(1)[0]; wc.Status != verbs.Success {
			t.Fatalf("bind: %s", wc.Status)
		}
		for i := range 300000 {
			a.mem[i] = byte(i * 13)
		}
		a.post(verbs.WR{ID: 2, Op: verbs.Write, Flags: verbs.Signaled, Key: key, RemoteAddr: b.base + 4096, NumSGE: 1, SGE: [4]verbs.SGE{a.sge(0, 300000)}})
		if wc := a.completions(1)[0]; wc.Status != verbs.Success {
			t.Fatalf("write: %s", wc.Status)
		}
		if !bytes.Equal(b.mem[4096:304096], a.mem[:300000]) {
			t.Error("bytes differ")
		}
		b.post(verbs.WR{ID: 3, Op: verbs.LocalInv, Flags: verbs.Signaled, Key: key})
		if wc := b.completions(1)[0]; wc.Status != verbs.Success {
			t.Fatalf("invalidate: %s", wc.Status)
		}
		a.post(verbs.WR{ID: 4, Op: verbs.Write, Key: key, RemoteAddr: b.base + 4096, NumSGE: 1, SGE: [4]verbs.SGE{a.sge(0, 1)}})
		if wc := a.completions(1)[0]; wc.Status != verbs.RemAccessErr || wc.ID != 4 {
			t.Fatalf("write under an invalidated key: %+v", wc)
		}
		if a.qp.State() != verbs.Error {
			t.Errorf("QP %s after a fatal error", a.qp.State())
		}
	})
}

func TestRegisterNothing(t *testing.T) {
	_, a, _ := pair(t, setup{})
	var op verbs.Op[*verbs.MR]
	a.pd.RegisterMR(&op, &verbs.MRAttr{})
	if _, err := op.Wait(t.Context()); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
