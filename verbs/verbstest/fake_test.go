package verbstest_test

import (
	"bytes"
	"errors"
	"testing"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	pt "minisrp/verbs/internal/providertest"
	"minisrp/verbs/verbstest"
)

// fakeEnd makes an end on a fake device, with a connected QP.
func fakeEnd(t *testing.T, o pt.Options) (d *verbstest.Fake, q *verbstest.FakeQP, e *pt.End) {
	t.Helper()
	o.Manual = true
	d = verbstest.NewFake("fake0")
	e = pt.NewEnd(pt.NewWorld(t, 1, true), 0, d, o)
	q = d.QP(e.QP)
	done := make(chan struct{})
	var op verbs.Op[verbs.ConnectReply]
	private := []byte("login")
	e.QP.Connect(&op, &verbs.ConnectAttr{Private: private})
	op.Then(func(f *dispatch.Frame, r verbs.ConnectReply, err error) {
		if err != nil || string(r.Private()) != "welcome" {
			t.Errorf("%q, %v", r.Private(), err)
		}
		close(done)
	})
	for q.Connecting() == nil {
		e.Settle()
	}
	clear(private)
	if string(q.Connecting().Private) != "login" {
		t.Errorf("asked with %q", q.Connecting().Private)
	}
	q.Establish([]byte("welcome"))
	e.Await(done)
	return d, q, e
}

func TestFakeRecordsAndCompletes(t *testing.T) {
	_, q, e := fakeEnd(t, pt.Options{MaxSend: 4})
	copy(e.Mem, "command")
	quiet := pt.WR(1, verbs.Write, e.Piece(0, 3))
	quiet.Flags = 0
	e.Post(quiet, pt.WR(2, verbs.Send, e.Piece(0, 3), e.Piece(3, 4)), pt.WR(3, verbs.Send), pt.WR(4, verbs.Send))
	e.Idle()
	var sends []verbs.WR
	var text []byte
	full := 0
	e.At(func(f *dispatch.Frame) {
		sends = append(sends, q.Sends(f)...)
		text, _ = q.Gather(f, &sends[1])
		q.Complete(f, verbs.Success)
		q.Complete(f, verbs.Success)
		n, _ := e.QP.Post(f, []verbs.WR{{}})
		full += n
	})
	if len(sends) != 4 || sends[1].ID != 2 || string(text) != "command" {
		t.Errorf("posted %+v; text %q", sends, text)
	}
	if full != 0 {
		t.Error("places are free before their completion was polled")
	}
	e.Want(e.Sent(1)[0], 2, verbs.Send, verbs.Success)
	e.Post(pt.WR(5, verbs.Send), pt.WR(6, verbs.Send)) // the first two places
	e.At(func(f *dispatch.Frame) { q.Complete(f, verbs.RemAccessErr) })
	for i, wc := range e.Sent(4) {
		want := verbs.WRFlushErr
		if i == 0 {
			want = verbs.RemAccessErr
		}
		e.Want(wc, uint64(3+i), verbs.Send, want)
	}
	e.AwaitEvent(verbs.QPFatal)
}

func TestFakeDelivers(t *testing.T) {
	_, q, e := fakeEnd(t, pt.Options{})
	e.Recv(1, e.Piece(1, 3), e.Piece(10, 100))
	e.Recv(2, e.Piece(0, 3))
	e.Recv(3, verbs.SGE{Addr: 1, Length: 1, LKey: 1})
	var ok [5]bool
	e.At(func(f *dispatch.Frame) {
		e.RCQ.Arm(f)
		ok[0] = q.Deliver(f, []byte("response"))
		ok[1] = q.Deliver(f, []byte("too long"))
		ok[2] = q.DeliverInv(f, []byte("inv"), 0x77)
		ok[3] = q.Deliver(f, nil) // into memory that is not registered
		ok[4] = len(q.Receives(f)) == 1
	})
	if ok != [5]bool{true, false, true, false, true} {
		t.Errorf("delivered %v", ok)
	}
	got := e.Received(2)
	e.Want(got[0], 1, verbs.Recv, verbs.Success)
	e.Want(got[1], 2, verbs.Recv, verbs.Success)
	if got[0].ByteLen != 8 || got[1].ByteLen != 3 || !got[1].Invalidated || got[1].InvKey != 0x77 {
		t.Errorf("%+v", got)
	}
	if !bytes.Equal(e.Mem[10:15], []byte("ponse")) || string(e.Mem[0:3]) != "inv" || e.Notified != 1 {
		t.Errorf("memory %q, %d notifications", e.Mem[:20], e.Notified)
	}
	e.At(func(f *dispatch.Frame) {
		q.Inject(f, verbs.WC{ID: 999, QPN: 888, Op: verbs.Recv, Status: verbs.Status(77)})
		q.Fail(f, verbs.Disconnected)
	})
	if wc := e.Received(1)[0]; wc.ID != 999 || wc.Status != 77 {
		t.Errorf("injected: %+v", wc)
	}
	e.Want(e.Received(1)[0], 3, verbs.Recv, verbs.WRFlushErr)
	e.AwaitEvent(verbs.Disconnected)
}

