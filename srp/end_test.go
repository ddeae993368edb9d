package srp_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

func (w *world) abandon(c *srp.Channel, r *request) {
	w.at(func(f *dispatch.Frame) {
		before := r.done
		c.Abandon(f, &r.Request)
		if r.done != before {
			w.t.Error("Done was called within Abandon")
		}
	})
}

// An abandoned command ends once, whatever comes later, and its memory is out of reach then.
func TestAbandon(t *testing.T) {
	for name, d := range map[string]srp.Direction{"window": srp.DataIn, "no data": srp.NoData} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldConfig{})
			c, e := w.login(w.config())
			r := newRequest()
			if d != srp.NoData {
				r.with(d, w.init.segment(0, 512))
			}
			w.start(c, r)
			cmd := e.command()
			w.abandon(c, r)
			r.ended(t, 1, srp.Aborted)
			w.abandon(c, r)
			credits := w.credits(c)
			// The slot is in use again when the late response comes.
			next := newRequest()
			w.start(c, next)
			e.send(good(cmd.Tag))
			e.send(good(cmd.Tag))
			r.ended(t, 1, srp.Aborted)
			next.ended(t, 0, 0)
			if s := statsOf(w, c); s.Late != 2 || s.Aborted != 1 || w.credits(c) != credits+1 {
				t.Errorf("%+v, %d credits after %d", s, w.credits(c), credits)
			}
			e.send(good(e.command().Tag))
			next.ended(t, 1, srp.Completed)
			if d != srp.NoData {
				if s := e.rdma(verbs.Write, cmd.DataIn.Desc); s != verbs.RemAccessErr {
					t.Errorf("late write: %v", s)
				}
			}
		})
	}
}

// A response that is there before Abandon wins.
func TestResponseBeforeAbandon(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	r := newRequest().with(srp.DataIn, w.init.segment(0, 512))
	w.start(c, r)
	tag := e.command().Tag
	copy(w.target.mem[sendOff:], make([]byte, 64))
	n, _ := good(tag).Encode(w.target.mem[sendOff:])
	w.at(func(f *dispatch.Frame) {
		e.qp.Post(f, []verbs.WR{{Op: verbs.Send, NumSGE: 1, SGE: [4]verbs.SGE{e.sge(sendOff, n)}}})
		c.Abandon(f, &r.Request) // nobody has looked at the response yet
	})
	r.ended(t, 1, srp.Aborted)
	if s := statsOf(w, c); s.Late != 1 {
		t.Errorf("%+v", s)
	}
}

// Responses with tags of another channel, of no slot, or of a generation to come are counted.
func TestForeignTags(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	r := newRequest()
	w.start(c, r)
	tag := e.command().Tag
	before := w.credits(c)
	bad := []uint64{tag + 1<<48, tag + 4000<<32, tag + 1, tag + 1<<32, 1 << 32, 0}
	for _, x := range bad {
		e.send(good(x))
	}
	if s := statsOf(w, c); s.UnknownTags != uint64(len(bad)) || w.credits(c) != before+len(bad) {
		t.Errorf("%+v, %d credits", s, w.credits(c))
	}
	r.ended(t, 0, 0)
	e.send(good(tag))
	r.ended(t, 1, srp.Completed)
}

// stall is a fault layer that stops copies while on.
type stall struct{ on bool }

func (s *stall) Step(f *dispatch.Frame, qpn uint32, op verbs.Opcode, moved uint64) bool {
	return s.on && (op == verbs.Write || op == verbs.Read)
}

// A command that is given up does not end while the target is in the middle of a copy.
func TestNothingEndsDuringACopy(t *testing.T) {
	const n = 256 << 10
	fault := &stall{on: true}
	w := newWorld(t, worldConfig{fault: fault})
	ch, e := w.login(w.config())
	r := newRequest().with(srp.DataIn, w.init.segment(0, n))
	w.start(ch, r)
	d := e.command().DataIn.Desc
	fill(w.target.mem[dataOff:][:n], 1)
	e.wr(verbs.WR{
		ID: 2, Op: verbs.Write, Flags: verbs.Signaled, Key: d.RKey, RemoteAddr: d.Addr, NumSGE: 1,
		SGE: [4]verbs.SGE{{Addr: w.target.base + dataOff, Length: n, LKey: w.target.mr.LKey()}},
	})
	w.abandon(ch, r)
	r.ended(t, 0, 0)
	fault.on = false
	w.fabric.Resume()
	// The copy finds its key gone, which ends the channel.
	w.until("the request has ended", func() bool { return r.done > 0 })
	r.ended(t, 1, srp.Aborted)
	after := bytes.Clone(w.init.mem[:n])
	w.p.RunUntilIdle()
	if !bytes.Equal(after, w.init.mem[:n]) {
		t.Error("memory changed after Done")
	}
}

