package soft

import (
	"errors"
	"net/netip"
	"testing"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// After Cancel nothing begins, whatever state the QP is brought to: an operation that
// was started before the Close may come to the worker after it (driver.go, Cancel).
func TestNothingBeginsAfterCancel(t *testing.T) {
	ctx := t.Context()
	p := dispatch.New("p")
	defer p.Close()
	h, err := New(Config{}).Plug(HCAConfig{Name: "h", Addr: netip.MustParseAddr("192.0.2.1")})
	if err != nil {
		t.Fatal(err)
	}
	dev := verbs.Open(h, p, nil)
	defer dev.Close(ctx)
	var op verbs.Op[*verbs.CQ]
	dev.CreateCQ(&op, &verbs.CQAttr{Entries: 1, Processor: p})
	cq, err := op.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		var op verbs.Op[verbs.None]
		cq.Close(&op)
		op.Wait(ctx)
	}()
	domain, _ := h.CreatePD(ctx)
	drv, _, err := domain.CreateQP(ctx, &verbs.QPAttr{SendCQ: cq, RecvCQ: cq, MaxSend: 1, MaxRecv: 1, MaxSGE: 1}, new(verbs.QP))
	if err != nil {
		t.Fatal(err)
	}
	q := drv.(*qp)
	q.Cancel(ctx)
	q.state.Store(uint32(verbs.Reset))
	if err := q.Modify(ctx, verbs.Init); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("modify: %v", err)
	}
	self := verbs.Address{Dst: netip.MustParseAddrPort("192.0.2.1:1")}
	if err := q.Connect(ctx, &verbs.ConnectAttr{Address: self}); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("connect: %v", err)
	}
	r := newRequest(q, &listener{dev: h, proc: p}, &verbs.ConnectAttr{Address: self})
	if err := r.Accept(ctx, q, &verbs.AcceptAttr{}); !errors.Is(err, verbs.ErrClosed) || r.state.Load() != requestOpen {
		t.Errorf("accept: %v", err)
	}
	q.Destroy(ctx)
}
