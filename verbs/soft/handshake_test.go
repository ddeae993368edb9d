package soft_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	pt "minisrp/verbs/internal/providertest"
	"minisrp/verbs/soft"
)

// drive runs only some processors until done is closed.
func drive(t *testing.T, done <-chan struct{}, ps ...*dispatch.Processor) {
	t.Helper()
	for deadline := time.Now().Add(pt.Patience); ; {
		for _, p := range ps {
			p.RunUntilIdle()
		}
		select {
		case <-done:
			return
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not end")
		}
	}
}

// start starts an operation, and returns a channel that is closed with its end.
func start[T any](begin func(op *verbs.Op[T])) (done chan struct{}, result *error) {
	done, result = make(chan struct{}), new(error)
	op := new(verbs.Op[T])
	begin(op)
	op.Then(func(f *dispatch.Frame, _ T, err error) {
		*result = err
		close(done)
	})
	return done, result
}

// When the active side is gone in the middle of the handshake, nothing of the passive
// side is left on its processor, which may run nothing any more.
func TestPassiveSideIsNotLeftBehind(t *testing.T) {
	c := newCM(t, true)
	c.listen()
	connected, connectErr, _ := c.begin()
	r := c.request()
	if e := modify(c.a, c.a.QP, verbs.Error); e != nil {
		t.Fatal(e)
	}
	c.accept.Request = r
	accepted, acceptErr := start(func(op *verbs.Op[verbs.None]) { c.b.QP.Accept(op, &c.accept) })
	drive(t, connected, c.a.P, c.b.P)
	// From here on the active side's processor stands still.
	drive(t, accepted, c.b.P)
	if !errors.Is(*connectErr, verbs.ErrClosed) || !errors.Is(*acceptErr, verbs.ErrTimeout) {
		t.Errorf("connect: %v, accept: %v", *connectErr, *acceptErr)
	}
	closed, _ := start(c.b.QP.Close)
	drive(t, closed, c.b.P)
}

// holder is a tap that stops the handshake at the reply.
type holder struct{ reached, goOn chan struct{} }

func (h *holder) Message(*dispatch.Frame, *soft.Message) {}
func (h *holder) Manage(m *soft.Management) {
	if m.Kind == soft.ConnectReply {
		close(h.reached)
		<-h.goOn
	}
}

// A passive side that disconnects before the active side has seen its reply: the
// active side connects, and is told.
func TestHangUpThatOvertakesTheReply(t *testing.T) {
	h := &holder{make(chan struct{}), make(chan struct{})}
	c := newCMWith(t, true, soft.Config{Tap: h})
	c.listen()
	connected, connectErr, _ := c.begin()
	c.accept.Request = c.request()
	accepted, acceptErr := start(func(op *verbs.Op[verbs.None]) { c.b.QP.Accept(op, &c.accept) })
	drive(t, h.reached, c.a.P, c.b.P)
	pt.Do(c.World, c.b.QP.Disconnect)
	c.Settle()
	close(h.goOn)
	c.Await(connected)
	c.Await(accepted)
	if *connectErr != nil || *acceptErr != nil {
		t.Errorf("connect: %v, accept: %v", *connectErr, *acceptErr)
	}
	c.a.AwaitEvent(verbs.Disconnected)
	if s := c.a.QP.State(); s != verbs.Error {
		t.Errorf("active QP %s", s)
	}
}

// Callbacks may call anything: no lock is held across them (doc.go rules 2 and 7).
func TestCallbacksMayCallAnything(t *testing.T) {
	c := newCM(t, true)
	var closed, closed2, again verbs.Op[verbs.None]
	var relisten verbs.Op[*verbs.Listener]
	ends := make(chan string, 8)
	then := func(what string) verbs.ThenFunc[verbs.None] {
		return func(f *dispatch.Frame, _ verbs.None, err error) {
			if err != nil {
				what = err.Error()
			}
			ends <- what
		}
	}
	pt.Do(c.World, func(op *verbs.Op[*verbs.Listener]) {
		c.b.Dev.Listen(op, &verbs.ListenAttr{Address: c.addr, Processor: c.b.P, Request: func(f *dispatch.Frame, l *verbs.Listener, r *verbs.ConnectRequest) {
			// Inside the listener's callback: close it, listen elsewhere, answer.
			l.Close(&closed)
			closed.Then(then("listener closed"))
			other := c.addr
			other.Dst = netip.AddrPortFrom(other.Dst.Addr(), 5556)
			c.b.Dev.Listen(&relisten, &verbs.ListenAttr{Address: other, Processor: c.b.P, Request: func(*dispatch.Frame, *verbs.Listener, *verbs.ConnectRequest) {}})
			relisten.Then(func(f *dispatch.Frame, l *verbs.Listener, err error) {
				if err != nil {
					ends <- err.Error()
					return
				}
				l.Close(&closed2)
				closed2.Then(then("second listener closed"))
			})
			c.accept.Request = r
			c.b.QP.Accept(&again, &c.accept)
			again.Then(func(f *dispatch.Frame, _ verbs.None, err error) {
				// Inside the completion of the accept: close the QP that has accepted.
				c.b.QP.Close(&again)
				again.Then(then("QP closed"))
			})
		}})
	})
	done, err, _ := c.begin()
	c.Await(done)
	if *err != nil {
		t.Error(*err)
	}
	got := map[string]bool{}
	for len(got) < 3 {
		c.Settle()
		select {
		case what := <-ends:
			got[what] = true
		default:
		}
	}
	for _, want := range []string{"listener closed", "second listener closed", "QP closed"} {
		if !got[want] {
			t.Errorf("%v; want %q", got, want)
		}
	}
	c.a.AwaitEvent(verbs.Disconnected)
}
