package nbd

import (
	"testing"
	"time"
)

// Looking for input again ends with its time, when others want the processor, and when it has not been worth it.
func TestLookout(t *testing.T) {
	const limit = 50 * time.Microsecond
	all := &lookers{max: 1}
	now := time.Second
	step := time.Microsecond // that reading the clock takes
	w := lookout{limit: limit, all: all, clock: func() time.Duration { now += step; return now }}
	// wait is one wait in which the input comes after a time, and returns whether it was slept through.
	wait := func(d time.Duration) (slept bool) {
		for end := now + d; now < end; {
			if !w.again() {
				slept, now = true, max(now, end)
			}
		}
		w.over()
		return slept
	}
	for i, c := range []struct {
		after time.Duration
		slept bool
		why   string
	}{
		{limit / 2, true, "nothing is known of the client"},
		{limit / 2, false, "the last input came soon"},
		{limit / 2, false, "and so did this one"},
		{limit + wakeTime/2, true, "the time is over"},
		{limit / 2, false, "it came as late as it does when looking was just too short"},
		{time.Millisecond, true, "the time is over"},
		{limit / 2, true, "the last input came late"},
		{limit / 2, false, "the last input came soon"},
	} {
		if slept := wait(c.after); slept != c.slept {
			t.Errorf("wait %d, where %s: slept %v, want %v", i, c.why, slept, c.slept)
		}
	}
	step = lookGap
	if !wait(limit / 2) {
		t.Error("a look in which others had the processor was not the last")
	}
	step = time.Microsecond
	all.max = 0
	if wait(limit / 2); !wait(limit / 2) {
		t.Error("as many look as may, and one more does")
	}
	if n := all.now.Load(); n != 0 {
		t.Errorf("%d are counted that do not look", n)
	}
}
