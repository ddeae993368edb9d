package verbstest_test

import (
	"context"
	"fmt"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/verbstest"
)

// A test of a consumer: it connects, posts, and gets the completion that the test
// wants to see handled.
func ExampleFake() {
	ctx := context.Background()
	p := dispatch.New("example")
	defer p.Close()
	fake := verbstest.NewFake("fake0")
	dev := verbs.Open(fake, p, nil)
	defer dev.Close(ctx)

	var pdOp verbs.Op[*verbs.PD]
	dev.CreatePD(&pdOp)
	pd, _ := pdOp.Wait(ctx)
	var cqOp verbs.Op[*verbs.CQ]
	dev.CreateCQ(&cqOp, &verbs.CQAttr{Entries: 8, Processor: p})
	cq, _ := cqOp.Wait(ctx)
	var qpOp verbs.Op[*verbs.QP]
	pd.CreateQP(&qpOp, &verbs.QPAttr{SendCQ: cq, RecvCQ: cq, MaxSend: 4, MaxRecv: 4, MaxSGE: 1})
	qp, _ := qpOp.Wait(ctx)
	defer closeAll(ctx, qp, cq, pd)

	// The consumer connects; the test answers.
	var connect verbs.Op[verbs.ConnectReply]
	qp.Connect(&connect, &verbs.ConnectAttr{Private: []byte("hello")})
	for fake.QP(qp).Connecting() == nil {
	}
	fmt.Printf("asked with %q\n", fake.QP(qp).Connecting().Private)
	fake.QP(qp).Establish([]byte("welcome"))
	reply, err := connect.Wait(ctx)
	fmt.Printf("%q %v %s\n", reply.Private(), err, qp.State())

	// The consumer posts; the test lets the peer refuse the access.
	done := make(chan struct{})
	var d dispatch.DPC
	d.Init(p, func(f *dispatch.Frame) {
		defer close(done)
		qp.Post(f, []verbs.WR{{ID: 7, Op: verbs.Write, RemoteAddr: 0x1000, Key: 5}})
		fake.QP(qp).Complete(f, verbs.RemAccessErr)
		var wcs [4]verbs.WC
		for _, wc := range wcs[:cq.Poll(f, wcs[:])] {
			fmt.Println(wc.ID, wc.Op, wc.Status)
		}
	})
	d.Post()
	<-done
	// Output:
	// asked with "hello"
	// "welcome" <nil> RTS
	// 7 RDMA WRITE remote access error
}

func closeAll(ctx context.Context, objects ...interface{ Close(*verbs.Op[verbs.None]) }) {
	for _, o := range objects {
		var op verbs.Op[verbs.None]
		o.Close(&op)
		op.Wait(ctx)
	}
}

// A provider behind the boundary: everything that uses dev is counted and checked.
func ExampleCShaped() {
	shaped := verbstest.NewCShaped(verbstest.NewFake("fake0"))
	p := dispatch.New("example")
	defer p.Close()
	dev := verbs.Open(shaped, p, nil)
	defer dev.Close(context.Background())
	fmt.Println(shaped.Crossings().PostSend, shaped.Strays())
	// Output: 0 0
}