func TestFakeRefusesPosts(t *testing.T) {
	_, q, e := fakeEnd(t, pt.Options{})
	var errs [4]error
	e.At(func(f *dispatch.Frame) {
		q.Refuse(f, verbs.ErrFull)
		_, errs[0] = e.QP.Post(f, []verbs.WR{{}})
		_, errs[1] = e.QP.PostRecv(f, []verbs.RecvWR{{}})
		q.Refuse(f, nil)
		q.OnPost(f, func(f *dispatch.Frame, q *verbstest.FakeQP, wr *verbs.WR) { q.CompleteAll(f) })
		_, errs[2] = e.QP.Post(f, []verbs.WR{pt.WR(7, verbs.Send)})
		_, errs[3] = e.QP.Post(f, []verbs.WR{{Op: verbs.Recv}})
	})
	if errs != [4]error{verbs.ErrFull, verbs.ErrFull, nil, verbs.ErrInvalid} {
		t.Errorf("%v", errs)
	}
	e.Want(e.Sent(1)[0], 7, verbs.Send, verbs.Success)
}

// Each verb can be made to fail, and what it makes is counted until its end.
func TestFakeFails(t *testing.T) {
	d, q, e := fakeEnd(t, pt.Options{})
	boom := errors.New("boom")
	open := d.Open()
	for verb, try := range map[string]func() error{
		"create PD": func() error { _, err := pt.Try(e.World, e.Dev.CreatePD); return err },
		"create CQ": func() error {
			_, err := pt.Try(e.World, func(op *verbs.Op[*verbs.CQ]) {
				e.Dev.CreateCQ(op, &verbs.CQAttr{Entries: 1, Processor: e.P})
			})
			return err
		},
		"allocate MW": func() error { _, err := pt.Try(e.World, e.PD.AllocMW); return err },
		"listen": func() error {
			_, err := pt.Try(e.World, func(op *verbs.Op[*verbs.Listener]) {
				e.Dev.Listen(op, &verbs.ListenAttr{Processor: e.P, Request: func(*dispatch.Frame, *verbs.Listener, *verbs.ConnectRequest) {}})
			})
			return err
		},
		"create QP": func() error {
			_, err := pt.Try(e.World, func(op *verbs.Op[*verbs.QP]) {
				e.PD.CreateQP(op, &verbs.QPAttr{SendCQ: e.SCQ, RecvCQ: e.RCQ, MaxSend: 1, MaxRecv: 1, MaxSGE: 1})
			})
			return err
		},
		"modify QP": func() error {
			_, err := pt.Try(e.World, func(op *verbs.Op[verbs.None]) { e.QP.Modify(op, verbs.Error) })
			return err
		},
		"connect": func() error {
			_, err := pt.Try(e.World, func(op *verbs.Op[verbs.ConnectReply]) { e.QP.Connect(op, &verbs.ConnectAttr{}) })
			return err
		},
	} {
		d.Fail(verb, boom)
		if err := try(); !errors.Is(err, boom) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if n := d.Open(); n != open {
		t.Errorf("%d objects, and %d after failures", open, n)
	}
	if q.State() != verbs.RTS {
		t.Errorf("QP %s", q.State())
	}
}

func TestFakeRequests(t *testing.T) {
	d, _, e := fakeEnd(t, pt.Options{})
	fresh := e.NewQP()
	var accept verbs.Op[verbs.None]
	accepted := make(chan struct{})
	l := pt.Do(e.World, func(op *verbs.Op[*verbs.Listener]) {
		e.Dev.Listen(op, &verbs.ListenAttr{Processor: e.P, Request: func(f *dispatch.Frame, l *verbs.Listener, r *verbs.ConnectRequest) {
			if string(r.Private()) == "no" {
				r.Reject(verbs.RejectConsumer, []byte("why"))
				return
			}
			fresh.Accept(&accept, &verbs.AcceptAttr{Request: r, Private: []byte("yes")})
			accept.Then(func(*dispatch.Frame, verbs.None, error) { close(accepted) })
		}})
	})
	defer e.World.Close(l)
	no := d.Request(l, e.P, verbs.Address{}, []byte("no"))
	e.Await(no.Answered())
	if a := no.Answer(); a.Accepted != nil || a.Reason != verbs.RejectConsumer || string(a.Private) != "why" {
		t.Errorf("%+v", a)
	}
	yes := d.Request(l, e.P, verbs.Address{}, []byte("ask"))
	e.Await(yes.Answered())
	e.Await(accepted)
	if a := yes.Answer(); a.Accepted != d.QP(fresh) || string(a.Private) != "yes" || fresh.State() != verbs.RTS {
		t.Errorf("%+v, then %s", a, fresh.State())
	}
}

// Closing cancels and flushes, and leaves nothing.
func TestFakeCloses(t *testing.T) {
	var d *verbstest.Fake
	t.Run("", func(t *testing.T) {
		var e *pt.End
		d, _, e = fakeEnd(t, pt.Options{})
		e.Window()
		e.Recv(1)
		e.Post(pt.WR(2, verbs.Send))
		e.World.Close(e.QP)
		e.Want(e.Sent(1)[0], 2, verbs.Send, verbs.WRFlushErr)
		e.Want(e.Received(1)[0], 1, verbs.Recv, verbs.WRFlushErr)
	})
	if n := d.Open(); n != 0 {
		t.Errorf("%d objects left", n)
	}
}
