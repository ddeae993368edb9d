package target_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/srp/target/access"
	"minisrp/srp/target/fault"
	"minisrp/verbs/dispatch"
)

// faulty is a world with a unit in memory whose target does wrong what text says, and a channel to it.
func faulty(t *testing.T, text string) (w *world, disk []byte, c *srp.Channel) {
	t.Helper()
	w = newWorld(t, target.Config{}, nil)
	s := must(lun.NewRAM(testSize, testBlock))
	w.attach(0, s)
	c = w.login(w.config()).Channels()[0]
	w.attentions(c, 0)
	w.faults(text)
	return w, s.Mapping().Memory.Bytes(), c
}

// faults changes what goes wrong.
func (w *world) faults(text string) *fault.Rules {
	w.t.Helper()
	rs, err := fault.Parse(text)
	if err != nil {
		w.t.Fatal(err)
	}
	w.drive(func() {
		if err := w.port.SetFaults(context.Background(), rs); err != nil {
			w.t.Error(err)
		}
	})
	return rs
}

// do does something to every channel, when there is one: it is up at the target when the initiator's RTU has arrived.
func (w *world) do(text string) {
	w.t.Helper()
	a, err := fault.ParseAction(text)
	if err != nil {
		w.t.Fatal(err)
	}
	w.until(text+" is done to a channel", func() (done bool) {
		w.drive(func() {
			n, err := w.port.Do(context.Background(), access.All(), a)
			if done = n > 0 || err != nil; err != nil {
				w.t.Errorf("%s: %v", text, err)
			}
		})
		return done
	})
	w.p.RunUntilIdle()
}

func (w *world) credits(c *srp.Channel) (n int) {
	w.at(func(f *dispatch.Frame) { n = c.Credits(f) })
	return n
}

func (w *world) stats(c *srp.Channel) (s srp.ChannelStats) {
	w.at(func(f *dispatch.Frame) { s = c.Stats(f) })
	return s
}

// theirs is what the port says of the first channel of its first session.
func (w *world) theirs() (i target.ChannelInfo) {
	w.t.Helper()
	w.drive(func() {
		who, err := w.port.Sessions(context.Background())
		if err != nil || len(who) == 0 || len(who[0].Channels) == 0 {
			w.t.Errorf("nobody is logged in: %+v, %v", who, err)
			return
		}
		i = who[0].Channels[0]
	})
	return i
}

func (w *world) read(c *srp.Channel, at int) *request {
	return w.newRequest(0, rw(false, 0, 4096), srp.DataIn, w.init.segment(at, 4096)).start(c)
}

func (w *world) write(c *srp.Channel, at int) *request {
	return w.newRequest(0, rw(true, 0, 4096), srp.DataOut, w.init.segment(at, 4096)).start(c)
}

// A delayed answer comes with its data when its time is over, and not before.
func TestFaultDelay(t *testing.T) {
	w, disk, c := faulty(t, "delay=50ms")
	pattern(1, disk[:4096])
	r := w.read(c, 0)
	w.p.Advance(49 * time.Millisecond)
	if r.done != 0 || !bytes.Equal(w.init.mem[:4096], make([]byte, 4096)) {
		t.Fatal("the answer or its data came early")
	}
	w.p.Advance(time.Millisecond)
	r.good()
	if !bytes.Equal(w.init.mem[:4096], disk[:4096]) {
		t.Error("what was read differs")
	}
	if i := w.theirs(); i.Faults != 1 || i.Outstanding != 0 {
		t.Errorf("%+v", i)
	}
}

// An abort ends a delay at once, and nothing is moved any more. The credit comes back with its answer.
func TestFaultDelayIsAborted(t *testing.T) {
	w, disk, c := faulty(t, "delay=50ms")
	pattern(1, disk[:4096])
	before := w.credits(c)
	r := w.read(c, 0)
	w.manage(c, srp.AbortTask, 0, r).complete()
	w.abandon(c, r)
	w.p.Advance(time.Minute)
	if !bytes.Equal(w.init.mem[:4096], make([]byte, 4096)) {
		t.Error("data was moved after the abort")
	}
	if n := w.credits(c); n != before {
		t.Errorf("%d credits, %d before", n, before)
	}
	if i := w.theirs(); i.Quiet != 1 || i.Outstanding != 0 {
		t.Errorf("%+v", i)
	}
}

