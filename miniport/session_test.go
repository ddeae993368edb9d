package miniport

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Every way in which a session can be lost leads to one login, which succeeds at the
// first attempt when the target is there (E1, E26); I/O that comes meanwhile is held and
// then carried out (E3).
func TestLostSessionIsMadeAnew(t *testing.T) {
	for _, how := range []string{"disconnect", "logout=0", "logout=2", "reset", "all at once"} {
		t.Run(how, func(t *testing.T) {
			inWorld(t, worldConfig{procs: 2, units: 2}, func(t *testing.T, w *world) {
				reset := func() {
					var k Token
					k.init(w.procs[0], func(*dispatch.Frame, bool) {})
					k.arm()
					w.target.askReset(&k)
				}
				switch how {
				case "reset":
					reset()
				case "all at once":
					w.do("logout=0")
					w.do("disconnect")
					reset()
				default:
					w.do(how)
				}
				q := w.rw(true, 0, 8, 0).submit(1, w.units[1])
				after(time.Second)
				w.settled(2)
				switch st := q.ended(); {
				case st == StatusBusReset: // it was there when the session broke
				case st == StatusError && errors.Is(q.Err(), scsi.ErrUnitAttention):
				case st != StatusSuccess:
					t.Errorf("%s: %v", st, q.Err())
				}
				w.works()
				after(time.Minute)
				w.settled(2)
				if n := w.logged.count("login failed"); n != 0 {
					t.Errorf("%d failed logins", n)
				}
			})
		})
	}
}

// While a target refuses logins, I/O is held for the time of loss and not longer, to the
// millisecond; then it fails, and so does what comes; logins go on all the while, and the
// target is back within the longest pause (E2, E3, F43). One line is logged for the
// refusals (F37).
func TestTargetThatIsAway(t *testing.T) {
	inWorld(t, worldConfig{units: 2}, func(t *testing.T, w *world) {
		w.peer.SetEnabled(false)
		begun := time.Now()
		w.do("disconnect")
		synctest.Wait()
		q := w.rw(true, 0, 8, 0).submit(0, w.units[0])
		after(lossTimeout - time.Second)
		if !q.pending() {
			t.Fatalf("%s before the target is lost", q.Status)
		}
		after(2 * time.Second)
		if st := q.ended(); st != StatusNoDevice || !st.NotExecuted() {
			t.Errorf("%s", st)
		}
		if d := q.at.Sub(begun); d < lossTimeout || d > lossTimeout+100*time.Millisecond {
			t.Errorf("I/O failed %v after the session was lost, want %v", d, lossTimeout)
		}
		if st := w.rw(true, 0, 8, 0).submit(0, w.units[1]).ended(); st != StatusNoDevice {
			t.Errorf("on a lost target: %s", st)
		}
		after(10 * time.Minute)
		if n := w.logged.count("login failed"); n != 1 {
			t.Errorf("%d lines about failed logins", n)
		}
		if n := w.logged.count("target is lost"); n != 1 {
			t.Errorf("%d lines about the loss", n)
		}
		w.peer.SetEnabled(true)
		after(reconnectMost)
		w.settled(2)
		w.works()
	})
}

// The time of loss is kept also when the target does not answer a login at all (A11.10,
// A14.21): the attempt under way is cut short.
func TestLossIsOnTimeDuringALogin(t *testing.T) {
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		w.faults("delay=10h,op=login")
		begun := time.Now()
		w.do("disconnect")
		q := w.rw(true, 0, 8, 0).submit(0, w.units[0])
		after(lossTimeout + time.Second)
		if q.Status == StatusBusReset { // it was at the target
			q = w.rw(true, 0, 8, 0).submit(0, w.units[0])
			begun = time.Now().Add(-lossTimeout)
		}
		if st := q.ended(); st != StatusNoDevice || q.at.Sub(begun) > lossTimeout+time.Second {
			t.Errorf("%s after %v", st, q.at.Sub(begun))
		}
		if err := w.target.Err(); err == nil || !errors.Is(err, verbs.ErrTimeout) {
			t.Errorf("%v", err)
		}
		w.faults("")
		after(srp.DefaultLoginTimeout + reconnectMost)
		w.works()
	})
}

