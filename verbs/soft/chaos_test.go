package soft_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	pt "minisrp/verbs/internal/providertest"
)

// fatal is the ID of a request that takes a QP to Error.
const fatal = 1 << 40

// pump posts sends and receives on a QP from its own processor as long as it goes, and
// accounts for every completion.
type pump struct {
	e              *pt.End
	peer           *pt.End
	d              dispatch.DPC
	rand           *rand.Rand
	sent, received uint64 // next IDs
	sends, recvs   uint64 // IDs of the next completions
	bad            atomic.Pointer[string]
	stopped        bool
}

func newPump(e, peer *pt.End, seed uint64) *pump {
	p := &pump{e: e, peer: peer, rand: rand.New(rand.NewPCG(seed, 2))}
	p.d.Init(e.P, p.run)
	return p
}

func (p *pump) run(f *dispatch.Frame) {
	p.poll(f)
	if p.stopped {
		return
	}
	for range p.rand.IntN(4) {
		r := []verbs.RecvWR{{ID: p.received, NumSGE: 1, SGE: [4]verbs.SGE{p.e.Piece(0, 4096)}}}
		if n, err := p.e.QP.PostRecv(f, r); n == 1 {
			p.received++
		} else if !errors.Is(err, verbs.ErrFull) {
			p.stopped = true
		}
	}
	for range p.rand.IntN(4) {
		var wr verbs.WR
		switch n := 1 + p.rand.IntN(70000); p.rand.IntN(4) {
		case 0:
			wr = p.e.RDMA(p.sent, verbs.Write, 8192, n, p.peer, 100000, p.peer.MR.RKey())
		case 1:
			wr = p.e.RDMA(p.sent, verbs.Read, 200000, n, p.peer, 300000, p.peer.MR.RKey())
		default:
			wr = pt.WR(p.sent, verbs.Send, p.e.Piece(8192, n%4096))
		}
		if n, err := p.e.QP.Post(f, []verbs.WR{wr}); n == 1 {
			p.sent++
		} else if !errors.Is(err, verbs.ErrFull) {
			p.stopped = true
		}
	}
	if p.e.QP.State() == verbs.Error {
		p.stopped = true // enough: what is posted now would be flushed
		return
	}
	p.d.Queue(f)
}

// poll takes what has completed: every request once, in order.
func (p *pump) poll(f *dispatch.Frame) {
	var wcs [8]verbs.WC
	for _, cq := range []*verbs.CQ{p.e.SCQ, p.e.RCQ} {
		for n := cq.Poll(f, wcs[:]); n > 0; n = cq.Poll(f, wcs[:]) {
			for _, wc := range wcs[:n] {
				if wc.ID == fatal {
					continue
				}
				next := &p.sends
				if wc.Op == verbs.Recv {
					next = &p.recvs
				}
				if wc.ID != *next {
					s := "a completion out of order, lost or doubled"
					p.bad.Store(&s)
				}
				*next++
			}
		}
	}
}

// check demands that everything that was accepted has completed.
func (p *pump) check(name string) {
	p.e.T.Helper()
	p.e.At(func(f *dispatch.Frame) {
		p.poll(f)
		if s := p.bad.Load(); s != nil {
			p.e.T.Errorf("%s: %s", name, *s)
		}
		if p.sends != p.sent || p.recvs != p.received {
			p.e.T.Errorf("%s: %d of %d sends and %d of %d receives completed", name, p.sends, p.sent, p.recvs, p.received)
		}
	})
}

