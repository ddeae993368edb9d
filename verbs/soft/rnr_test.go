package soft_test

import (
	"testing"
	"time"

	"minisrp/verbs"
	pt "minisrp/verbs/internal/providertest"
)

// A message that finds no receive is tried again after the receiver's RNR timer, as
// often as the receiver asked for, and then fails (IBA 9.7.5.2.8, 11.6.2).
func TestRNRTimerAndRetryCount(t *testing.T) {
	for _, two := range []bool{false, true} {
		for _, retries := range []uint8{0, 1, 6} {
			o := pt.Options{Manual: true, Two: two, RNRTimer: 10 * time.Millisecond}.WithRNRRetry(retries)
			a, b := pt.Pair(t, fresh, o)
			a.Post(pt.WR(1, verbs.Send), pt.WR(2, verbs.Send))
			for range retries {
				a.Advance(10*time.Millisecond - 1)
				a.Idle()
				a.Advance(1)
			}
			sent := a.Sent(2)
			a.Want(sent[0], 1, verbs.Send, verbs.RNRRetryExcErr)
			a.Want(sent[1], 2, verbs.Send, verbs.WRFlushErr)
			a.AwaitEvent(verbs.QPFatal)
			// The responder is not broken by it.
			if s := b.QP.State(); s != verbs.RTS || len(b.Events) != 0 {
				t.Errorf("responder %s, events %v", s, b.Events)
			}
		}
	}
}

// The retry count starts anew with each message that gets through.
func TestRNRCountStartsAnew(t *testing.T) {
	a, b := pt.Pair(t, fresh, pt.Options{Manual: true, RNRTimer: time.Millisecond}.WithRNRRetry(2))
	for i := range 5 {
		a.Post(pt.WR(uint64(i), verbs.Send))
		a.Advance(time.Millisecond)
		a.Idle()
		b.Recv(uint64(i))
		a.Want(a.Sent(1)[0], uint64(i), verbs.Send, verbs.Success)
		b.Received(1)
	}
}

// A retry count of 7 never ends.
func TestRNRForEver(t *testing.T) {
	a, b := pt.Pair(t, fresh, pt.Options{Manual: true, RNRTimer: time.Millisecond})
	a.Post(pt.WR(1, verbs.Send))
	a.Advance(10 * time.Second)
	a.Idle()
	b.Recv(2)
	a.Want(a.Sent(1)[0], 1, verbs.Send, verbs.Success)
	b.Want(b.Received(1)[0], 2, verbs.Recv, verbs.Success)
}

// The count that the receiver gave when connecting is the sender's: each end can have
// another (rdma_conn_param, CM REQ and REP).
func TestRNRRetryIsThePeers(t *testing.T) {
	c := newCM(t, true)
	c.connect.RNRRetry, c.accept.RNRRetry = 7, 0
	c.establish()
	a, b := c.a, c.b
	a.Post(pt.WR(1, verbs.Send)) // b said 0
	a.Want(a.Sent(1)[0], 1, verbs.Send, verbs.RNRRetryExcErr)
	c = newCM(t, true)
	c.connect.RNRRetry, c.accept.RNRRetry = 7, 0
	c.establish()
	a, b = c.a, c.b
	b.Post(pt.WR(1, verbs.Send)) // a said 7
	b.Advance(50 * time.Millisecond)
	b.Idle()
}

// A flush does not wait for the RNR timer.
func TestRNRWaitIsFlushed(t *testing.T) {
	a, b := pt.Pair(t, fresh, pt.Options{Manual: true, RNRTimer: 600 * time.Millisecond})
	a.Post(pt.WR(1, verbs.Send))
	if err := modify(a, a.QP, verbs.Error); err != nil {
		t.Fatal(err)
	}
	a.Want(a.Sent(1)[0], 1, verbs.Send, verbs.WRFlushErr)
	if d, ok := b.P.NextTimer(); ok {
		t.Errorf("a timer is left, in %v", d)
	}
}
