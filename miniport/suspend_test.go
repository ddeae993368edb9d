package miniport

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"minisrp/srp"
	"minisrp/verbs/dispatch"
)

// A suspended adapter holds I/O without an error for as long as it lasts, keeps units and
// their paths, and goes on where it was (E7).
func TestSuspendHoldsIO(t *testing.T) {
	inWorld(t, worldConfig{procs: 2, units: 2}, func(t *testing.T, w *world) {
		w.works()
		b := w.memory.Bytes()
		fill(b[:8192], 0x17)
		w.must(w.srp.AdapterControl(t.Context(), Suspend))
		if s := w.target.State(); s != TargetSuspended || w.target.Lost() {
			t.Fatalf("%s", s)
		}
		q := w.rw(true, 0, 16, 0).submit(0, w.units[0])
		p := w.rw(true, 0, 16, 0).submit(1, w.units[1])
		after(24 * time.Hour)
		if !q.pending() || !p.pending() {
			t.Fatalf("%s, %s while suspended", q.Status, p.Status)
		}
		if n := len(w.units[0].Paths()); n != 1 || w.moved != 0 {
			t.Errorf("%d paths, %d changes", n, w.moved)
		}
		w.must(w.srp.AdapterControl(t.Context(), Resume))
		w.settled(2)
		for i, x := range []*io{q, p} {
			if st := x.ended(); st != StatusSuccess && st != StatusError { // a new nexus owes a unit attention
				t.Errorf("SRB %d: %s", i, st)
			}
		}
		w.works()
		if n := w.logged.count("login failed") + w.logged.count("session ended") + w.logged.count("target is lost"); n != 0 {
			t.Errorf("%q", w.logged.lines)
		}
	})
}

// What is at the target when the adapter is suspended may end by itself; what does not is
// ended after the logout's time, and no SRB is lost.
func TestSuspendWithIOAtTheTarget(t *testing.T) {
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		w.works()
		w.gates[0].Shut()
		q := w.rw(true, 0, 8, 0)
		q.Timeout = time.Hour
		q.submit(0, w.units[0])
		<-w.gates[0].Arrived()
		result := make(chan error, 1)
		go func() { result <- w.srp.AdapterControl(t.Context(), Suspend) }()
		after(time.Second)
		w.gates[0].Open()
		w.must(<-result)
		if st := q.ended(); st != StatusSuccess {
			t.Errorf("%s", st)
		}
		w.must(w.srp.AdapterControl(t.Context(), Resume))
		w.works()

		w.gates[0].Shut()
		q = w.rw(true, 0, 8, 0)
		q.Timeout = time.Hour
		q.submit(0, w.units[0])
		<-w.gates[0].Arrived()
		begun := time.Now()
		w.must(w.srp.AdapterControl(t.Context(), Suspend))
		if st, d := q.ended(), time.Since(begun); st != StatusBusReset || d > srp.DefaultLogoutTimeout+5*time.Second {
			t.Errorf("%s after %v", st, d)
		}
		w.gates[0].Open()
		w.must(w.srp.AdapterControl(t.Context(), Resume))
		w.works()
	})
}

// Suspend, Resume and Stop may come in any order; each ends, and the last one counts.
func TestSuspendResumeStopInEveryOrder(t *testing.T) {
	ops := []AdapterControl{Suspend, Resume, Stop, SurpriseRemoval}
	var try func(done []AdapterControl)
	try = func(done []AdapterControl) {
		if len(done) < 3 {
			for _, c := range ops {
				try(append(done[:len(done):len(done)], c))
			}
			return
		}
		inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
			stopped := false
			for i, c := range done {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				err := w.srp.AdapterControl(ctx, c)
				cancel()
				orderly := c == Suspend || c == Resume
				if orderly && stopped != errors.Is(err, ErrClosed) || !orderly && err != nil {
					t.Fatalf("%v at %d: %v", done, i, err)
				}
				stopped = stopped || !orderly
				want := map[AdapterControl]TargetState{Suspend: TargetSuspended, Resume: TargetUp}[c]
				if stopped {
					want = TargetClosed
				}
				if s := w.target.State(); s != want {
					t.Fatalf("%v at %d: %s", done, i, s)
				}
			}
			q := w.rw(false, 0, 8, 0).submit(0, w.units[0])
			switch last := done[2]; {
			case stopped:
				if st := q.ended(); st != StatusNoDevice {
					t.Errorf("%v: %s", done, st)
				}
			case last == Suspend:
				if !q.pending() {
					t.Errorf("%v: %s", done, q.Status)
				}
				w.must(w.srp.AdapterControl(t.Context(), Resume))
				q.ended()
			default:
				q.ended()
				w.works()
			}
		})
	}
	try(nil)
}

// Targets that are added to a suspended adapter wait with the others.
func TestAddTargetWhileSuspended(t *testing.T) {
	inWorld(t, worldConfig{alone: true}, func(t *testing.T, w *world) {
		w.must(w.srp.AdapterControl(t.Context(), Suspend))
		if _, err := w.srp.AddTarget(t.Context(), w.config(nil), false); !errors.Is(err, ErrSuspended) || len(w.srp.Targets()) != 0 {
			t.Errorf("%v", err)
		}
		var err error
		if w.target, err = w.srp.AddTarget(t.Context(), w.config(nil), true); err != nil {
			t.Fatal(err)
		}
		after(time.Hour)
		if s := w.target.State(); s != TargetSuspended {
			t.Errorf("%s", s)
		}
		w.must(w.srp.AdapterControl(t.Context(), Resume))
		after(2 * scanPause)
		w.settled(1)
		if len(w.found) != 1 {
			t.Errorf("%d units were found", len(w.found))
		}
		w.units = w.found
		w.works()
	})
}

