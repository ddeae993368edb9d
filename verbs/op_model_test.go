package verbs

import (
	"context"
	"errors"
	"testing"

	"minisrp/verbs/dispatch"
)

// Rule 1: Then runs exactly once and always later, whether the result or Then comes
// first; the operation may be started again in it.
func TestModelThenRunsOnceAndLater(t *testing.T) {
	explore(t, 2000, 4000, func(m *model) func() {
		op := new(Op[*PD])
		calling, runs := false, 0
		var then ThenFunc[*PD]
		then = func(f *dispatch.Frame, pd *PD, err error) {
			m.At()
			if calling {
				m.wrong("inside the call of Then")
			}
			if !f.On(m.p) || err != nil || pd == nil {
				m.wrong("on its processor %v, result %v, %v", f.On(m.p), pd, err)
			}
			if runs++; runs == 1 {
				m.d.CreatePD(op)
				op.Then(then)
			}
			pd.abandon()
		}
		m.Go("consumer", nil, func() {
			m.d.CreatePD(op)
			calling = true
			op.Then(then)
			calling = false
		})
		return func() {
			if runs != 2 || m.drv.made != 0 || m.times("PD made") != 2 {
				m.wrong("%d runs for 2 starts, %d of %d objects left", runs, m.drv.made, m.times("PD made"))
			}
			if r := m.d.refs.Load(); r != 1 {
				m.wrong("%d references to the device left", r-1)
			}
		}
	})
}

// Rule 1: when the context of Wait ends, what is created afterwards is closed; if
// the result was there, Wait returns it. Nothing is lost in between.
func TestModelWaitAgainstItsContext(t *testing.T) {
	got, ended := 0, 0
	explore(t, 3000, 6000, func(m *model) func() {
		op := new(Op[*PD])
		ctx, cancel := context.WithCancel(context.Background())
		m.Go("canceller", nil, cancel)
		m.Go("waiter", nil, func() {
			m.d.CreatePD(op)
			switch pd, err := op.Wait(ctx); {
			case err == nil:
				got++
				// It is the caller's again.
				var c Op[None]
				pd.Close(&c)
				c.Forget()
				m.d.CreatePD(op)
				op.Forget()
			case !errors.Is(err, context.Canceled) || pd != nil:
				m.wrong("%v, %v", pd, err)
			default:
				ended++
			}
		})
		return func() {
			if m.drv.made != 0 || m.d.refs.Load() != 1 {
				m.wrong("%d objects and %d references left", m.drv.made, m.d.refs.Load()-1)
			}
		}
	})
	if got == 0 || ended == 0 {
		t.Errorf("%d times a result, %d times the end of the context: want both", got, ended)
	}
}

// Forget closes what is created, whichever comes first.
func TestModelForget(t *testing.T) {
	explore(t, 1000, 2000, func(m *model) func() {
		op := new(Op[*PD])
		m.Go("consumer", nil, func() {
			m.d.CreatePD(op)
			m.At()
			op.Forget()
		})
		return func() {
			m.before("PD made", "PD destroyed")
			if m.drv.made != 0 || m.d.refs.Load() != 1 {
				m.wrong("%d objects and %d references left", m.drv.made, m.d.refs.Load()-1)
			}
		}
	})
}

// Rule 2: the callback may close the object, and start the operation again, while
// the layer is still in the call.
func TestModelCloseInTheCallback(t *testing.T) {
	explore(t, 2000, 4000, func(m *model) func() {
		var make Op[*PD]
		var destroy Op[None]
		m.Go("consumer", nil, func() {
			m.d.CreatePD(&make)
			make.Then(func(f *dispatch.Frame, pd *PD, err error) {
				m.happened("PD given")
				pd.Close(&destroy)
				destroy.Then(func(*dispatch.Frame, None, error) { m.happened("PD closed") })
				m.At()
				m.happened("callback returns")
			})
		})
		return func() {
			m.before("PD given", "callback returns")
			m.before("callback returns", "PD closed")
			m.before("PD destroyed", "PD closed")
		}
	})
}
