package soft_test

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"
	"time"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	pt "minisrp/verbs/internal/providertest"
	"minisrp/verbs/soft"
)

// cm is two unconnected ends and a listener that leaves each request to the test.
type cm struct {
	*pt.World
	fb      *soft.Fabric
	a, b    *pt.End
	addr    verbs.Address
	l       *verbs.Listener
	connect verbs.ConnectAttr
	accept  verbs.AcceptAttr
	got     []*verbs.ConnectRequest
}

func newCM(t *testing.T, manual bool) *cm { return newCMWith(t, manual, soft.Config{}) }

func newCMWith(t *testing.T, manual bool, config soft.Config) *cm {
	fb, p := plug(config)
	c := &cm{World: pt.NewWorld(t, 2, manual), fb: fb}
	da, db := p(t)
	o := pt.Options{Manual: manual, Two: true}
	c.a, c.b = pt.NewEnd(c.World, 0, da, o), pt.NewEnd(c.World, 1, db, o)
	c.addr = verbs.Address{Dst: netip.AddrPortFrom(pt.Addr(1), 5555)}
	c.connect = verbs.ConnectAttr{RetryCount: 7, RNRRetry: 7}
	c.accept = verbs.AcceptAttr{RNRRetry: 7}
	return c
}

// listen listens on c.addr.
func (c *cm) listen() {
	c.T.Helper()
	if c.l != nil {
		return
	}
	c.l = pt.Do(c.World, func(op *verbs.Op[*verbs.Listener]) {
		c.b.Dev.Listen(op, &verbs.ListenAttr{Address: c.addr, Processor: c.b.P, Request: func(f *dispatch.Frame, l *verbs.Listener, r *verbs.ConnectRequest) {
			c.got = append(c.got, r)
		}})
	})
	c.T.Cleanup(func() { c.World.Close(c.l) })
}

// begin starts to connect, and returns a channel that is closed when that has ended.
func (c *cm) begin() (done chan struct{}, result *error, reply *verbs.ConnectReply) {
	done, result, reply = make(chan struct{}), new(error), new(verbs.ConnectReply)
	c.connect.Address = c.addr
	op := new(verbs.Op[verbs.ConnectReply])
	c.a.QP.Connect(op, &c.connect)
	op.Then(func(f *dispatch.Frame, r verbs.ConnectReply, err error) {
		*reply, *result = r, err
		close(done)
	})
	return done, result, reply
}

// request waits for the request.
func (c *cm) request() *verbs.ConnectRequest {
	c.T.Helper()
	deadline := time.Now().Add(pt.Patience)
	for {
		var r *verbs.ConnectRequest
		c.b.At(func(*dispatch.Frame) {
			if len(c.got) > 0 {
				r, c.got = c.got[0], c.got[1:]
			}
		})
		if r != nil {
			return r
		}
		if time.Now().After(deadline) {
			c.T.Fatal("no request came")
		}
	}
}

// take accepts a request.
func (c *cm) take(r *verbs.ConnectRequest) error {
	c.T.Helper()
	c.accept.Request = r
	_, err := pt.Try(c.World, func(op *verbs.Op[verbs.None]) { c.b.QP.Accept(op, &c.accept) })
	return err
}

func (c *cm) establish() {
	c.T.Helper()
	c.listen()
	done, err, _ := c.begin()
	if e := c.take(c.request()); e != nil {
		c.T.Fatal(e)
	}
	c.Await(done)
	if *err != nil {
		c.T.Fatal(*err)
	}
	for _, e := range []*pt.End{c.a, c.b} {
		if s := e.QP.State(); s != verbs.RTS {
			c.T.Fatalf("connected, and %s", s)
		}
	}
}