// Whatever ends a connection in the middle of traffic, from whichever sides at once,
// each accepted request completes exactly once, in order, and everything closes.
func TestChaosOfEnds(t *testing.T) {
	rounds := 120
	if testing.Short() {
		rounds = 8
	}
	for round := range rounds {
		r := rand.New(rand.NewPCG(uint64(round), 1))
		a, b := pt.Pair(t, fresh, pt.Options{Two: round%2 == 0})
		ends := []*pt.End{a, b}
		pumps := []*pump{newPump(a, b, uint64(round)), newPump(b, a, uint64(round)+1000)}
		for _, p := range pumps {
			p.d.Post()
		}
		var wg sync.WaitGroup
		closed := [2]bool{}
		for range 1 + r.IntN(3) {
			i, what, after := r.IntN(2), r.IntN(5), r.IntN(2000)
			if what == 3 && closed[i] {
				continue
			}
			closed[i] = closed[i] || what == 3
			wg.Go(func() {
				for range after {
					runtime.Gosched()
				}
				end(ends[i], what)
			})
		}
		wg.Wait()
		for i, e := range ends {
			if !closed[i] {
				e.World.Close(e.QP)
			}
		}
		// All that was posted is flushed; poll until it is there.
		for i, p := range pumps {
			awaitClosed(p)
			p.check([]string{"a", "b"}[i])
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

// awaitClosed waits until the pump has seen its last completion.
func awaitClosed(p *pump) {
	for over := false; !over; {
		p.e.At(func(f *dispatch.Frame) {
			p.poll(f)
			over = p.stopped && p.sends >= p.sent && p.recvs >= p.received
		})
	}
}

// end ends a connection in one of the ways there are.
func end(e *pt.End, what int) {
	op := new(verbs.Op[verbs.None])
	switch what {
	case 0:
		e.QP.Disconnect(op)
	case 1:
		e.QP.Modify(op, verbs.Error)
	case 2:
		e.MR.Close(op)
	case 3:
		e.QP.Close(op)
	case 4: // a fatal error
		var d dispatch.DPC
		done := make(chan struct{})
		d.Init(e.P, func(f *dispatch.Frame) {
			e.QP.Post(f, []verbs.WR{pt.WR(fatal, verbs.LocalInv)})
			close(done)
		})
		d.Post()
		<-done
		return
	}
	op.Wait(context.Background())
}

// Connecting, accepting, rejecting, cancelling and closing in any order: each
// operation completes once, and both devices close.
func TestChaosOfConnecting(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	outcomes := map[string]int{}
	for round := range rounds {
		r := rand.New(rand.NewPCG(uint64(round), 3))
		c := newCM(t, false)
		var delivered atomic.Int32
		var accept verbs.Op[verbs.None]
		accepts := make(chan error, 1)
		answer := r.IntN(4)
		listener := pt.Do(c.World, func(op *verbs.Op[*verbs.Listener]) {
			c.b.Dev.Listen(op, &verbs.ListenAttr{Address: c.addr, Processor: c.b.P, Request: func(f *dispatch.Frame, l *verbs.Listener, req *verbs.ConnectRequest) {
				delivered.Add(1)
				switch answer {
				case 0:
					req.Reject(verbs.RejectConsumer, nil)
				default:
					c.accept.Request = req
					c.b.QP.Accept(&accept, &c.accept)
					accept.Then(func(f *dispatch.Frame, _ verbs.None, err error) {
						if err != nil {
							req.Reject(verbs.RejectNoResources, nil) // as Accept says
						}
						accepts <- err
					})
				}
			}})
		})
		c.connect.Address = verbs.Address{Dst: netip.AddrPortFrom(pt.Addr(1), 5555)}
		var connect verbs.Op[verbs.ConnectReply]
		result := make(chan error, 1)
		var wg sync.WaitGroup
		first, second := r.IntN(3), r.IntN(6)
		for _, action := range []func(){
			func() {
				c.a.QP.Connect(&connect, &c.connect)
				connect.Then(func(f *dispatch.Frame, _ verbs.ConnectReply, err error) { result <- err })
			},
			func() { closeOne(first, c, listener) },
			func() { closeOne(second, c, listener) },
		} {
			spin := r.IntN(300)
			wg.Go(func() {
				for range spin {
					runtime.Gosched()
				}
				action()
			})
		}
		wg.Wait()
		switch err := <-result; {
		case err == nil:
			outcomes["connected"]++
		case errors.Is(err, verbs.ErrClosed):
			outcomes["closed"]++
		case errors.Is(err, verbs.ErrTimeout):
			t.Errorf("round %d: nobody answered: %v", round, err)
		default:
			outcomes["refused"]++
		}
		c.World.Close(c.a.QP, c.b.QP, listener)
		if delivered.Load() > 1 {
			t.Errorf("round %d: %d requests", round, delivered.Load())
		}
		if delivered.Load() == 1 && answer != 0 {
			<-accepts
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%v", outcomes)
	if outcomes["connected"] == 0 || outcomes["closed"] == 0 || outcomes["refused"] == 0 {
		t.Errorf("outcomes %v: want all of them", outcomes)
	}
}

func closeOne(what int, c *cm, l *verbs.Listener) {
	op := new(verbs.Op[verbs.None])
	switch what {
	case 0:
		c.a.QP.Close(op)
	case 1:
		c.b.QP.Close(op)
	case 2:
		l.Close(op)
	default:
		return
	}
	op.Wait(context.Background())
}