// Fail ends everything once the QP is flushed, a copy under way with it.
func TestFail(t *testing.T) {
	fault := &stall{on: true}
	w := newWorld(t, worldConfig{fault: fault})
	c, e := w.login(w.config())
	reading, idle, gone := newRequest().with(srp.DataIn, w.init.segment(0, 4096)), newRequest(), newRequest()
	w.start(c, reading)
	d := e.command().DataIn.Desc
	w.start(c, idle)
	w.start(c, gone)
	tm := newTask(srp.LogicalUnitReset)
	w.manage(c, &tm.TaskRequest)
	fill(w.target.mem[dataOff:][:4096], 1)
	e.wr(verbs.WR{
		Op: verbs.Write, Key: d.RKey, RemoteAddr: d.Addr, NumSGE: 1,
		SGE: [4]verbs.SGE{{Addr: w.target.base + dataOff, Length: 4096, LKey: w.target.mr.LKey()}},
	})
	w.at(func(f *dispatch.Frame) {
		c.Fail(f)
		c.Fail(f)
		if c.Up(f) || c.Start(f, &newRequest().Request) != srp.ErrDown {
			t.Error("takes commands while failing")
		}
		c.Abandon(f, &gone.Request)
	})
	w.until("the channel is down", func() bool { return len(w.events) > 0 })
	reading.ended(t, 1, srp.ChannelDown)
	idle.ended(t, 1, srp.ChannelDown)
	gone.ended(t, 1, srp.Aborted)
	if tm.done != 1 || tm.Outcome != srp.ChannelDown {
		t.Errorf("%+v", tm)
	}
	fault.on = false
	w.fabric.Resume()
	w.p.RunUntilIdle()
	if !bytes.Equal(w.init.mem[:4096], make([]byte, 4096)) {
		t.Error("the stalled write arrived after Done")
	}
	if len(w.events) != 1 || w.events[0] != "down: srp: channel was ended by recovery" {
		t.Errorf("%q", w.events)
	}
	w.at(func(f *dispatch.Frame) {
		if c.Outstanding(f) != 0 || c.Manage(f, &tm.TaskRequest) != srp.ErrDown {
			t.Error("something left")
		}
	})
}

// A command that was answered before the channel failed keeps its result.
func TestFailAfterTheAnswer(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	r := newRequest().with(srp.DataIn, w.init.segment(0, 512))
	trigger := newRequest()
	trigger.Done = func(f *dispatch.Frame, _ *srp.Request) { trigger.done++; c.Fail(f) }
	w.start(c, r)
	w.start(c, trigger)
	a, b := e.command(), e.command()
	rsp := good(a.Tag)
	rsp.Status = 2
	n, _ := rsp.Encode(w.target.mem[sendOff:])
	m, _ := good(b.Tag).Encode(w.target.mem[sendOff+512:])
	w.at(func(f *dispatch.Frame) {
		// Both are in one batch of completions, so that r's window is bound when the second ends.
		e.qp.Post(f, []verbs.WR{
			{Op: verbs.Send, NumSGE: 1, SGE: [4]verbs.SGE{e.sge(sendOff, n)}},
			{Op: verbs.Send, NumSGE: 1, SGE: [4]verbs.SGE{e.sge(sendOff+512, m)}},
		})
	})
	w.until("the channel is down", func() bool { return len(w.events) > 0 })
	trigger.ended(t, 1, srp.Completed)
	r.ended(t, 1, srp.Completed)
	if r.Status != 2 {
		t.Errorf("status %v", r.Status)
	}
}

// SRP_T_LOGOUT is told with its reason, and ends the channel; the reason is not taken for credits.
func TestTargetLogout(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	r := newRequest()
	w.start(c, r)
	before := w.credits(c)
	e.send(&srp.TLogout{Reason: srp.LogoutInactive})
	w.until("the channel is down", func() bool { return len(w.events) > 1 })
	r.ended(t, 1, srp.ChannelDown)
	if len(w.events) != 2 || w.events[0] != "target logout: 1: inactive RDMA channel" || !strings.Contains(w.events[1], "inactive") {
		t.Errorf("%q", w.events)
	}
	if w.credits(c) != before {
		t.Errorf("%d credits, %d before", w.credits(c), before)
	}
}

func TestTargetDisconnects(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	r := newRequest().with(srp.DataIn, w.init.segment(0, 512))
	w.start(c, r)
	w.drive(func() { result(t, e.qp.Disconnect) })
	w.until("the channel is down", func() bool { return len(w.events) > 0 })
	r.ended(t, 1, srp.ChannelDown)
	if len(w.events) != 1 || w.events[0] != "down: srp: target closed the connection" {
		t.Errorf("%q", w.events)
	}
}

// Logout lets what is outstanding end, and says goodbye.
func TestLogout(t *testing.T) {
	w := newWorld(t, worldConfig{})
	cfg := w.config()
	cfg.LogoutTimeout = 1 << 40
	c, e := w.login(cfg)
	r := newRequest().with(srp.DataIn, w.init.segment(0, 512))
	w.start(c, r)
	cmd := e.command()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.sess.Logout(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	leaving := func() (ok bool) {
		w.at(func(f *dispatch.Frame) { ok = !c.Up(f) && c.Err(f) == nil })
		return ok
	}
	w.until("logout has begun", leaving)
	if w.tryStart(c, newRequest()) != srp.ErrDown {
		t.Error("takes commands while logging out")
	}
	e.send(good(cmd.Tag))
	r.ended(t, 1, srp.Completed)
	w.p.RunUntil(done) // the cleanup logs out once more
	var iu srp.ILogout
	if err := iu.Decode(e.next()); err != nil {
		t.Errorf("goodbye: %v", err)
	}
	if len(w.events) != 1 || w.events[0] != "down: srp: channel was logged out" {
		t.Errorf("%q", w.events)
	}
}

// Logout does not wait for what does not end.
func TestLogoutCutShort(t *testing.T) {
	w := newWorld(t, worldConfig{})
	cfg := w.config()
	cfg.LogoutTimeout = 1 << 40
	c, _ := w.login(cfg)
	r := newRequest().with(srp.DataIn, w.init.segment(0, 512))
	w.start(c, r)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.drive(func() {
		if err := w.sess.Logout(ctx); err != nil {
			t.Error(err)
		}
	})
	w.sess = nil
	r.ended(t, 1, srp.ChannelDown)
}

// Logout of a session whose channel has died closes what is left.
func TestLogoutOfADeadChannel(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, _ := w.login(w.config())
	w.at(c.Fail)
	w.until("the channel is down", func() bool { return len(w.events) > 0 })
	// newWorld's cleanup logs out, and fails if anything is left of the device.
}