// Both addressings carry the request's private data, READ depths and the peer's
// address (IBA 12.6.5, annex A11).
func TestConnectByBothAddressings(t *testing.T) {
	for name, x := range map[string]struct {
		addr verbs.Address
		most int
		peer verbs.Address
	}{
		"RDMA CM": {
			verbs.Address{Dst: netip.MustParseAddrPort("192.0.2.2:5555"), Src: netip.MustParseAddrPort("192.0.2.1:49999")},
			verbs.MaxConnectPrivateRDMA,
			verbs.Address{Dst: netip.MustParseAddrPort("192.0.2.2:5555"), Src: netip.MustParseAddrPort("192.0.2.1:49999")},
		},
		"IB CM": {
			verbs.Address{DGID: soft.GIDOf(pt.Addr(1)), PKey: 0xffff, ServiceID: 0x0002c903000e0b72},
			verbs.MaxConnectPrivateIB,
			verbs.Address{DGID: soft.GIDOf(pt.Addr(0))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCM(t, true)
			c.addr = x.addr
			c.connect.Private = bytes.Repeat([]byte{7}, x.most)
			c.connect.ReadsAnswered, c.connect.ReadsIssued = 4, 3
			c.accept.Private = bytes.Repeat([]byte{8}, verbs.MaxReplyPrivate)
			c.accept.ReadsAnswered, c.accept.ReadsIssued = 2, 1
			c.listen()
			done, err, reply := c.begin()
			r := c.request()
			if r.Peer() != x.peer || !bytes.Equal(r.Private(), c.connect.Private) || r.ReadsAnswered != 4 || r.ReadsIssued != 3 {
				t.Errorf("request of %v, %d, %d, %x", r.Peer(), r.ReadsAnswered, r.ReadsIssued, r.Private())
			}
			if e := c.take(r); e != nil {
				t.Fatal(e)
			}
			c.Await(done)
			if *err != nil || !bytes.Equal(reply.Private(), c.accept.Private) || reply.ReadsAnswered != 2 || reply.ReadsIssued != 1 {
				t.Errorf("%v, %d, %d, %x", *err, reply.ReadsAnswered, reply.ReadsIssued, reply.Private())
			}
			c.b.Recv(1)
			c.a.Post(pt.WR(2, verbs.Send))
			c.a.Want(c.a.Sent(1)[0], 2, verbs.Send, verbs.Success)
		})
	}
}

