package target_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs/dispatch"
)

// Two initiators with many commands under way, random faults, aborts and resets, and a target that reports events and
// changes request limits meanwhile: every command ends once, task management functions are answered, credits add up, and
// nothing is left. With a store in memory and with one at the side.
func TestFaultsUnderLoad(t *testing.T) {
	const text = "delay=3ms,p=0.2; late=3ms,p=0.2; ghost=5ms,p=0.1; lose,p=0.05; duplicate,p=0.1; status=busy,p=0.05; " +
		"residual=512,p=0.05; delay=2ms,p=0.1,stubborn; delay=1ms,op=tmf,p=0.3; duplicate,op=tmf,p=0.2; " +
		"cred-req=3,p=0.05; cred-req=-2,p=0.05; withhold=2,p=0.05; aer=2a09,p=0.05"
	for seed := range uint64(6) {
		w := newWorld(t, target.Config{Credits: 24}, nil)
		s := lun.Store(must(lun.NewRAM(testSize, testBlock)))
		if seed%2 == 1 {
			s = luntest.Count(s) // no longer one whose memory the port knows
		}
		w.attach(0, s)
		chans := []*srp.Channel{w.as(anna), w.as(berta)}
		for _, c := range chans {
			w.attentions(c, 0)
		}
		w.faults("seed=" + fmt.Sprint(seed) + ";" + text)
		l := &load{w: w, rnd: rand.New(rand.NewPCG(seed, 1)), chans: chans}
		for range 400 {
			l.step()
		}
		w.faults("")
		w.p.Advance(time.Second)
		l.drain()
		w.until("store and delays to let go", func() bool {
			w.p.Advance(time.Millisecond)
			for _, s := range w.sessions() {
				if s.Channels[0].Outstanding > 0 {
					return false
				}
			}
			return true
		})
		for i, c := range chans {
			w.newRequest(0, nil, srp.NoData).start(c).end()
			have, who := w.credits(c), w.sessions()
			for _, s := range who {
				if s.Initiator != []srp.PortID{anna, berta}[i] {
					continue
				}
				if ch := s.Channels[0]; ch.Credits != have {
					t.Errorf("seed %d, initiator %d: %d credits, the port counts %d", seed, i, have, ch.Credits)
				}
			}
			if st := w.stats(c); st.UnknownTags != 0 || st.UnknownIUs != 0 {
				t.Errorf("seed %d: %+v", seed, st)
			}
		}
		if w.downs != 0 {
			t.Errorf("seed %d: %d channels ended: %v", seed, w.downs, w.events)
		}
	}
}

// load is what is under way.
type load struct {
	w     *world
	rnd   *rand.Rand
	chans []*srp.Channel
	out   []*flight
	fns   []*function
}

// flight is a request on its channel.
type flight struct {
	*request
	at    int
	c     *srp.Channel
	abort *function
}

// step does one thing at random.
func (l *load) step() {
	w := l.w
	l.collect()
	switch k := l.rnd.IntN(20); {
	case k < 12 && len(l.out) < 32:
		l.start()
	case k < 14 && len(l.out) > 0:
		if x := l.out[l.rnd.IntN(len(l.out))]; x.done == 0 && x.abort == nil {
			x.abort = l.function(x.c, srp.AbortTask, x.request)
		}
	case k == 14:
		l.function(l.chans[l.rnd.IntN(2)], srp.LogicalUnitReset, nil)
	case k == 15:
		l.function(l.chans[l.rnd.IntN(2)], srp.AbortTaskSet, nil)
	default:
		w.p.Advance(time.Duration(l.rnd.IntN(3000)) * time.Microsecond)
	}
}

// start begins a read or write, if there is a credit.
func (l *load) start() {
	w, i := l.w, 0
	for slices.ContainsFunc(l.out, func(x *flight) bool { return x.at == i }) {
		i++ // those under way have blocks and memory of their own
	}
	size := []int{512, 4096, 64 << 10}[l.rnd.IntN(3)]
	write, d := l.rnd.IntN(2) == 0, srp.DataIn
	if write {
		d = srp.DataOut
	}
	x := &flight{request: w.newRequest(0, rw(write, uint64(i*256), size), d, w.init.segment(i<<17, size)), at: i, c: l.chans[l.rnd.IntN(2)]}
	var err error
	w.at(func(f *dispatch.Frame) { err = x.c.Start(f, &x.Request) })
	if err == nil {
		l.out = append(l.out, x)
	} else if err != srp.ErrBusy {
		w.t.Fatal(err)
	}
}

// function begins a task management function.
func (l *load) function(c *srp.Channel, fn srp.TaskFunction, victim *request) *function {
	m := &function{w: l.w}
	m.Function = fn
	m.Done = func(*dispatch.Frame, *srp.TaskRequest) { m.done++ }
	if victim != nil {
		m.Victim = &victim.Request
	}
	l.w.at(func(f *dispatch.Frame) {
		if err := c.Manage(f, &m.TaskRequest); err != nil {
			l.w.t.Error(err)
		}
	})
	l.fns = append(l.fns, m)
	return m
}

// collect forgets what has ended, and gives up what was aborted.
func (l *load) collect() {
	kept := l.out[:0]
	for _, x := range l.out {
		if x.done == 0 && x.abort != nil && x.abort.done == 1 {
			l.w.abandon(x.c, x.request)
		}
		switch x.done {
		case 0:
			kept = append(kept, x)
		case 1:
		default:
			l.w.t.Fatalf("a request ended %d times", x.done)
		}
	}
	clear(l.out[len(kept):])
	l.out = kept
}

// drain ends everything: what was not answered is aborted.
func (l *load) drain() {
	w := l.w
	w.t.Helper()
	// When all commands that a low limit allows were lost, their credits wait for a response that nobody asks for.
	w.do("cred-req=24")
	for _, x := range l.out {
		if x.done == 0 && x.abort == nil {
			x.abort = l.function(x.c, srp.AbortTask, x.request)
		}
	}
	w.until("the functions", func() bool {
		w.p.Advance(time.Millisecond)
		for _, m := range l.fns {
			if m.done == 0 {
				return false
			}
		}
		return true
	})
	l.collect()
	if len(l.out) != 0 {
		w.t.Errorf("%d requests are left", len(l.out))
	}
	for _, m := range l.fns {
		if m.done != 1 || m.Outcome != srp.Completed || m.Code != srp.ResponseComplete {
			w.t.Errorf("%v: ended %d times, %v, %v", m.Function, m.done, m.Outcome, m.Code)
		}
	}
}