// A stubborn delay keeps the abort waiting.
func TestFaultStubborn(t *testing.T) {
	for _, text := range []string{"delay=50ms,stubborn", "late=50ms,stubborn"} {
		w, _, c := faulty(t, text)
		r := w.write(c, 0)
		m := w.manage(c, srp.AbortTask, 0, r)
		w.p.Advance(49 * time.Millisecond)
		if m.done != 0 {
			t.Errorf("%s: the abort was answered early", text)
		}
		w.p.Advance(time.Millisecond)
		m.complete()
		w.abandon(c, r)
	}
}

// A command that is executed late has no effect before, none if it is aborted before, and its own effect after.
func TestFaultLate(t *testing.T) {
	w, disk, c := faulty(t, "late=50ms,op=write")
	pattern(1, w.init.mem[:4096])
	r := w.write(c, 0)
	w.p.Advance(49 * time.Millisecond)
	if r.done != 0 || !bytes.Equal(disk[:4096], make([]byte, 4096)) {
		t.Fatal("executed early")
	}
	w.manage(c, srp.AbortTask, 0, r).complete()
	w.abandon(c, r)
	w.p.Advance(time.Minute)
	if !bytes.Equal(disk[:4096], make([]byte, 4096)) {
		t.Fatal("executed after it was aborted")
	}
	r = w.write(c, 0)
	w.p.Advance(50 * time.Millisecond)
	r.good()
	if !bytes.Equal(disk[:4096], w.init.mem[:4096]) {
		t.Error("not executed")
	}
	w.read(c, 8192).good() // others are not late
	// Another initiator's reset finds it too, and it is answered with TASK ABORTED.
	cfg := w.config()
	cfg.Initiator[15]++
	b := w.login(cfg).Channels()[0]
	w.attentions(b, 0)
	r = w.write(c, 0)
	w.manage(b, srp.LogicalUnitReset, 0, nil).complete()
	if r.end(); r.Status != scsi.StatusTaskAborted {
		t.Errorf("reset by another: %v, %v", r.Outcome, r.Status)
	}
}

// A ghost: data at once, and the response after the initiator has aborted the command and been told that it is gone. The
// response is late then, its credit counts, and no byte is moved any more.
func TestFaultGhost(t *testing.T) {
	for _, size := range []int{4096, 1 << 20} {
		w, disk, c := faulty(t, "ghost=50ms,op=read")
		pattern(1, disk[:size])
		before := w.credits(c)
		r := w.newRequest(0, rw(false, 0, size), srp.DataIn, w.init.segment(0, size)).start(c)
		if r.done != 0 || !bytes.Equal(w.init.mem[:size], disk[:size]) {
			t.Fatal("no data, or a response at once")
		}
		w.manage(c, srp.AbortTask, 0, r).complete()
		w.abandon(c, r)
		clear(w.init.mem[:size])
		if n := w.credits(c); n != before-1 {
			t.Errorf("%d credits, %d before, one with the ghost", n, before)
		}
		w.p.Advance(50 * time.Millisecond)
		if s := w.stats(c); s.Late != 1 || s.UnknownTags != 0 {
			t.Errorf("%+v", s)
		}
		if n := w.credits(c); n != before || !bytes.Equal(w.init.mem[:size], make([]byte, size)) {
			t.Errorf("%d credits, %d before; or data was moved with the response", n, before)
		}
		// In time, it is an answer as any other.
		r = w.newRequest(0, rw(false, 0, size), srp.DataIn, w.init.segment(0, size)).start(c)
		w.p.Advance(50 * time.Millisecond)
		r.good()
		// Without data.
		w.faults("ghost=1ms,op=0x00")
		r = w.newRequest(0, nil, srp.NoData).start(c)
		w.p.Advance(time.Millisecond)
		r.good()
		w.newRequest(0, nil, srp.NoData).start(c)
		w.faults("")
		w.p.Advance(time.Millisecond)
		w.newRequest(9, nil, srp.NoData).start(c).check(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported)
	}
}

