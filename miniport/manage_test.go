package miniport

import (
	"context"
	"errors"
	"testing"
	"time"

	"minisrp/scsi"
	"minisrp/srp"
)

// A function that somebody asks for ends what was at the unit, on every channel, which the target does not answer.
func TestManage(t *testing.T) {
	for _, fn := range []srp.TaskFunction{srp.AbortTaskSet, srp.ClearTaskSet, srp.LogicalUnitReset} {
		inWorld(t, worldConfig{procs: 2}, func(t *testing.T, w *world) {
			w.works()
			w.faults("late=1s,op=write")
			q, r := w.rw(true, 0, 1, 0).submit(0, w.units[0]), w.rw(true, 8, 1, 512).submit(1, w.units[0])
			if !q.pending() || !r.pending() {
				t.Fatal("the writes have ended")
			}
			w.faults("")
			got, err := w.srp.Manage(t.Context(), w.target, 0, fn)
			if err != nil || !got.Done() || got.Aborted != 2 {
				t.Errorf("%s: %+v, %v", fn, got, err)
			}
			if q.ended() != StatusBusReset || r.ended() != StatusBusReset {
				t.Errorf("%s: the writes have ended with %s and %s", fn, q.Status, r.Status)
			}
			after(2 * time.Second)
			w.works()
			w.settled(1)
		})
	}
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		if got, err := w.srp.Manage(t.Context(), w.target, scsi.FlatLUN(7), srp.LogicalUnitReset); err != nil || got.Done() {
			t.Errorf("reset of no unit: %+v, %v", got, err)
		}
		w.faults("lose,op=tmf")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.srp.Manage(ctx, w.target, 0, srp.LogicalUnitReset); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("reset without an answer: %v", err)
		}
		w.faults("")
		w.works()
		w.must(w.target.Logout(t.Context()))
		if _, err := w.srp.Manage(t.Context(), w.target, 0, srp.LogicalUnitReset); !errors.Is(err, ErrNotUp) {
			t.Errorf("reset while logged out: %v", err)
		}
	})
}

// Logged out stays so, also over suspend and resume, until somebody logs in.
func TestLogout(t *testing.T) {
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		w.works()
		w.must(w.target.Logout(t.Context()))
		after(time.Hour)
		if w.target.State() != TargetSuspended || !w.target.LoggedOut() || w.target.Lost() {
			t.Errorf("%s, logged out %v, lost %v", w.target.State(), w.target.LoggedOut(), w.target.Lost())
		}
		for _, c := range []AdapterControl{Suspend, Resume} {
			w.must(w.srp.AdapterControl(t.Context(), c))
		}
		after(time.Second)
		if w.target.State() != TargetSuspended {
			t.Errorf("%s after resume", w.target.State())
		}
		q := w.rw(false, 0, 1, 0).submit(0, w.units[0])
		if !q.pending() {
			t.Errorf("a read has ended with %s", q.Status)
		}
		w.must(w.target.Login(t.Context(), false))
		w.settled(2)
		if st := q.ended(); st != StatusError { // with the unit attention of a new nexus
			t.Errorf("the read has ended with %s", st)
		}
		w.must(w.target.Login(t.Context(), true)) // it is
		w.must(w.target.Reset(t.Context()))
		w.must(w.target.Login(t.Context(), true))
		w.settled(3)
		w.works()
	})
}

// Login does not wait until an attempt is due when it is told so.
func TestLoginNow(t *testing.T) {
	for _, now := range []bool{false, true} {
		inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
			w.faults("reject=0x00010001")
			w.must(w.target.Reset(t.Context()))
			after(30 * time.Second) // the pauses are long by now
			w.faults("")
			before := time.Now()
			err := w.target.Login(t.Context(), now)
			if took := time.Since(before); err != nil || now != (took == 0) {
				t.Errorf("now %v: after %v, %v", now, took, err)
			}
			after(time.Minute)
			w.settled(2)
		})
	}
}

// ExecAt reaches what is there, and nothing else.
func TestExecAt(t *testing.T) {
	inWorld(t, worldConfig{}, func(t *testing.T, w *world) {
		ask := func(n scsi.LUN) ([]byte, error) {
			s := &SRB{Direction: DataIn, Length: 96, Data: []Segment{{Region: w.memory, Length: 96}}}
			s.CDBLength = uint8((&scsi.Inquiry{AllocationLength: 96}).Put(&s.CDB))
			err := w.port.ExecAt(t.Context(), w.adapter, w.target, n, s)
			return w.memory.Bytes()[:s.Transferred], err
		}
		if b, err := ask(0); err != nil || len(b) != 96 || b[0] != 0 {
			t.Errorf("% x, %v", b, err)
		}
		if b, err := ask(scsi.FlatLUN(9)); err != nil || len(b) != 96 || b[0] != 0x7f {
			t.Errorf("% x, %v", b, err)
		}
		if n := len(w.port.Units()); n != 1 {
			t.Errorf("%d units", n)
		}
	})
}