// Everything that is outstanding when a session dies is completed within moments, once,
// with a status that says that its effect is unknown; nothing of its memory changes
// afterwards (E4, E9, E10).
func TestSessionDiesWithCommandsOutstanding(t *testing.T) {
	for _, how := range []string{"disconnect", "target reset", "bus reset"} {
		t.Run(how, func(t *testing.T) {
			inWorld(t, worldConfig{procs: 2, units: 2, session: func(c *srp.SessionConfig) { c.QueueSize = 64 }}, func(t *testing.T, w *world) {
				w.works()
				b := w.memory.Bytes()
				for _, s := range w.stores {
					fill(s.Mapping().Memory.Bytes(), 0x55)
				}
				var all []*io
				for _, g := range w.gates {
					g.Shut()
				}
				for i := range uint32(64) {
					q := w.rw(i%3 == 0, 64*i, 16, uint64(i)*8192)
					q.Timeout = time.Hour
					all = append(all, q.submit(int(i%2), w.units[i/2%2]))
				}
				after(time.Second)
				ended := -1
				var k Token
				k.init(w.procs[0], func(_ *dispatch.Frame, ok bool) {
					ended = 0
					for _, q := range all {
						ended += int(q.count.Load())
					}
					if !ok {
						t.Error("the reset has failed")
					}
				})
				k.arm()
				path := w.units[0].Paths()[0]
				w.onProcessor(func(f *dispatch.Frame) {
					switch how {
					case "target reset":
						w.srp.ResetTarget(f, path, &k)
					case "bus reset":
						w.srp.ResetBus(f, &k)
					}
				})
				if how == "disconnect" {
					w.do("disconnect")
				}
				after(3 * time.Second)
				for i, q := range all {
					if st := q.ended(); st != StatusBusReset || st.NotExecuted() {
						t.Fatalf("SRB %d: %s", i, st)
					}
				}
				if how != "disconnect" && ended != 64 {
					t.Errorf("the reset ended with %d of 64 SRBs completed", ended)
				}
				fill(b, 0xee)
				for _, g := range w.gates {
					g.Open()
				}
				after(time.Minute) // the target keeps the next login waiting for its stores
				w.settled(2)
				for i, v := range b {
					if v != 0xee {
						t.Fatalf("byte %d was written after its SRB had completed", i)
					}
				}
				for _, s := range w.stores {
					for i, v := range s.Mapping().Memory.Bytes() {
						if v == 0xee {
							t.Fatalf("byte %d of a store was read from memory after its SRB had completed", i)
						}
					}
				}
				w.works()
			})
		})
	}
}

// onProcessor runs fn at Dispatch on the first processor.
func (w *world) onProcessor(fn dispatch.Func) {
	w.must(w.port.call(w.t.Context(), w.port.execs[0], fn))
}

// A reset that is asked for while there is no session has nothing to end, and does not
// wait for one.
func TestResetWithoutASession(t *testing.T) {
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		w.faults("delay=10h,op=login")
		w.do("disconnect")
		after(time.Second)
		for _, bus := range []bool{false, true} {
			done := false
			var k Token
			k.init(w.procs[0], func(_ *dispatch.Frame, ok bool) { done = ok })
			k.arm()
			path := w.units[0].Paths()[0]
			w.onProcessor(func(f *dispatch.Frame) {
				if bus {
					w.srp.ResetBus(f, &k)
				} else {
					w.srp.ResetTarget(f, path, &k)
				}
			})
			synctest.Wait()
			if !done {
				t.Errorf("bus %v: the reset waits for a login", bus)
			}
		}
	})
}

