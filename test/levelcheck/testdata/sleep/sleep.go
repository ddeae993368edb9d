package sleep

import (
	"runtime"
	"time"

	"minisrp/verbs/dispatch"
)

func waits(f *dispatch.Frame) {
	time.Sleep(1)                   // want `\[sleep\] at Dispatch: time.Sleep`
	time.After(1)                   // want `\[sleep\] at Dispatch: time.After`
	time.AfterFunc(1, func() {})    // want `\[sleep\] at Dispatch: time.AfterFunc`
	runtime.Gosched()               // want `\[sleep\] at Dispatch: runtime.Gosched`
	_ = time.NewTimer(time.Second)  // want `\[sleep\] at Dispatch: time.NewTimer`
	_ = time.NewTicker(time.Second) // want `\[sleep\] at Dispatch: time.NewTicker`
}

func computes(f *dispatch.Frame, d time.Duration, t time.Time) (int64, bool) {
	return d.Milliseconds(), t.Add(d).Before(t)
}