// A lost response's credit comes with the next response; with leak it never does.
func TestFaultLose(t *testing.T) {
	for _, c := range []struct {
		text string
		lost int
	}{{"lose,times=1", 0}, {"lose,leak,times=1", 1}, {"lose,op=tmf,times=1", 0}} {
		w, _, ch := faulty(t, c.text)
		before := w.credits(ch)
		if c.text == "lose,op=tmf,times=1" {
			m := w.manage(ch, srp.ClearTaskSet, 0, nil)
			if m.done != 0 {
				t.Error("a function was answered")
			}
		} else {
			r := w.read(ch, 0)
			if r.done != 0 {
				t.Error("a command was answered")
			}
			w.manage(ch, srp.AbortTask, 0, r).complete()
			w.abandon(ch, r)
		}
		w.newRequest(0, nil, srp.NoData).start(ch).good()
		if n := w.credits(ch); n != before-c.lost {
			t.Errorf("%s: %d credits, %d before", c.text, n, before)
		}
	}
}

// The second of two responses is late, has no credit, and changes nothing.
func TestFaultDuplicate(t *testing.T) {
	w, disk, c := faulty(t, "duplicate")
	pattern(1, disk[:4096])
	before := w.credits(c)
	w.read(c, 0).good()
	w.newRequest(9, nil, srp.NoData).start(c).check(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported)
	if s := w.stats(c); s.Late != 2 || s.Responses != s.Starts || w.credits(c) != before {
		t.Errorf("%+v, %d credits, %d before", s, w.credits(c), before)
	}
	w.faults("duplicate,op=tmf")
	w.manage(c, srp.ClearTaskSet, 0, nil).complete()
	if s := w.stats(c); s.Late != 3 || w.credits(c) != before {
		t.Errorf("%+v", s)
	}
}

// A status in place of what the command asks for, which is not done.
func TestFaultStatus(t *testing.T) {
	w, disk, c := faulty(t, "status=busy,times=1; status=task-set-full,skip=1,times=1; sense=3/1100,skip=2")
	pattern(1, w.init.mem[:4096])
	for _, want := range []scsi.Status{scsi.StatusBusy, scsi.StatusTaskSetFull} {
		if r := w.write(c, 0).end(); r.Outcome != srp.Completed || r.Status != want || len(r.Sense) != 0 {
			t.Errorf("%v, %v; want %v", r.Outcome, r.Status, want)
		}
	}
	w.write(c, 0).check(scsi.KeyMediumError, 0x1100)
	if !bytes.Equal(disk[:4096], make([]byte, 4096)) {
		t.Error("written all the same")
	}
}

// Wrong residuals in either direction.
func TestFaultResidual(t *testing.T) {
	w, _, c := faulty(t, "residual=512,times=2; residual=-4096,skip=2,times=2; residual=4294967295,skip=4")
	for i, want := range []struct {
		write     bool
		in, out   uint32
		flags     srp.RspFlags
		transfers uint32
	}{
		{false, 512, 0, srp.DataInUnder, 3584},
		{true, 0, 512, srp.DataOutUnder, 3584},
		{false, 4096, 0, srp.DataInOver, 4096},
		{true, 0, 4096, srp.DataOutOver, 4096},
		{false, 0xffffffff, 0, srp.DataInUnder, 0},
	} {
		start := w.read
		if want.write {
			start = w.write
		}
		r := start(c, 0).end()
		if r.DataInResidual != want.in || r.DataOutResidual != want.out || r.Flags != want.flags || r.Transferred != want.transfers {
			t.Errorf("%d: %#x, residuals %d and %d, %d transferred; want %+v", i, r.Flags, r.DataInResidual, r.DataOutResidual, r.Transferred, want)
		}
	}
}

// Commands that something goes wrong with allocate no more than others: nothing.
func TestFaultsDoNotAllocate(t *testing.T) {
	w, _, c := faulty(t, "delay=1h,p=0.000001; residual=0,every=4; duplicate,every=5; withhold=1,every=16; cred-req=1,every=16; "+
		"status=busy,every=7; aer=2a09,every=64; lose,op=tmf")
	r := w.newRequest(0, rw(false, 0, 4096), srp.DataIn, w.init.segment(0, 4096))
	f := new(dispatch.Frame)
	if n := testing.AllocsPerRun(1000, func() {
		r.done = 0
		w.p.Raise(f)
		if err := c.Start(f, &r.Request); err != nil {
			t.Fatal(err)
		}
		f.Lower()
		if r.done != 1 {
			t.Fatalf("ended %d times", r.done)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if i := w.theirs(); i.Faults < 400 || i.Asked < 60 {
		t.Errorf("%+v", i)
	}
}
