package soft_test

import (
	"errors"
	"testing"

	"minisrp/verbs"
	pt "minisrp/verbs/internal/providertest"
	"minisrp/verbs/soft"
)

// alone makes one end with manual processors.
func alone(t *testing.T) *pt.End {
	return pt.NewEnd(pt.NewWorld(t, 1, true), 0, hca(t, soft.New(soft.Config{}), 0), pt.Options{})
}

func modify(e *pt.End, qp *verbs.QP, to verbs.QPState) error {
	_, err := pt.Try(e.World, func(op *verbs.Op[verbs.None]) { qp.Modify(op, to) })
	return err
}

// Every transition that a consumer may ask for, from every state that a QP of this
// provider can be in (IBA 10.3.1; RTR and RTS are the connection manager's).
func TestModifyTable(t *testing.T) {
	reach := map[verbs.QPState]func(t *testing.T) *pt.End{
		verbs.Reset: alone,
		verbs.Init: func(t *testing.T) *pt.End {
			e := alone(t)
			if err := modify(e, e.QP, verbs.Init); err != nil {
				t.Fatal(err)
			}
			return e
		},
		verbs.RTS: func(t *testing.T) *pt.End {
			a, _ := pt.Pair(t, fresh, pt.Options{Manual: true})
			return a
		},
		verbs.Error: func(t *testing.T) *pt.End {
			e := alone(t)
			for _, to := range []verbs.QPState{verbs.Init, verbs.Error} {
				if err := modify(e, e.QP, to); err != nil {
					t.Fatal(err)
				}
			}
			return e
		},
	}
	allowed := map[verbs.QPState][]verbs.QPState{
		verbs.Reset: {verbs.Reset, verbs.Init},
		verbs.Init:  {verbs.Reset, verbs.Init, verbs.Error},
		verbs.RTS:   {verbs.RTS, verbs.Error}, // its number is the peer's too: no Reset
		verbs.Error: {verbs.Reset, verbs.Error},
	}
	for from, make := range reach {
		for to := verbs.Reset; to <= verbs.Error+1; to++ {
			t.Run(from.String()+" to "+to.String(), func(t *testing.T) {
				e := make(t)
				want, after := error(verbs.ErrState), from
				for _, ok := range allowed[from] {
					if ok == to {
						want, after = nil, to
					}
				}
				if to > verbs.Error {
					want = verbs.ErrInvalid
				}
				if err := modify(e, e.QP, to); !errors.Is(err, want) {
					t.Errorf("%v; want %v", err, want)
				}
				if s := e.QP.State(); s != after {
					t.Errorf("then %s; want %s", s, after)
				}
			})
		}
	}
}

// Going to Reset forgets what is posted, without completions (IBA 10.3.1.1).
func TestResetForgets(t *testing.T) {
	e := alone(t)
	if err := modify(e, e.QP, verbs.Init); err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		e.Recv(uint64(i))
	}
	for _, to := range []verbs.QPState{verbs.Reset, verbs.Init} {
		if err := modify(e, e.QP, to); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 16 {
		e.Recv(uint64(100 + i))
	}
	if err := modify(e, e.QP, verbs.Error); err != nil {
		t.Fatal(err)
	}
	for i, wc := range e.Received(16) {
		e.Want(wc, uint64(100+i), verbs.Recv, verbs.WRFlushErr)
	}
	e.Idle()
}

// A QP that goes to Error by its consumer's wish flushes, without an event; the peer
// notices when it sends (IBA 10.3.1.7, 9.7.5.1).
func TestModifyToErrorIsSilent(t *testing.T) {
	a, b := pt.Pair(t, fresh, pt.Options{Manual: true})
	a.Recv(1)
	b.Recv(2)
	if err := modify(a, a.QP, verbs.Error); err != nil {
		t.Fatal(err)
	}
	a.Want(a.Received(1)[0], 1, verbs.Recv, verbs.WRFlushErr)
	b.Idle()
	if len(a.Events) != 0 || len(b.Events) != 0 || b.QP.State() != verbs.RTS {
		t.Errorf("events %v and %v, peer %s", a.Events, b.Events, b.QP.State())
	}
	b.Post(pt.WR(3, verbs.Send), pt.WR(4, verbs.Send))
	sent := b.Sent(2)
	b.Want(sent[0], 3, verbs.Send, verbs.RetryExcErr)
	b.Want(sent[1], 4, verbs.Send, verbs.WRFlushErr)
	b.AwaitEvent(verbs.QPFatal)
}