// Resume says why a target is not there, and goes on trying.
func TestResumeWithoutTheTarget(t *testing.T) {
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		w.must(w.srp.AdapterControl(t.Context(), Suspend))
		w.peer.SetEnabled(false)
		err := w.srp.AdapterControl(t.Context(), Resume)
		var reject *srp.RejectError
		if !errors.As(err, &reject) || !strings.Contains(err.Error(), "peer") {
			t.Errorf("%v", err)
		}
		q := w.rw(false, 0, 8, 0).submit(0, w.units[0])
		after(10 * time.Second)
		if !q.pending() {
			t.Errorf("%s", q.Status)
		}
		w.peer.SetEnabled(true)
		after(reconnectMost)
		q.ended()
		w.works()
	})
}

// A port closes with I/O at a target that hangs: in the end it is flushed, once; and at
// once when its context ends. Nothing is left, which the world's end holds.
func TestCloseWithIOAtTheTarget(t *testing.T) {
	for _, how := range []string{"target answers", "target hangs", "no time", "target is dead", "target is gone"} {
		t.Run(how, func(t *testing.T) {
			inWorld(t, worldConfig{procs: 2, units: 2}, func(t *testing.T, w *world) {
				w.works()
				w.units[0].SetDepth(4)
				w.gates[0].Shut()
				var all []*io
				for i := range uint32(8) {
					all = append(all, w.rw(i%2 == 0, 16*i, 8, uint64(i)*4096).submit(int(i%2), w.units[0]))
				}
				for range 4 {
					<-w.gates[0].Arrived()
				}
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				switch how {
				case "no time":
					cancel()
				case "target is gone":
					w.do("disconnect")
					w.peer.SetEnabled(false)
				case "target is dead":
					w.faults("delay=10h,op=login; lose,op=tmf")
					w.do("disconnect")
				}
				begun := time.Now()
				result := make(chan error, 1)
				go func() { result <- w.port.Close(ctx) }()
				after(time.Second)
				if how == "target answers" {
					w.gates[0].Open()
				}
				w.must(<-result)
				if d := time.Since(begun); d > 50*time.Second || how == "no time" && d > 10*time.Second {
					t.Errorf("closed after %v", d)
				}
				count := map[Status]int{}
				for _, q := range all {
					count[q.ended()]++
				}
				if how == "target answers" && (count[StatusSuccess] != 4 || count[StatusFlushed] != 4) || count[StatusPending] != 0 {
					t.Errorf("%v", count)
				}
				if st := w.rw(false, 0, 8, 0).submit(0, w.units[0]).ended(); st != StatusFlushed {
					t.Errorf("%s on a closed port", st)
				}
			})
		})
	}
}

// Targets come and go, are suspended, reset and scanned by several goroutines at a time,
// under load: every SRB completes, and in the end everything works (F22, F25).
func TestEverythingAtATime(t *testing.T) {
	inWorld(t, worldConfig{procs: 2, units: 2}, func(t *testing.T, w *world) {
		var quit sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex // guards w.target
		for g := range 3 {
			quit.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(g), 5))
				for ctx.Err() == nil {
					mu.Lock()
					x := w.target
					mu.Unlock()
					limited, done := context.WithTimeout(ctx, time.Second)
					switch rnd.IntN(6) {
					case 0:
						w.srp.RemoveTarget(limited, x)
						if n, err := w.srp.AddTarget(limited, w.config(nil), true); err == nil {
							mu.Lock()
							w.target = n
							mu.Unlock()
						}
					case 1:
						w.srp.AdapterControl(limited, Suspend)
						w.srp.AdapterControl(limited, Resume)
					case 2, 3:
						w.port.Scan(limited, w.adapter, x)
					case 4:
						w.do("disconnect")
					case 5:
						x.Channels(limited)
					}
					done()
					<-time.After(time.Duration(rnd.IntN(300)) * time.Millisecond)
				}
			})
		}
		for g := range 4 {
			quit.Go(func() {
				for i := uint32(0); ctx.Err() == nil; i++ {
					q := w.rw(i%2 == 0, uint32(g)*2000+i%1000, 8, uint64(g)*4096)
					done := make(chan struct{})
					fn := q.Done
					q.Done = func(f *dispatch.Frame, s *SRB) { fn(f, s); close(done) }
					q.submit(g%2, w.units[g/2])
					<-done
					if n := q.count.Load(); n != 1 {
						t.Errorf("completed %d times", n)
					}
					<-time.After(7 * time.Millisecond)
				}
			})
		}
		after(20 * time.Second)
		w.must(w.srp.AdapterControl(t.Context(), Resume)) // what waits for a suspended adapter
		cancel()
		quit.Wait()
		synctest.Wait()
		w.must(w.srp.AdapterControl(t.Context(), Resume))
		after(time.Minute)
		if len(w.srp.Targets()) != 1 {
			t.Fatalf("%d targets", len(w.srp.Targets()))
		}
		w.target = w.srp.Targets()[0]
		w.scan()
		for range 3 {
			w.rw(false, 0, 8, 0).submit(0, w.units[0]).ended()
			w.rw(false, 0, 8, 0).submit(1, w.units[1]).ended()
		}
		w.works()
	})
}
