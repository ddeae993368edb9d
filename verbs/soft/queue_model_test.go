package soft_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	pt "minisrp/verbs/internal/providertest"
)

// queueModel is what one end's queues must do, in the plainest way.
type queueModel struct {
	sq       []modelWR
	rq       []uint64
	scq, rcq []modelWC
	sUsed    int // places, until their completion has been polled
	rUsed    int
	silent   int // executed without a completion since the last
	dead     bool
	armed    bool
	notified int
}

type modelWR struct {
	id       uint64
	signaled bool
	send     bool // takes a receive of the peer
}

type modelWC struct {
	id     uint64
	status verbs.Status
	frees  int
}

const modelPlaces, modelEntries = 5, 64

// done completes the oldest request.
func (q *queueModel) done(s verbs.Status) {
	w := q.sq[0]
	q.sq = q.sq[1:]
	q.silent++
	if s != verbs.Success || w.signaled {
		q.scq = append(q.scq, modelWC{w.id, s, q.silent})
		q.silent = 0
	}
}

func (q *queueModel) received(s verbs.Status) {
	q.rcq = append(q.rcq, modelWC{q.rq[0], s, 1})
	q.rq = q.rq[1:]
	if q.armed {
		q.armed = false
		q.notified++
	}
}

// settle does everything that can be done now.
func settle(ends [2]*queueModel) {
	for again := true; again; {
		again = false
		for i, q := range ends {
			p := ends[1-i]
			for len(q.sq) > 0 {
				switch w := q.sq[0]; {
				case q.dead:
					q.done(verbs.WRFlushErr)
				case p.dead:
					q.done(verbs.RetryExcErr)
					q.dead, again = true, true
				case w.send && len(p.rq) == 0:
				case w.send:
					p.received(verbs.Success)
					q.done(verbs.Success)
				default:
					q.done(verbs.Success)
				}
				if len(q.sq) > 0 && !q.dead && !p.dead && q.sq[0].send && len(p.rq) == 0 {
					break // it waits
				}
			}
			for q.dead && len(q.rq) > 0 {
				q.received(verbs.WRFlushErr)
			}
		}
	}
}

// Posts, completions and notifications of two connected QPs agree with the model in
// any order of posting, polling, arming and breaking: what is not accepted has no
// completion (rule 6), what is accepted has one, in order; one notification an arm,
// at once with unseen completions (rule 5).
func TestModelQueues(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { driveQueues(t, rt) })
}

func driveQueues(t *testing.T, rt *rapid.T) {
	a, b := pt.Pair(t, fresh, pt.Options{
		Manual: true, Two: rapid.Bool().Draw(rt, "two processors"),
		MaxSend: modelPlaces, MaxRecv: modelPlaces, Entries: modelEntries,
		Memory: 1, // all of them are closed with t
	})
	real := [2]*pt.End{a, b}
	model := [2]*queueModel{{}, {}}
	next := uint64(0)
	pick := func() (*pt.End, *queueModel) {
		i := rapid.IntRange(0, 1).Draw(rt, "end")
		return real[i], model[i]
	}
	agree := func(what string, got, want any) {
		if got != want {
			rt.Fatalf("%s: %v; want %v", what, got, want)
		}
	}
	rt.Repeat(map[string]func(*rapid.T){
		"post": func(*rapid.T) {
			e, q := pick()
			wrs := make([]verbs.WR, rapid.IntRange(0, 4).Draw(rt, "requests"))
			want, why := 0, error(nil)
			for i := range wrs {
				kind := rapid.IntRange(0, 9).Draw(rt, "kind")
				wr := pt.WR(next, verbs.Send)
				next++
				if kind%2 == 1 {
					wr.Op = verbs.Write
				}
				if kind > 6 {
					wr.Flags = 0
				}
				insane := kind == 5
				if insane {
					wr.NumSGE = verbs.MaxSGE + 1
				}
				wrs[i] = wr
				switch {
				case why != nil:
				case q.sUsed == modelPlaces:
					why = verbs.ErrFull
				case insane:
					why = verbs.ErrInvalid
				default:
					q.sq = append(q.sq, modelWR{wr.ID, wr.Flags != 0, wr.Op == verbs.Send})
					q.sUsed++
					want++
				}
			}
			var n int
			var err error
			e.At(func(f *dispatch.Frame) { n, err = e.QP.Post(f, wrs) })
			agree("requests accepted", n, want)
			agree("why no more", err, why)
		},
		"receive": func(*rapid.T) {
			e, q := pick()
			rs := make([]verbs.RecvWR, rapid.IntRange(0, 4).Draw(rt, "receives"))
			want, why := 0, error(nil)
			for i := range rs {
				rs[i].ID = next
				next++
				insane := rapid.IntRange(0, 9).Draw(rt, "kind") == 0
				if insane {
					rs[i].NumSGE = verbs.MaxSGE + 1
				}
				switch {
				case why != nil:
				case q.rUsed == modelPlaces:
					why = verbs.ErrFull
				case insane:
					why = verbs.ErrInvalid
				default:
					q.rq = append(q.rq, rs[i].ID)
					q.rUsed++
					want++
				}
			}
			var n int
			var err error
			e.At(func(f *dispatch.Frame) { n, err = e.QP.PostRecv(f, rs) })
			agree("receives accepted", n, want)
			agree("why no more", err, why)
		},
		"poll": func(*rapid.T) {
			e, q := pick()
			cq, want, used := e.SCQ, &q.scq, &q.sUsed
			if rapid.Bool().Draw(rt, "receives") {
				cq, want, used = e.RCQ, &q.rcq, &q.rUsed
			}
			wcs := make([]verbs.WC, rapid.IntRange(0, 4).Draw(rt, "most"))
			var n int
			e.At(func(f *dispatch.Frame) { n = cq.Poll(f, wcs) })
			agree("completions", n, min(len(wcs), len(*want)))
			for i, wc := range wcs[:n] {
				w := (*want)[i]
				agree("completion", fmt.Sprint(wc.ID, wc.Status, wc.QPN), fmt.Sprint(w.id, w.status, e.QP.Num()))
				*used -= w.frees
			}
			*want = (*want)[n:]
		},
		"arm": func(*rapid.T) {
			e, q := pick()
			if len(q.rcq) > 0 {
				q.notified++
			} else {
				q.armed = true
			}
			e.At(func(f *dispatch.Frame) { e.RCQ.Arm(f) })
		},
		"break": func(*rapid.T) {
			if rapid.IntRange(0, 9).Draw(rt, "really") != 0 {
				return
			}
			e, q := pick()
			q.dead = true
			if err := modify(e, e.QP, verbs.Error); err != nil && !errors.Is(err, verbs.ErrState) {
				rt.Fatal(err)
			}
		},
		"": func(*rapid.T) {
			settle(model)
			a.Settle()
			for i, e := range real {
				agree("notifications", e.Notified, model[i].notified)
				agree("dead", e.QP.State() == verbs.Error, model[i].dead)
			}
		},
	})
	for i, e := range real {
		for _, x := range []struct {
			cq   *verbs.CQ
			want []modelWC
		}{{e.SCQ, model[i].scq}, {e.RCQ, model[i].rcq}} {
			wcs := make([]verbs.WC, modelEntries)
			var n int
			e.At(func(f *dispatch.Frame) { n = x.cq.Poll(f, wcs) })
			agree("completions at the end", n, len(x.want))
			for j, w := range x.want {
				agree("completion at the end", fmt.Sprint(wcs[j].ID, wcs[j].Status), fmt.Sprint(w.id, w.status))
			}
		}
	}
}
