package target_test

import (
	"bytes"
	"context"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// function is a TaskRequest that counts how often it ended.
type function struct {
	srp.TaskRequest
	w    *world
	done int
}

func (w *world) manage(c *srp.Channel, fn srp.TaskFunction, n uint8, victim *request) *function {
	w.t.Helper()
	m := &function{w: w}
	m.Function, m.LUN = fn, scsi.PeripheralLUN(n)
	m.Done = func(*dispatch.Frame, *srp.TaskRequest) { m.done++ }
	if victim != nil {
		m.Victim = &victim.Request
	}
	var err error
	w.at(func(f *dispatch.Frame) { err = c.Manage(f, &m.TaskRequest) })
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (m *function) complete() {
	m.w.t.Helper()
	m.w.until("the end of a function", func() bool { return m.done > 0 })
	if m.done != 1 || m.Outcome != srp.Completed || m.Code != srp.ResponseComplete {
		m.w.t.Fatalf("%v: done %d times, %v, code %v", m.Function, m.done, m.Outcome, m.Code)
	}
}

// abandon ends what the target will not answer.
func (w *world) abandon(c *srp.Channel, rs ...*request) {
	w.at(func(f *dispatch.Frame) {
		for _, r := range rs {
			c.Abandon(f, &r.Request)
		}
	})
	for _, r := range rs {
		r.end()
	}
}

// An abort of a write that the store is at is answered after it; of one behind it, at once, and it never writes. Every
// credit comes back.
func TestAbort(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	gate := luntest.Pause(ram())
	u := must(lun.NewUnit(w.p, lun.Config{Store: gate, Serial: "x", Workers: 1}))
	w.units = append(w.units, u)
	w.drive(func() {
		if err := w.port.Attach(context.Background(), 0, u); err != nil {
			t.Fatal(err)
		}
	})
	c := w.login(w.config()).Channels()[0]
	w.attentions(c, 0)
	var before int
	w.at(func(f *dispatch.Frame) { before = c.Credits(f) })
	gate.Shut()
	pattern(1, w.init.mem[:4096])
	first := w.newRequest(0, rw(true, 0, 4096), srp.DataOut, w.init.segment(0, 4096)).start(c)
	<-gate.Arrived()
	second := w.newRequest(0, rw(true, 8, 4096), srp.DataOut, w.init.segment(0, 4096)).start(c)

	m2 := w.manage(c, srp.AbortTask, 0, second)
	m2.complete() // the store has not begun it
	m1 := w.manage(c, srp.AbortTask, 0, first)
	for range 100 {
		w.p.RunUntilIdle()
	}
	if m1.done != 0 {
		t.Fatal("an abort was answered while its write was with the store")
	}
	gate.Open()
	m1.complete()
	w.abandon(c, first, second)
	w.newRequest(0, rw(false, 8, 4096), srp.DataIn, w.init.segment(8192, 4096)).start(c).good()
	if !bytes.Equal(w.init.mem[8192:][:4096], make([]byte, 4096)) {
		t.Error("an aborted write was carried out")
	}
	w.at(func(f *dispatch.Frame) {
		if n := c.Credits(f); n != before {
			t.Errorf("%d credits, %d before the aborts", n, before)
		}
	})
}

// A responder that stalls in the middle of a copy holds the abort of the command back, and of a write to memory the
// answer comes after its last byte.
func TestAbortDuringTransfer(t *testing.T) {
	stall := &stall{}
	w := newWorld(t, target.Config{}, stall)
	ramStore := must(lun.NewRAM(testSize, testBlock))
	w.attach(0, ramStore)
	c := w.login(w.config()).Channels()[0]
	w.attentions(c, 0)
	pattern(1, w.init.mem[:1<<20])
	stall.op, stall.after = verbs.Read, 256<<10
	r := w.newRequest(0, rw(true, 0, 1<<20), srp.DataOut, w.init.segment(0, 1<<20)).start(c)
	if !stall.hit {
		t.Fatal("the transfer was not stalled")
	}
	m := w.manage(c, srp.AbortTask, 0, r)
	if m.done != 0 {
		t.Fatal("an abort was answered while the target was moving the command's data")
	}
	stall.op = verbs.Recv
	w.drive(w.fabric.Resume)
	m.complete()
	disk := bytes.Clone(ramStore.Mapping().Memory.Bytes()[:1<<20])
	pattern(2, w.init.mem[:1<<20])
	w.abandon(c, r)
	if !bytes.Equal(disk, ramStore.Mapping().Memory.Bytes()[:1<<20]) {
		t.Error("the aborted write went on after the abort was answered")
	}
	w.newRequest(0, nil, srp.NoData).start(c).good()
}

// stall stops copies of op after some bytes.
type stall struct {
	op    verbs.Opcode
	after uint64
	hit   bool
}

func (s *stall) Step(f *dispatch.Frame, qpn uint32, op verbs.Opcode, moved uint64) bool {
	if op != s.op || s.op == verbs.Send || moved < s.after {
		return false
	}
	s.hit = true
	return true
}

// A logical unit reset ends what other initiators have there with TASK ABORTED, and all of them are told.
func TestReset(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	gate := luntest.Pause(ram())
	w.attach(0, gate)
	a := w.login(w.config()).Channels()[0]
	cfg := w.config()
	cfg.Initiator[15]++
	b := w.login(cfg).Channels()[0]
	w.attentions(a, 0)
	w.attentions(b, 0)
	gate.Shut()
	own := w.newRequest(0, rw(true, 0, 4096), srp.DataOut, w.init.segment(0, 4096)).start(a)
	other := w.newRequest(0, rw(false, 8, 4096), srp.DataIn, w.init.segment(8192, 4096)).start(b)
	<-gate.Arrived()
	<-gate.Arrived()
	m := w.manage(a, srp.LogicalUnitReset, 0, nil)
	gate.Open()
	m.complete()
	w.abandon(a, own)
	if other.end(); other.Outcome != srp.Completed || other.Status != scsi.StatusTaskAborted {
		t.Errorf("another initiator's command: %v, %v", other.Outcome, other.Status)
	}
	for _, c := range []*srp.Channel{a, b} {
		w.newRequest(0, nil, srp.NoData).start(c).check(scsi.KeyUnitAttention, scsi.ASCTargetReset)
		w.newRequest(0, nil, srp.NoData).start(c).good()
	}
}

// What cannot be done is answered with the code that says so.
func TestFunctionRefused(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	w.attach(0, ram())
	x, _ := w.loggedIn()
	for _, c := range []struct {
		fn   srp.TaskFunction
		lun  uint8
		want srp.ResponseCode
	}{
		{srp.AbortTask, 0, srp.ResponseComplete}, // of a task that has ended, or never was
		{srp.AbortTaskSet, 0, srp.ResponseComplete},
		{srp.ClearTaskSet, 0, srp.ResponseComplete},
		{srp.ClearACA, 0, srp.ResponseNotSupported},
		{0x80, 0, srp.ResponseNotSupported},
		{srp.LogicalUnitReset, 5, srp.ResponseFieldsInvalid},
	} {
		m := srp.TaskManagement{Tag: 77, LUN: scsi.PeripheralLUN(c.lun).Bytes(), Function: c.fn, TaskTag: 4711}
		b := make([]byte, srp.TaskManagementLen)
		if _, err := m.Encode(b); err != nil {
			t.Fatal(err)
		}
		x.send(b)
		r := x.response()
		if code, ok := r.ResponseCode(); !ok || code != c.want || r.Tag != 77 || r.RequestLimitDelta != 1 || r.Status != 0 {
			t.Errorf("%v at LUN %d: %+v, code %v", c.fn, c.lun, r, code)
		}
	}
}

// A lost response leaves the command to the initiator's patience; its abort is answered at once.
func TestLostResponse(t *testing.T) {
	x := must(fault.Parse("lose,op=read"))
	w := newWorld(t, target.Config{Faults: x}, nil)
	w.attach(0, ram())
	c := w.login(w.config()).Channels()[0]
	w.attentions(c, 0)
	r := w.newRequest(0, rw(false, 0, 4096), srp.DataIn, w.init.segment(0, 4096)).start(c)
	if n := x.Hits()[0]; n != 1 || r.done != 0 {
		t.Fatalf("%d responses lost, the request ended %d times", n, r.done)
	}
	w.manage(c, srp.AbortTask, 0, r).complete()
	w.abandon(c, r)
	w.newRequest(0, nil, srp.NoData).start(c).good()
}
