package soft_test

import (
	"context"
	"fmt"
	"net/netip"

	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// Two HCAs of one process: one end listens, the other connects, and a message crosses.
func Example() {
	ctx := context.Background()
	p := dispatch.New("example")
	defer p.Close()
	fabric := soft.New(soft.Config{})
	client, server := exampleEnd(ctx, fabric, p, "192.0.2.1"), exampleEnd(ctx, fabric, p, "192.0.2.2")
	defer client.close(ctx)
	defer server.close(ctx)

	addr := verbs.Address{Dst: netip.MustParseAddrPort("192.0.2.2:5555")}
	var accept verbs.Op[verbs.None]
	var listen verbs.Op[*verbs.Listener]
	server.dev.Listen(&listen, &verbs.ListenAttr{
		Address: addr, Processor: p,
		Request: func(f *dispatch.Frame, l *verbs.Listener, r *verbs.ConnectRequest) {
			server.qp.Accept(&accept, &verbs.AcceptAttr{Request: r, RNRRetry: 7})
			accept.Forget()
		},
	})
	listener, _ := listen.Wait(ctx)
	server.made = append(server.made, listener)
	var connect verbs.Op[verbs.ConnectReply]
	client.qp.Connect(&connect, &verbs.ConnectAttr{Address: addr, RNRRetry: 7})
	if _, err := connect.Wait(ctx); err != nil {
		panic(err)
	}

	// At Dispatch: raise a frame, post, and lower it, which runs what was started.
	var f dispatch.Frame
	p.Raise(&f)
	server.qp.PostRecv(&f, []verbs.RecvWR{{ID: 1, NumSGE: 1, SGE: [verbs.MaxSGE]verbs.SGE{server.piece(100)}}})
	server.cq.Arm(&f)
	copy(client.mem.Bytes(), "hello")
	client.qp.Post(&f, []verbs.WR{{ID: 2, Op: verbs.Send, NumSGE: 1, SGE: [verbs.MaxSGE]verbs.SGE{client.piece(5)}}})
	f.Lower()
	fmt.Println(<-server.got)
	// Output: RECV success: hello
}

type exampleSide struct {
	dev  *verbs.Device
	mem  *arena.Arena
	mr   *verbs.MR
	cq   *verbs.CQ
	qp   *verbs.QP
	made []interface{ Close(*verbs.Op[verbs.None]) }
	got  chan string
}

func exampleEnd(ctx context.Context, fabric *soft.Fabric, p *dispatch.Processor, addr string) *exampleSide {
	s := &exampleSide{got: make(chan string, 1)}
	hca, err := fabric.Plug(soft.HCAConfig{Name: addr, GUID: 1, Addr: netip.MustParseAddr(addr)})
	if err != nil {
		panic(err)
	}
	s.dev = verbs.Open(hca, p, nil)
	var pdOp verbs.Op[*verbs.PD]
	s.dev.CreatePD(&pdOp)
	pd, _ := pdOp.Wait(ctx)
	s.mem, _ = arena.New(4096)
	var mrOp verbs.Op[*verbs.MR]
	pd.RegisterMR(&mrOp, &verbs.MRAttr{Arena: s.mem, Access: verbs.LocalWrite})
	s.mr, _ = mrOp.Wait(ctx)
	var cqOp verbs.Op[*verbs.CQ]
	s.dev.CreateCQ(&cqOp, &verbs.CQAttr{Entries: 8, Processor: p, Notify: func(f *dispatch.Frame, cq *verbs.CQ) {
		var wcs [8]verbs.WC
		for _, wc := range wcs[:cq.Poll(f, wcs[:])] {
			s.got <- fmt.Sprintf("%s %s: %s", wc.Op, wc.Status, s.mem.Bytes()[:wc.ByteLen])
		}
	}})
	s.cq, _ = cqOp.Wait(ctx)
	var qpOp verbs.Op[*verbs.QP]
	pd.CreateQP(&qpOp, &verbs.QPAttr{SendCQ: s.cq, RecvCQ: s.cq, MaxSend: 4, MaxRecv: 4, MaxSGE: 1})
	s.qp, _ = qpOp.Wait(ctx)
	s.made = append(s.made, s.qp, s.mr, s.cq, pd)
	return s
}

func (s *exampleSide) piece(n uint32) verbs.SGE {
	return verbs.SGE{Addr: s.mem.Addr(), Length: n, LKey: s.mr.LKey()}
}

func (s *exampleSide) close(ctx context.Context) {
	for _, o := range s.made {
		op := new(verbs.Op[verbs.None])
		o.Close(op)
		op.Forget()
	}
	s.dev.Close(ctx)
	s.mem.Close()
}
