package srp_test

import (
	"testing"

	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// grant makes the target's logins give credits.
func (w *world) grant(n int32) {
	w.target.answer = func(_ int, req *srp.LoginReq) loginAnswer { return granted(req, n) }
}

func (w *world) credits(c *srp.Channel) (n int) {
	w.at(func(f *dispatch.Frame) { n = c.Credits(f) })
	return n
}

func (w *world) manage(c *srp.Channel, t *srp.TaskRequest) (err error) {
	w.at(func(f *dispatch.Frame) { err = c.Manage(f, t) })
	return err
}

// task is a TaskRequest that counts how often it ended.
type task struct {
	srp.TaskRequest
	done int
}

func newTask(fn srp.TaskFunction) *task {
	t := &task{}
	t.Function = fn
	t.Done = func(f *dispatch.Frame, _ *srp.TaskRequest) { t.done++ }
	return t
}

func (e *end) taskManagement() *srp.TaskManagement {
	e.tg.w.t.Helper()
	var iu srp.TaskManagement
	if err := iu.Decode(e.next()); err != nil {
		e.tg.w.t.Fatal(err)
	}
	return &iu
}

// Commands leave one credit to task management, if there is more than one.
func TestOneCreditIsKept(t *testing.T) {
	w := newWorld(t, worldConfig{})
	w.grant(3)
	c, e := w.login(w.config())
	a, b, x := newRequest(), newRequest(), newRequest()
	w.start(c, a)
	w.start(c, b)
	if err := w.tryStart(c, x); err != srp.ErrBusy {
		t.Fatalf("third command of three credits: %v", err)
	}
	tm := newTask(srp.LogicalUnitReset)
	if err := w.manage(c, &tm.TaskRequest); err != nil {
		t.Fatal(err)
	}
	first, second := e.command(), e.command()
	e.taskManagement() // it went out at once
	if w.credits(c) != 0 || w.ready != 0 {
		t.Fatalf("%d credits, %d calls of Ready", w.credits(c), w.ready)
	}
	e.send(good(first.Tag)) // that credit is the one to keep
	if w.ready != 0 || w.tryStart(c, x) != srp.ErrBusy {
		t.Error("the kept credit went to a command")
	}
	e.send(good(second.Tag))
	if w.ready != 1 {
		t.Fatalf("%d calls of Ready", w.ready)
	}
	w.start(c, x)
}

// A target that grants one credit is served.
func TestOneCreditIsEnough(t *testing.T) {
	w := newWorld(t, worldConfig{})
	w.grant(1)
	c, e := w.login(w.config())
	for range 3 {
		a, b := newRequest(), newRequest()
		a.Done = func(f *dispatch.Frame, _ *srp.Request) {
			a.done++
			if err := c.Start(f, &b.Request); err != srp.ErrBusy {
				t.Errorf("a command while a function waits for the credit: %v", err)
			}
		}
		w.start(c, a)
		if err := w.tryStart(c, b); err != srp.ErrBusy {
			t.Fatalf("second command of one credit: %v", err)
		}
		tm := newTask(srp.AbortTaskSet)
		if err := w.manage(c, &tm.TaskRequest); err != nil {
			t.Fatal(err)
		}
		e.send(good(e.command().Tag))
		a.ended(t, 1, srp.Completed)
		// The function goes before the command that waited.
		rsp := good(e.taskManagement().Tag)
		if err := w.tryStart(c, b); err != srp.ErrBusy {
			t.Fatalf("command while the function has the credit: %v", err)
		}
		rsp.SetResponseCode(srp.ResponseComplete)
		e.send(rsp)
		if tm.done != 1 || tm.Code != srp.ResponseComplete {
			t.Fatalf("%+v", tm)
		}
	}
	if w.ready != 3 {
		t.Errorf("%d calls of Ready", w.ready)
	}
}

// SRP_CRED_REQ gives credits and is answered, also when there are none left.
func TestCreditRequest(t *testing.T) {
	w := newWorld(t, worldConfig{})
	w.grant(1)
	c, e := w.login(w.config())
	w.start(c, newRequest())
	e.command()
	if w.tryStart(c, newRequest()) != srp.ErrBusy || w.credits(c) != 0 {
		t.Fatal("not out of credits")
	}
	e.send(&srp.CredReq{RequestLimitDelta: 3, Tag: 0x1234})
	var rsp srp.CredRsp
	if err := rsp.Decode(e.next()); err != nil || rsp.Tag != 0x1234 {
		t.Fatalf("%v, %+v", err, rsp)
	}
	if w.credits(c) != 3 || w.ready != 1 {
		t.Errorf("%d credits, %d calls of Ready", w.credits(c), w.ready)
	}
	// More than there are receives, one after the other and in one go.
	for range 300 {
		e.send(&srp.CredReq{Tag: 1})
		if err := rsp.Decode(e.next()); err != nil {
			t.Fatal(err)
		}
	}
	if s := statsOf(w, c); s.CreditReqs != 301 {
		t.Errorf("%+v", s)
	}
}

// A target may take credits back, below zero.
func TestLimitIsLowered(t *testing.T) {
	w := newWorld(t, worldConfig{})
	w.grant(4)
	c, e := w.login(w.config())
	a := newRequest()
	w.start(c, a)
	e.send(&srp.CredReq{RequestLimitDelta: -5})
	e.got = e.got[:1]
	if n := w.credits(c); n != -2 {
		t.Fatalf("%d credits", n)
	}
	if w.tryStart(c, newRequest()) != srp.ErrBusy {
		t.Error("sent below zero")
	}
	rsp := good(e.command().Tag)
	rsp.RequestLimitDelta = 4
	e.send(rsp)
	if w.credits(c) != 2 || w.ready != 1 {
		t.Errorf("%d credits, %d calls of Ready", w.credits(c), w.ready)
	}
}

func TestAsyncEvent(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	before := w.credits(c)
	e.send(&srp.AERReq{RequestLimitDelta: 1, Tag: 77, LUN: [8]byte{0, 5}, Sense: []byte("sense")})
	var rsp srp.AERRsp
	if err := rsp.Decode(e.next()); err != nil || rsp.Tag != 77 {
		t.Fatalf("%v, %+v", err, rsp)
	}
	if len(w.events) != 1 || w.events[0] != "async: 5 sense" || w.credits(c) != before+1 {
		t.Errorf("%q, %d credits", w.events, w.credits(c))
	}
}

// Many functions are under way at a time, more than have send buffers, and get their own answers.
func TestManyTaskFunctions(t *testing.T) {
	w := newWorld(t, worldConfig{})
	w.grant(64)
	c, e := w.login(w.config())
	victim := newRequest()
	w.start(c, victim)
	tag := e.command().Tag
	const n = 20
	var tasks []*task
	for i := range n {
		tm := newTask(srp.AbortTask)
		tm.Victim = &victim.Request
		tm.LUN = 3 << 48
		if i%2 == 1 {
			tm.Function, tm.Victim = srp.ClearTaskSet, nil
		}
		if err := w.manage(c, &tm.TaskRequest); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, tm)
	}
	codes := []srp.ResponseCode{srp.ResponseComplete, srp.ResponseNotSupported, srp.ResponseFailed}
	for i := range n {
		iu := e.taskManagement()
		want := ^uint64(0)
		if i%2 == 0 {
			want = tag
		}
		if iu.TaskTag != want || iu.LUN != [8]byte{0, 3} {
			t.Errorf("%d: %+v", i, iu)
		}
		rsp := good(iu.Tag)
		rsp.SetResponseCode(codes[i%3])
		e.send(rsp)
	}
	for i, tm := range tasks {
		if tm.done != 1 || tm.Outcome != srp.Completed || tm.Code != codes[i%3] {
			t.Errorf("%d: ended %d times, %v, %v", i, tm.done, tm.Outcome, tm.Code)
		}
	}
}

// The result of a function is its response code; without one it has not been done.
func TestTaskAnswerWithoutCode(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	tm := newTask(srp.LogicalUnitReset)
	w.manage(c, &tm.TaskRequest)
	e.send(good(e.taskManagement().Tag))
	if tm.done != 1 || tm.Code != srp.ResponseFailed {
		t.Errorf("%+v", tm)
	}
}

func TestAbortOfWhatIsNotOutstanding(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	r := newRequest()
	tm := newTask(srp.AbortTask)
	tm.Victim = &r.Request
	if err := w.manage(c, &tm.TaskRequest); err != srp.ErrNotOutstanding {
		t.Errorf("never started: %v", err)
	}
	w.start(c, r)
	e.send(good(e.command().Tag))
	if err := w.manage(c, &tm.TaskRequest); err != srp.ErrNotOutstanding {
		t.Errorf("ended: %v", err)
	}
	if len(e.got) != 0 {
		t.Error("sent all the same")
	}
}