// A removed target takes its paths along; I/O without another path fails. Added again
// and scanned, the units are the same ones, with full service (E5, E6).
func TestTargetIsRemovedAndAddedAgain(t *testing.T) {
	inWorld(t, worldConfig{units: 2}, func(t *testing.T, w *world) {
		for range 3 {
			w.srp.RemoveTarget(t.Context(), w.target)
			if w.target.State() != TargetClosed || len(w.srp.Targets()) != 0 {
				t.Fatalf("%s, %d targets", w.target.State(), len(w.srp.Targets()))
			}
			for _, u := range w.units {
				if len(u.Paths()) != 0 {
					t.Fatal("a path to a target that is gone")
				}
				if st := w.rw(false, 0, 8, 0).submit(0, u).ended(); st != StatusNoDevice {
					t.Fatalf("%s", st)
				}
			}
			w.srp.RemoveTarget(t.Context(), w.target) // again: nothing
			var err error
			if w.target, err = w.srp.AddTarget(t.Context(), w.config(nil), false); err != nil {
				t.Fatal(err)
			}
			again := w.scan()
			if len(again) != 2 || again[0] != w.units[0] || again[1] != w.units[1] || len(again[0].Paths()) != 1 {
				t.Fatalf("%v, want the units of before", again)
			}
			w.works()
		}
		if len(w.found) != 2 || w.moved != 12 {
			t.Errorf("%d units found, %d changes", len(w.found), w.moved)
		}
	})
}

// An adapter starts without a target; one that is kept although it is not there yet is
// logged in to when it comes, and its units are looked for (E8, F14).
func TestAdapterStartsBeforeItsTarget(t *testing.T) {
	inWorld(t, worldConfig{alone: true}, func(t *testing.T, w *world) {
		w.peer.SetEnabled(false)
		if _, err := w.srp.AddTarget(t.Context(), w.config(nil), false); err == nil || len(w.srp.Targets()) != 0 {
			t.Fatalf("%v, %d targets", err, len(w.srp.Targets()))
		}
		var err error
		if w.target, err = w.srp.AddTarget(t.Context(), w.config(nil), true); err != nil {
			t.Fatal(err)
		}
		var reject *srp.RejectError
		if !errors.As(w.target.Err(), &reject) || w.target.State() != TargetConnecting {
			t.Errorf("%v, %s", w.target.Err(), w.target.State())
		}
		after(time.Minute)
		w.peer.SetEnabled(true)
		after(reconnectMost)
		w.settled(1)
		if len(w.found) != 1 {
			t.Fatalf("%d units were found", len(w.found))
		}
		w.units = w.found
		w.works()
	})
}

// Every login ends, with a reason (E23), and holds up nothing: its target can be removed
// and the adapter suspended at once (E24).
func TestLoginToAMuteTarget(t *testing.T) {
	inWorld(t, worldConfig{alone: true}, func(t *testing.T, w *world) {
		w.faults("delay=10h,op=login")
		begun := time.Now()
		_, err := w.srp.AddTarget(t.Context(), w.config(nil), false)
		if d := time.Since(begun); !errors.Is(err, verbs.ErrTimeout) || d > srp.DefaultLoginTimeout+time.Second {
			t.Errorf("%v after %v", err, d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if _, err := w.srp.AddTarget(ctx, w.config(nil), false); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		if w.target, err = w.srp.AddTarget(ctx, w.config(nil), true); err != nil {
			t.Fatal(err)
		}
		begun = time.Now()
		w.must(w.srp.AdapterControl(t.Context(), Suspend))
		if d := time.Since(begun); d > time.Second {
			t.Errorf("suspended after %v", d)
		}
		result := make(chan error, 1)
		go func() { result <- w.srp.AdapterControl(t.Context(), Resume) }()
		synctest.Wait()
		begun = time.Now()
		w.srp.RemoveTarget(t.Context(), w.target)
		if d := time.Since(begun); d > time.Second {
			t.Errorf("removed after %v", d)
		}
		if err := <-result; !errors.Is(err, ErrClosed) {
			t.Errorf("resume: %v", err)
		}
	})
}

// Two initiator ports log in to one target port beside each other; the same one twice is
// refused, and the way out is named (E27, F45).
func TestSecondLoginToOneTargetPort(t *testing.T) {
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		c := w.config(nil)
		c.Name = "second"
		_, err := w.srp.AddTarget(t.Context(), c, false)
		if !errors.Is(err, ErrDuplicate) || !strings.Contains(err.Error(), "initiator_ext") || !strings.Contains(err.Error(), "peer") {
			t.Errorf("%v", err)
		}
		c.Initiator = srp.IOClassR16a.PortID(77, 2)
		second, err := w.srp.AddTarget(t.Context(), c, false)
		w.must(err)
		units, err := w.port.Scan(t.Context(), w.adapter, second)
		w.must(err)
		if len(units) != 1 || units[0] != w.units[0] || len(units[0].Paths()) != 2 {
			t.Errorf("%v, want the one unit with two paths", units)
		}
		after(time.Minute)
		w.settled(1)
		w.works()
		// The unit works by the other path when one goes.
		w.srp.RemoveTarget(t.Context(), w.target)
		w.works()
	})
}

