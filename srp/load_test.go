package srp_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// kinds are commands of each way that data can go, in memory from at on; it returns where that ends.
func kinds(w *world, at int) (map[string]*request, int) {
	piece := func(n int) srp.Segment {
		at += n + 4
		return w.init.segment(at-n-4, n)
	}
	return map[string]*request{
		"read 4k":      newRequest().with(srp.DataIn, piece(4096)),
		"write 4k":     newRequest().with(srp.DataOut, piece(4096)),
		"write imm":    newRequest().with(srp.DataOut, piece(8)),
		"write pieces": newRequest().with(srp.DataOut, piece(5), piece(5), piece(5), piece(5)),
		"no data":      newRequest(),
	}, at
}

// From Start to Done nothing is allocated.
func TestCommandsDoNotAllocate(t *testing.T) {
	for _, noWindows := range []bool{false, true} {
		w := newWorld(t, worldConfig{noWindows: noWindows})
		cfg := w.config()
		cfg.ImmediateData = 1024
		c, e := w.login(cfg)
		e.echo = true
		rs, _ := kinds(w, 0)
		for name, r := range rs {
			var f dispatch.Frame
			run := func() {
				w.p.Raise(&f)
				if err := c.Start(&f, &r.Request); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				f.Lower()
			}
			if n := testing.AllocsPerRun(200, run); n != 0 {
				t.Errorf("%s, %v: %v allocations", name, w.sess.Info().Protect, n)
			}
			r.ended(t, 201, srp.Completed)
		}
	}
}

// Aborts, task management and credits allocate nothing either.
func TestRecoveryDoesNotAllocate(t *testing.T) {
	w := newWorld(t, worldConfig{})
	w.grant(1 << 20)
	c, e := w.login(w.config())
	e.echo = true
	tm := newTask(srp.AbortTask)
	for _, r := range []*request{
		newRequest(),
		newRequest().with(srp.DataOut, w.init.segment(0, 4), w.init.segment(8, 4), w.init.segment(16, 4)),
	} {
		var f dispatch.Frame
		tm.Victim = &r.Request
		n := testing.AllocsPerRun(200, func() {
			w.p.Raise(&f)
			if err := c.Start(&f, &r.Request); err != nil {
				t.Error(err)
			}
			if err := c.Manage(&f, &tm.TaskRequest); err != nil {
				t.Error(err)
			}
			c.Abandon(&f, &r.Request)
			f.Lower()
		})
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
		r.ended(t, 201, srp.Aborted)
	}
	if tm.done != 402 {
		t.Errorf("%d functions ended", tm.done)
	}
}

// TestLoad runs four channels on two processors, all full, against targets on the same processors, while channels fail
// and a third goroutine looks on.
func TestLoad(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	ps := []*dispatch.Processor{dispatch.New("a"), dispatch.New("b")}
	defer ps[0].Close()
	defer ps[1].Close()
	for i, target := range ps {
		t.Run("target on "+target.Name(), func(t *testing.T) {
			w := newWorld(t, worldConfig{logins: 4, processor: ps[i]})
			for _, e := range w.target.spare {
				e.echo = true
			}
			cfg := w.config()
			cfg.Channels, cfg.Processors, cfg.QueueSize, cfg.ImmediateData = 4, ps, 16, 1024
			var readies atomic.Int64
			var downs atomic.Int64
			loads := make(map[*srp.Channel]*load)
			cfg.Ready = func(f *dispatch.Frame, c *srp.Channel) { readies.Add(1); loads[c].fill(f) }
			cfg.Event = func(f *dispatch.Frame, c *srp.Channel, e *srp.ChannelEvent) { downs.Add(1) }
			s, err := srp.Login(context.Background(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range s.Channels() {
				loads[c] = newLoad(w, c, i*(256<<10), rounds, i == 3)
			}
			for _, l := range loads {
				l.dpc.Post()
			}
			for _, l := range loads {
				select {
				case <-l.finished:
				case <-time.After(20 * time.Second):
					for c, l := range loads {
						done := make(chan struct{})
						l.dpc.Init(c.Processor(), func(f *dispatch.Frame) {
							t.Errorf("channel %d: up %v, %d credits, %d outstanding, %d of %d started, %d completed, %d down, %+v",
								c.Index(), c.Up(f), c.Credits(f), c.Outstanding(f), l.started, l.rounds, l.completed, l.downs, c.Stats(f))
							close(done)
						})
						l.dpc.Post()
						<-done
					}
					t.Fatal("commands are stuck")
				}
			}
			if err := s.Logout(context.Background()); err != nil {
				t.Error(err)
			}
			for _, l := range loads {
				if got := l.completed + l.downs; got != l.started {
					t.Errorf("%d started, %d ended", l.started, got)
				}
				if l.fails == (l.downs == 0 && l.completed == l.rounds) {
					t.Errorf("channel that fails: %v; %d of %d completed, %d down", l.fails, l.completed, l.rounds, l.downs)
				}
			}
			if downs.Load() != 4 || readies.Load() == 0 {
				t.Errorf("%d channels down, %d calls of Ready", downs.Load(), readies.Load())
			}
		})
	}
}

// load keeps a channel full. Its fields are touched on the channel's processor only, until finished.
type load struct {
	c                         *srp.Channel
	dpc                       dispatch.DPC
	free                      []*request
	rounds                    int
	fails                     bool
	started, completed, downs int
	finished                  chan struct{}
}

func newLoad(w *world, c *srp.Channel, at, rounds int, fails bool) *load {
	l := &load{c: c, rounds: rounds, fails: fails, finished: make(chan struct{})}
	l.dpc.Init(c.Processor(), l.fill)
	for range 5 { // 25 commands for 16 places
		var rs map[string]*request
		rs, at = kinds(w, at)
		for _, r := range rs {
			r.Done = func(f *dispatch.Frame, _ *srp.Request) { l.done(f, r) }
			l.free = append(l.free, r)
		}
	}
	return l
}

func (l *load) fill(f *dispatch.Frame) {
	for len(l.free) > 0 && l.started < l.rounds {
		r := l.free[len(l.free)-1]
		if err := l.c.Start(f, &r.Request); err != nil {
			return
		}
		l.free = l.free[:len(l.free)-1]
		l.started++
	}
}

func (l *load) done(f *dispatch.Frame, r *request) {
	l.free = append(l.free, r)
	if r.Outcome == srp.Completed {
		l.completed++
	} else {
		l.downs++
	}
	if l.fails && l.completed == l.rounds/2 {
		l.c.Fail(f)
	}
	l.fill(f)
	if l.c.Outstanding(f) == 0 && (l.started == l.rounds || !l.c.Up(f)) && l.finished != nil {
		select {
		case <-l.finished:
		default:
			close(l.finished)
		}
	}
}

func BenchmarkCommand4K(b *testing.B) {
	for name, depth := range map[string]int{"depth 1": 1, "depth 32": 32} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, worldConfig{})
			w.grant(128)
			cfg := w.config()
			cfg.QueueSize = 32
			c, e := w.login(cfg)
			e.echo = true
			rs := make([]*request, depth)
			for i := range rs {
				rs[i] = newRequest().with(srp.DataIn, w.init.segment(i*4096, 4096))
			}
			b.ReportAllocs()
			var f dispatch.Frame
			for b.Loop() {
				w.p.Raise(&f)
				for _, r := range rs {
					if err := c.Start(&f, &r.Request); err != nil {
						b.Fatal(err)
					}
				}
				f.Lower()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*depth), "ns/command")
		})
	}
}
