package nbd

import (
	"sync/atomic"
	"time"
)

// lookout decides how the reader waits for input: by sleeping in the network poller, or by looking again and again for a
// short time first. A wake costs many times what a request does where a processor without work halts, and the client
// pays for waking us as well. It is looked only where it promises to be worth it:
//
//   - the last input did not keep us waiting for longer than looking would have lasted, so an idle connection, and
//     one with a request now and then, sleeps at once;
//   - no more connections look than there are processors but one;
//   - when a look takes long, the system has given our processor to somebody else, who wants it.
//
// Ownership: the connection's reader.
type lookout struct {
	// Fixed after construction.
	limit time.Duration // the longest that is looked; 0: never
	all   *lookers
	clock func() time.Duration

	since   time.Duration // when this wait began; 0: it has not
	last    time.Duration // the last look
	promise bool          // the last wait was a short one
	looking bool          // counted in all
}

// lookers counts the connections of a server that look.
type lookers struct {
	max int32 // fixed
	now atomic.Int32
}

// sinceStart is the clock of lookouts. Its origin does not matter, but that no time is 0.
func sinceStart() time.Duration { return time.Since(start) }

var start = time.Now().Add(-time.Second)

// again is told that a look found nothing. It reports whether to look again at once.
func (w *lookout) again() bool {
	if w.limit == 0 {
		return false
	}
	now := w.clock()
	if w.since == 0 {
		w.since, w.last = now, now
		w.looking = w.promise && w.all.enter()
		return w.looking
	}
	if !w.looking {
		return false
	}
	if now-w.since >= w.limit || now-w.last >= lookGap {
		w.rest()
		return false
	}
	for w.last = now; w.last < now+lookPause; w.last = w.clock() {
	}
	return true
}

// over is told that there is input.
func (w *lookout) over() {
	if w.since == 0 {
		return
	}
	w.promise = w.clock()-w.since < w.limit+wakeTime
	w.since = 0
	w.rest()
}

// rest ends the looking.
func (w *lookout) rest() {
	if w.looking {
		w.looking = false
		w.all.now.Add(-1)
	}
}

// enter counts one in, unless there are as many as there may be.
func (l *lookers) enter() bool {
	if l.now.Add(1) > l.max {
		l.now.Add(-1)
		return false
	}
	return true
}