// A target that grants one credit, or two, is used to the full (E18).
func TestOneCredit(t *testing.T) {
	for credits := 1; credits <= 2; credits++ {
		inWorld(t, worldConfig{units: 2, target: func(c *target.Config) { c.Credits = credits }}, func(t *testing.T, w *world) {
			w.works()
			var all []*io
			for i := range uint32(40) {
				all = append(all, w.rw(i%2 == 0, 16*i, 8, uint64(i)*4096).submit(0, w.units[i%2]))
			}
			for _, q := range all {
				if st := q.ended(); st != StatusSuccess {
					t.Fatalf("%s", st)
				}
			}
		})
	}
}

// An event that a unit reports, and a unit attention that says that the units are others,
// lead to a scan of that target (E14, F46).
func TestEventsLeadToAScan(t *testing.T) {
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		w.works()
		w.attach()
		after(time.Minute)
		if len(w.found) != 1 {
			t.Fatalf("%d units before any command", len(w.found))
		}
		q := w.rw(false, 0, 8, 0).submit(0, w.units[0])
		if st := q.ended(); st != StatusError || !errors.Is(q.Err(), scsi.ErrUnitAttention) {
			t.Fatalf("%s, %v: want the unit attention", st, q.Err())
		}
		after(2 * scanPause)
		if len(w.found) != 2 {
			t.Fatalf("%d units after a unit attention", len(w.found))
		}
		w.attach()
		w.do("aer=3f0e@0")
		after(2 * scanPause)
		if len(w.found) != 3 {
			t.Fatalf("%d units after an event", len(w.found))
		}
		w.units = w.found
		w.works()
		w.settled(1)
	})
}

// A unit that is detached loses its path with the next scan, and no I/O of others
// suffers.
func TestUnitIsDetached(t *testing.T) {
	inWorld(t, worldConfig{units: 2}, func(t *testing.T, w *world) {
		_, err := w.peer.Detach(t.Context(), 1)
		w.must(err)
		w.do("aer=3f0e@0")
		after(2 * scanPause)
		if n := len(w.units[1].Paths()); n != 0 {
			t.Errorf("%d paths", n)
		}
		if st := w.rw(false, 0, 8, 0).submit(0, w.units[1]).ended(); st != StatusNoDevice {
			t.Errorf("%s", st)
		}
		w.units = w.units[:1]
		w.works()
	})
}

// An SRP adapter that cannot be added, here since its time is over, has nothing of the
// HCA's: the world's HCA closes, which waits for what is left.
func TestSRPAdapterThatCannotBeAdded(t *testing.T) {
	inWorld(t, worldConfig{alone: true}, func(t *testing.T, w *world) {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		m := NewSRP(SRPConfig{Device: w.idev})
		if _, err := m.AddTarget(t.Context(), w.config(nil), false); !errors.Is(err, ErrClosed) {
			t.Errorf("target on an adapter that was not added: %v", err)
		}
		if _, err := w.port.AddAdapter(over, "late", m); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		synctest.Wait()
	})
}