// What is out of range is refused without the peer hearing of it (IBA 12.6).
func TestConnectLimits(t *testing.T) {
	c := newCM(t, true)
	c.listen()
	ib := verbs.Address{DGID: soft.GIDOf(pt.Addr(1)), ServiceID: 1}
	pkey, gid := ib, ib
	pkey.PKey, gid.GIDIndex = 0x8001, 1
	for name, attr := range map[string]verbs.ConnectAttr{
		"private data, RDMA CM": {Address: c.addr, Private: make([]byte, verbs.MaxConnectPrivateRDMA+1)},
		"private data, IB CM":   {Address: ib, Private: make([]byte, verbs.MaxConnectPrivateIB+1)},
		"retry count":           {Address: c.addr, RetryCount: 8},
		"RNR retry count":       {Address: c.addr, RNRRetry: 8},
		"timeout":               {Address: c.addr, Timeout: -1},
		"P_Key of no table":     {Address: pkey},
		"GID index of no table": {Address: gid},
	} {
		_, err := pt.Try(c.World, func(op *verbs.Op[verbs.ConnectReply]) { c.a.QP.Connect(op, &attr) })
		if !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(c.got) != 0 {
		t.Errorf("%d requests came", len(c.got))
	}
	for name, attr := range map[string]verbs.AcceptAttr{
		"no request":      {},
		"private data":    {Request: &verbs.ConnectRequest{}, Private: make([]byte, verbs.MaxReplyPrivate+1)},
		"RNR retry count": {Request: &verbs.ConnectRequest{}, RNRRetry: 8},
	} {
		_, err := pt.Try(c.World, func(op *verbs.Op[verbs.None]) { c.b.QP.Accept(op, &attr) })
		if !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The same QPs still connect.
	c.establish()
}

// Nothing listens: REJ 8, and the QP can try again (IBA 12.6.7.2).
func TestConnectToNothing(t *testing.T) {
	c := newCM(t, true)
	done, err, _ := c.begin()
	c.Await(done)
	var rej *verbs.RejectError
	if !errors.As(*err, &rej) || rej.Reason != verbs.RejectInvalidServe || len(rej.Private) != 0 {
		t.Fatalf("%v", *err)
	}
	var oe *verbs.OpError
	if !errors.As(*err, &oe) || oe.Op != "connect" || oe.Object != "192.0.2.2:5555" {
		t.Errorf("%v does not name what it is about", *err)
	}
	c.establish()
}

func TestConnectToNowhere(t *testing.T) {
	c := newCM(t, true)
	for _, addr := range []verbs.Address{
		{Dst: netip.MustParseAddrPort("192.0.2.77:5555")}, {Dst: netip.MustParseAddrPort("[2001:db8::1]:5555")},
		{DGID: verbs.GID{15: 9}, ServiceID: 1},
	} {
		c.addr = addr
		done, err, _ := c.begin()
		c.Await(done)
		if !errors.Is(*err, verbs.ErrNoRoute) {
			t.Errorf("%v: %v", addr, *err)
		}
	}
}

// A consumer's reject carries its private data to the peer, cut at 148 bytes; a
// second answer does nothing (IBA 12.6.7).
func TestReject(t *testing.T) {
	c := newCM(t, true)
	c.listen()
	done, err, _ := c.begin()
	r := c.request()
	why := bytes.Repeat([]byte{0xc2}, verbs.MaxRejectPrivate+9)
	r.Reject(verbs.RejectConsumer, why)
	clear(why)
	r.Reject(verbs.RejectNoResources, nil)
	if e := c.take(r); !errors.Is(e, verbs.ErrTimeout) {
		t.Errorf("accepted after it was rejected: %v", e)
	}
	c.Await(done)
	var rej *verbs.RejectError
	if !errors.As(*err, &rej) || rej.Reason != verbs.RejectConsumer || !bytes.Equal(rej.Private, bytes.Repeat([]byte{0xc2}, verbs.MaxRejectPrivate)) {
		t.Errorf("%v", *err)
	}
	// Neither QP is spent.
	c.establish()
}

// The peer does not answer in time: the attempt ends, and a late answer finds that
// (IBA 12.9.8).
func TestConnectTimeout(t *testing.T) {
	for _, d := range []time.Duration{0, 300 * time.Millisecond} {
		c := newCM(t, true)
		c.listen()
		c.connect.Timeout = d
		done, err, _ := c.begin()
		r := c.request()
		if d == 0 {
			d = 5 * time.Second
		}
		c.Advance(d - 1)
		select {
		case <-done:
			t.Fatalf("ended early: %v", *err)
		default:
		}
		c.Advance(1)
		c.Await(done)
		if !errors.Is(*err, verbs.ErrTimeout) {
			t.Errorf("%v", *err)
		}
		if e := c.take(r); !errors.Is(e, verbs.ErrTimeout) {
			t.Errorf("accepted after the time was over: %v", e)
		}
		c.establish()
	}
}

// A request whose Accept fails because of the QP is still unanswered: another can
// take it, or it can be refused.
func TestAcceptWithAUselessQP(t *testing.T) {
	c := newCM(t, true)
	c.listen()
	done, err, _ := c.begin()
	r := c.request()
	good := c.b.QP
	c.b.QP = c.b.NewQP()
	for _, to := range []verbs.QPState{verbs.Init, verbs.Error} {
		if e := modify(c.b, c.b.QP, to); e != nil {
			t.Fatal(e)
		}
	}
	if e := c.take(r); !errors.Is(e, verbs.ErrState) {
		t.Errorf("with a QP in Error: %v", e)
	}
	c.accept.Request = r
	if _, e := pt.Try(c.World, func(op *verbs.Op[verbs.None]) { c.a.NewQP().Accept(op, &c.accept) }); !errors.Is(e, verbs.ErrInvalid) {
		t.Errorf("with a QP of another device: %v", e)
	}
	c.b.QP = good
	if e := c.take(r); e != nil {
		t.Error(e)
	}
	c.Await(done)
	if *err != nil {
		t.Error(*err)
	}
}

// A QP makes one connection: further attempts are refused and change nothing.
func TestConnectTwice(t *testing.T) {
	c := newCM(t, true)
	c.listen()
	done, err, _ := c.begin()
	r := c.request()
	second, err2, _ := c.begin()
	c.Await(second)
	if !errors.Is(*err2, verbs.ErrState) {
		t.Errorf("while connecting: %v", *err2)
	}
	if e := c.take(r); e != nil {
		t.Fatal(e)
	}
	c.Await(done)
	if *err != nil {
		t.Fatal(*err)
	}
	third, err3, _ := c.begin()
	c.Await(third)
	if !errors.Is(*err3, verbs.ErrState) || c.a.QP.State() != verbs.RTS {
		t.Errorf("when connected: %v, then %s", *err3, c.a.QP.State())
	}
	if len(c.got) != 0 {
		t.Errorf("%d more requests came", len(c.got))
	}
}

// An address is listened on once; the listener's end frees it (IBA 12.9.9).
func TestListenTwice(t *testing.T) {
	c := newCM(t, true)
	c.listen()
	listen := func(dst string, dev *verbs.Device) error {
		l, err := pt.Try(c.World, func(op *verbs.Op[*verbs.Listener]) {
			dev.Listen(op, &verbs.ListenAttr{
				Address: verbs.Address{Dst: netip.MustParseAddrPort(dst)}, Processor: c.Procs[0],
				Request: func(*dispatch.Frame, *verbs.Listener, *verbs.ConnectRequest) {},
			})
		})
		if err == nil {
			c.World.Close(l)
		}
		return err
	}
	for dst, want := range map[string]error{
		"192.0.2.2:5555": verbs.ErrInUse, "0.0.0.0:5555": verbs.ErrInUse, "[::]:5555": verbs.ErrInUse,
		"192.0.2.2:5556": nil, "192.0.2.1:5555": verbs.ErrNoRoute,
	} {
		if err := listen(dst, c.b.Dev); !errors.Is(err, want) {
			t.Errorf("%s: %v; want %v", dst, err, want)
		}
	}
	if err := listen("0.0.0.0:5555", c.a.Dev); err != nil {
		t.Errorf("the same port at another HCA: %v", err)
	}
	c.World.Close(c.l)
	if err := listen("192.0.2.2:5555", c.b.Dev); err != nil {
		t.Errorf("after the listener's end: %v", err)
	}
}

// A disconnect flushes both ends; the peer is told by an event (IBA 12.9, DREQ).
func TestDisconnect(t *testing.T) {
	for _, by := range []int{0, 1} {
		c := newCM(t, true)
		c.establish()
		us, them := []*pt.End{c.a, c.b}[by], []*pt.End{c.b, c.a}[by]
		for _, e := range []*pt.End{us, them} {
			e.Recv(1)
		}
		them.Post(them.RDMA(5, verbs.Write, 0, 1, us, 0, us.MR.RKey()))
		them.Sent(1)
		pt.Do(c.World, us.QP.Disconnect)
		for _, e := range []*pt.End{us, them} {
			e.Want(e.Received(1)[0], 1, verbs.Recv, verbs.WRFlushErr)
			if s := e.QP.State(); s != verbs.Error {
				t.Errorf("QP %s", s)
			}
		}
		if len(us.Events) != 0 || len(them.Events) != 1 || them.Events[0] != verbs.Disconnected {
			t.Errorf("events %v here and %v there", us.Events, them.Events)
		}
		// And again, from both ends: it is over already.
		pt.Do(c.World, us.QP.Disconnect)
		pt.Do(c.World, them.QP.Disconnect)
		us.Post(pt.WR(3, verbs.Send))
		us.Want(us.Sent(1)[0], 3, verbs.Send, verbs.WRFlushErr)
		if len(us.Events) != 0 || len(them.Events) != 1 {
			t.Errorf("events %v here and %v there", us.Events, them.Events)
		}
	}
}

// What the peer had posted when it was disconnected is flushed, not an error of its own.
func TestDisconnectFlushesWhatWaits(t *testing.T) {
	for _, two := range []bool{false, true} {
		a, b := pt.Pair(t, fresh, pt.Options{Manual: true, Two: two, RNRTimer: 600 * time.Millisecond})
		b.Post(pt.WR(1, verbs.Send), pt.WR(2, verbs.Send)) // no receive
		pt.Do(a.World, a.QP.Disconnect)
		for i, wc := range b.Sent(2) {
			b.Want(wc, uint64(i+1), verbs.Send, verbs.WRFlushErr)
		}
		if len(b.Events) != 1 || b.Events[0] != verbs.Disconnected {
			t.Errorf("events %v", b.Events)
		}
	}
}

// A peer that is closed without a disconnect is as one that has disconnected.
func TestPeerClosed(t *testing.T) {
	for _, by := range []int{0, 1} {
		c := newCM(t, true)
		c.establish()
		us, them := []*pt.End{c.a, c.b}[by], []*pt.End{c.b, c.a}[by]
		them.Recv(1)
		c.World.Close(us.QP)
		them.Want(them.Received(1)[0], 1, verbs.Recv, verbs.WRFlushErr)
		if len(them.Events) != 1 || them.Events[0] != verbs.Disconnected {
			t.Errorf("events %v", them.Events)
		}
		them.Post(pt.WR(2, verbs.Send))
		them.Want(them.Sent(1)[0], 2, verbs.Send, verbs.WRFlushErr)
	}
}

// Close cancels a pending connect, whose request then finds nobody (doc.go rule 3).
func TestCloseCancelsConnect(t *testing.T) {
	c := newCM(t, true)
	c.listen()
	done, err, _ := c.begin()
	r := c.request()
	c.World.Close(c.a.QP)
	c.Await(done)
	if !errors.Is(*err, verbs.ErrClosed) {
		t.Errorf("%v", *err)
	}
	if e := c.take(r); !errors.Is(e, verbs.ErrTimeout) {
		t.Errorf("accepted what was cancelled: %v", e)
	}
	if s := c.b.QP.State(); s != verbs.Reset {
		t.Errorf("the QP that was to accept is %s", s)
	}
}

// Disconnect, too, ends a pending connect.
func TestDisconnectCancelsConnect(t *testing.T) {
	c := newCM(t, true)
	c.listen()
	done, err, _ := c.begin()
	c.request()
	pt.Do(c.World, c.a.QP.Disconnect)
	c.Await(done)
	if !errors.Is(*err, verbs.ErrClosed) {
		t.Errorf("%v", *err)
	}
}

// A listener that is closed refuses what it has not been given yet; what it was given
// is the consumer's still.
func TestListenerClosed(t *testing.T) {
	c := newCM(t, true)
	c.listen()
	done, err, _ := c.begin()
	r := c.request()
	c.World.Close(c.l)
	if e := c.take(r); e != nil {
		t.Errorf("accept after the listener's end: %v", e)
	}
	c.Await(done)
	if *err != nil {
		t.Error(*err)
	}
}

// An active side that goes to Error while the reply is on its way: the passive side
// learns that nobody is there, and nothing stays behind.
func TestActiveSideGoneBeforeTheReply(t *testing.T) {
	c := newCM(t, true)
	c.listen()
	done, err, _ := c.begin()
	r := c.request()
	if e := modify(c.a, c.a.QP, verbs.Error); e != nil {
		t.Fatal(e)
	}
	if e := c.take(r); !errors.Is(e, verbs.ErrTimeout) {
		t.Errorf("%v", e)
	}
	c.Await(done)
	if !errors.Is(*err, verbs.ErrClosed) {
		t.Errorf("%v", *err)
	}
	if s := c.b.QP.State(); s != verbs.Error {
		t.Errorf("passive QP %s", s)
	}
}

// What the passive side sends as soon as it can waits for the active side.
func TestPassiveSideSendsAtOnce(t *testing.T) {
	c := newCM(t, true)
	c.listen()
	if e := modify(c.a, c.a.QP, verbs.Init); e != nil {
		t.Fatal(e)
	}
	c.a.Recv(1, c.a.Piece(0, 10))
	done, _, _ := c.begin()
	r := c.request()
	var op verbs.Op[verbs.None]
	c.accept.Request = r
	accepted := make(chan struct{})
	c.b.QP.Accept(&op, &c.accept)
	op.Then(func(*dispatch.Frame, verbs.None, error) { close(accepted) })
	// Only the passive side's processor runs.
	for c.b.QP.State() != verbs.RTS {
		c.b.P.RunUntilIdle()
	}
	var f dispatch.Frame
	c.b.P.Raise(&f)
	c.b.QP.Post(&f, []verbs.WR{pt.WR(2, verbs.Send, c.b.Piece(0, 3))})
	f.Lower()
	c.Await(accepted)
	c.Await(done)
	c.b.Want(c.b.Sent(1)[0], 2, verbs.Send, verbs.Success)
	c.a.Want(c.a.Received(1)[0], 1, verbs.Recv, verbs.Success)
}
