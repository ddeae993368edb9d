package verbs

import (
	"errors"
	"testing"

	"minisrp/verbs/dispatch"
)

// told logs the beginning and the end of a close's callback.
func (m *model) told(what string) ThenFunc[None] {
	return func(f *dispatch.Frame, _ None, err error) {
		if err != nil {
			m.wrong("%s: %v", what, err)
		}
		m.happened("%s closed", what)
		m.At()
		m.happened("%s close returned", what)
	}
}

// wait lets a consumer's actor wait for an operation.
func create[T any](m *model, start func(op *Op[T])) (v T) {
	op := new(Op[T])
	start(op)
	op.Then(func(f *dispatch.Frame, got T, err error) {
		if err != nil {
			m.wrong("%v", err)
		}
		v = got
	})
	// Before the run: drive it by hand.
	for !m.d.worker.Idle() || !m.p.Idle() || !m.q.Idle() {
		m.d.worker.RunOne()
		m.p.RunUntilIdle()
		m.q.RunUntilIdle()
	}
	return v
}

// Rule 4: parents closed before their children stay pending until the last child's
// callback has returned, on whatever processor; each close completes once.
func TestModelClosingInAnyOrder(t *testing.T) {
	a := modelArena(t)
	explore(t, 4000, 6000, func(m *model) func() {
		pd := create(m, m.d.CreatePD)
		mr := create(m, func(op *Op[*MR]) { pd.RegisterMR(op, &MRAttr{Arena: a, Access: LocalWrite}) })
		cq := create(m, func(op *Op[*CQ]) { m.d.CreateCQ(op, &CQAttr{Entries: 1, Processor: m.q}) })
		qp := create(m, func(op *Op[*QP]) {
			pd.CreateQP(op, &QPAttr{SendCQ: cq, RecvCQ: cq, MaxSend: 1, MaxRecv: 1, MaxSGE: 1})
		})
		ops := make([]Op[None], 5)
		for i, c := range []struct {
			name string
			n    *node
		}{{"device", &m.d.node}, {"PD", &pd.node}, {"CQ", &cq.node}, {"MR", &mr.node}, {"QP", &qp.node}} {
			m.Go(c.name, nil, func() {
				c.n.Close(&ops[i])
				ops[i].Then(m.told(c.name))
			})
		}
		return func() {
			for _, o := range [][2]string{{"PD", "device"}, {"CQ", "device"}, {"MR", "PD"}, {"QP", "PD"}, {"QP", "CQ"}} {
				child, parent := o[0], o[1]
				m.before(child+" close returned", parent+" destroyed")
				m.before(parent+" destroyed", parent+" closed")
			}
			if m.drv.made != 0 {
				m.wrong("%d objects left", m.drv.made)
			}
		}
	})
}

// Rules 3 and 4: an operation on an object that is being closed either fails with
// ErrClosed, or what it makes keeps the object open; its callback comes before the
// object's last.
func TestModelCreatingAgainstClosing(t *testing.T) {
	made, refused := 0, 0
	a := modelArena(t)
	explore(t, 3000, 6000, func(m *model) func() {
		pd := create(m, m.d.CreatePD)
		var reg Op[*MR]
		ops := make([]Op[None], 3)
		m.Go("creator", nil, func() {
			pd.RegisterMR(&reg, &MRAttr{Arena: a, Access: LocalWrite})
			reg.Then(func(f *dispatch.Frame, mr *MR, err error) {
				m.happened("result")
				switch {
				case err == nil:
					made++
					mr.Close(&ops[2])
					ops[2].Then(m.told("MR"))
				case errors.Is(err, ErrClosed):
					refused++
				default:
					m.wrong("%v", err)
				}
				m.At()
				m.happened("result returned")
			})
		})
		m.Go("PD", nil, func() { pd.Close(&ops[0]); ops[0].Then(m.told("PD")) })
		m.Go("device", nil, func() {
			// The creator holds the device by its own agreement; here it starts first.
			m.When(func() bool { return m.Done("creator") })
			m.d.node.Close(&ops[1])
			ops[1].Then(m.told("device"))
		})
		return func() {
			if m.times("MR made") != 0 {
				m.before("MR close returned", "PD destroyed")
			}
			m.before("PD close returned", "device destroyed")
			m.before("result", "result returned")
			m.before("result returned", "device destroyed")
			if m.drv.made != 0 {
				m.wrong("%d objects left", m.drv.made)
			}
		}
	})
	if made == 0 || refused == 0 {
		t.Errorf("%d made, %d refused: want both", made, refused)
	}
}

// Rule 3: closing a QP ends its pending Connect, whose callback comes before that of
// the close; a second close is refused and has its completion too.
func TestModelClosingCancels(t *testing.T) {
	explore(t, 3000, 6000, func(m *model) func() {
		pd := create(m, m.d.CreatePD)
		cq := create(m, func(op *Op[*CQ]) { m.d.CreateCQ(op, &CQAttr{Entries: 1, Processor: m.q}) })
		qp := create(m, func(op *Op[*QP]) {
			pd.CreateQP(op, &QPAttr{SendCQ: cq, RecvCQ: cq, MaxSend: 1, MaxRecv: 1, MaxSGE: 1})
		})
		var connect Op[ConnectReply]
		var first, second Op[None]
		m.Go("connect", nil, func() {
			qp.Connect(&connect, &ConnectAttr{})
			connect.Then(func(f *dispatch.Frame, _ ConnectReply, err error) {
				if !errors.Is(err, ErrClosed) {
					m.wrong("connect: %v", err)
				}
				m.happened("connect ended")
			})
		})
		m.Go("close", nil, func() {
			qp.Close(&first)
			first.Then(m.told("QP"))
			qp.Close(&second)
			second.Then(func(f *dispatch.Frame, _ None, err error) {
				if !errors.Is(err, ErrClosed) {
					m.wrong("second close: %v", err)
				}
				m.happened("second close")
			})
		})
		return func() {
			m.before("QP destroyed", "QP closed")
			if m.times("connect ended") != 1 || m.times("second close") != 1 {
				m.wrong("connect ended %d times, second close %d times", m.times("connect ended"), m.times("second close"))
			}
		}
	})
}

// Rule 4: when the device is destroyed no callback is left, also not of objects that
// nobody waits for.
func TestModelNoCallbackIsLeft(t *testing.T) {
	explore(t, 2000, 4000, func(m *model) func() {
		cq := create(m, func(op *Op[*CQ]) {
			m.d.CreateCQ(op, &CQAttr{Entries: 1, Processor: m.q, Notify: func(*dispatch.Frame, *CQ) {
				m.happened("notification")
				m.At()
				m.happened("notification returned")
			}})
		})
		var c, d Op[None]
		m.Go("device", nil, func() {
			cq.FireFromThread()
			m.At()
			cq.Close(&c)
			c.Forget()
			m.d.node.Close(&d)
			d.Forget()
		})
		return func() {
			m.before("CQ destroyed", "device destroyed")
			if m.times("notification") != 0 {
				m.before("notification returned", "device destroyed")
			}
		}
	})
}
