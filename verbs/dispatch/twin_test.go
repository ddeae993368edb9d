//go:build leveltwin

package dispatch_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"minisrp/verbs/dispatch"
)

// panics runs fn and holds that it panics with a text.
func panics(t *testing.T, want string, fn func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if text, ok := recover().(string); !ok || !strings.Contains(text, want) {
			t.Errorf("panic %q, want one with %q", text, want)
		}
	}()
	fn()
}

// atDispatch runs fn on a raised frame.
func atDispatch(fn func(p *dispatch.Processor, f *dispatch.Frame)) {
	p := dispatch.NewManual("p")
	f := new(dispatch.Frame)
	p.Raise(f)
	defer f.Lower()
	fn(p, f)
}

func TestTwinPassiveAtDispatch(t *testing.T) {
	worker := dispatch.NewManualWorker()
	mu := new(dispatch.Mutex[dispatch.RankKeys])
	other := dispatch.NewManual("other")
	for name, test := range map[string]struct {
		reached string
		fn      func()
	}{
		"worker": {"dispatch.(*Worker).pop", func() { worker.RunOne() }},
		"close":  {"dispatch.(*Worker).Close", worker.Close},
		"mutex":  {"dispatch.(*Mutex[...]).Lock", mu.Lock},
		"call":   {"dispatch.(*Processor).Call", func() { other.Run(func(*dispatch.Frame) {}) }},
		"assert": {"dispatch_test.passive", passive},
	} {
		t.Run(name, func(t *testing.T) {
			atDispatch(func(*dispatch.Processor, *dispatch.Frame) {
				panics(t, test.reached, test.fn)
				panics(t, "was reached at Dispatch, on p", test.fn)
			})
			if name != "mutex" && name != "call" {
				test.fn() // and may be called again below it
			}
		})
	}
	atDispatch(func(*dispatch.Processor, *dispatch.Frame) {
		panics(t, "dispatch_test.raises", func() { raises(other) })
		panics(t, "at Dispatch on p, raised again, on other", func() { raises(other) })
	})
}

func passive() { dispatch.AssertPassive() }

func raises(p *dispatch.Processor) { p.Raise(new(dispatch.Frame)) }

// A DPC is at Dispatch on whatever goroutine it runs.
func TestTwinPassiveInDPC(t *testing.T) {
	p := dispatch.NewManual("p")
	var d dispatch.DPC
	ran := false
	d.Init(p, func(f *dispatch.Frame) {
		ran = true
		panics(t, "the Passive function dispatch_test.passive", passive)
		f.Assert()
	})
	d.Post()
	p.RunUntilIdle()
	if !ran {
		t.Fatal("the DPC did not run")
	}
	dispatch.AssertPassive()
}

func TestTwinFrame(t *testing.T) {
	var d dispatch.DPC
	var kept *dispatch.Frame
	atDispatch(func(p *dispatch.Processor, f *dispatch.Frame) {
		d.Init(p, func(*dispatch.Frame) {})
		kept = f
		done := make(chan struct{})
		go func() {
			defer close(done)
			panics(t, "used by another goroutine", func() { d.Queue(f) })
			panics(t, "used by another goroutine", func() { f.On(p) })
		}()
		<-done
		d.Queue(f)
	})
	panics(t, "a frame that is not raised is used by dispatch.(*DPC).Queue", func() { d.Queue(kept) })
	panics(t, "a frame that is not raised is used by dispatch.(*Frame).Now", func() { kept.Now() })
}

func TestTwinNesting(t *testing.T) {
	atDispatch(func(_ *dispatch.Processor, f *dispatch.Frame) {
		f.Completing(dispatch.LayerDisk)
		f.Completing(dispatch.LayerPort) // another layer's, which it is made of
		f.Starting(dispatch.LayerDisk)   // the next request of a chain
		f.Started(dispatch.LayerDisk)
		panics(t, "a completion of scsi/disk within a completion, told by dispatch_test.tells", func() { tells(f, dispatch.LayerDisk) })
		f.Completed(dispatch.LayerPort)
		f.Completed(dispatch.LayerDisk)

		f.Starting(dispatch.LayerPort)
		panics(t, "a completion of miniport within the call that started it, told by dispatch_test.tells", func() { tells(f, dispatch.LayerPort) })
		f.Started(dispatch.LayerPort)
		f.Completing(dispatch.LayerPort)
		f.Completed(dispatch.LayerPort)
	})
}

func tells(f *dispatch.Frame, l dispatch.Layer) { f.Completing(l) }

func locks(l sync.Locker) { l.Lock() }

func TestTwinRanks(t *testing.T) {
	var low dispatch.Mutex[dispatch.RankPort]
	var high, same dispatch.Mutex[dispatch.RankWorker]
	low.Lock()
	high.Lock()
	panics(t, "a lock of rank 90 is taken while one of rank 90 is held, in dispatch_test.locks (called by ", func() { locks(&same) })
	high.Unlock()
	low.Unlock()
	high.Lock()
	panics(t, "a lock of rank 10 is taken while one of rank 90 is held, in dispatch_test.locks (called by ", func() { locks(&low) })
	if !low.TryLock() { // does not wait, and so closes no circle
		t.Fatal("nobody holds it")
	}
	low.Unlock()
	high.Unlock()
	low.Lock()
	low.Unlock()
}

type slow struct{}

func (s *slow) RunDPC(*dispatch.Frame) { time.Sleep(20 * time.Millisecond) }

// Time stands still in the bubble but for what sleeps in it.
func TestTwinTimes(t *testing.T) { synctest.Test(t, testTimes) }

func testTimes(t *testing.T) {
	p := dispatch.NewManual("p")
	if times := p.Times(); times.Who != "" || times.Percentile(1) != 0 {
		t.Errorf("before anything has run: %+v", times)
	}
	var quick, long dispatch.DPC
	quick.Init(p, func(*dispatch.Frame) {})
	long.InitRunner(p, new(slow))
	for range 100 {
		quick.Post()
		p.RunUntilIdle()
	}
	long.Post()
	p.RunUntilIdle()
	times := p.Times()
	if times.Who != "*dispatch_test.slow" || times.Worst != 20*time.Millisecond {
		t.Errorf("worst is %s, %s", times.Who, times.Worst)
	}
	var n uint64
	for _, k := range times.Took {
		n += k
	}
	if n != 101 || times.Percentile(1) < times.Worst {
		t.Errorf("%d DPCs counted, maximum %s", n, times.Percentile(1))
	}

	if text := times.String(); !strings.HasPrefix(text, "101 DPCs: p50 < ") || !strings.Contains(text, "worst 20ms in *dispatch_test.slow; 100 < 1ns, 1 < 33.554432ms") {
		t.Error(text)
	}
	t.Log(times.String())

	var timer dispatch.Timer
	timer.Init(p, late)
	atFrame(p, func(f *dispatch.Frame) { timer.Arm(f, time.Second) })
	p.Advance(time.Second)
	// The DPC that fires timers takes as long as they do, and ends after them.
	if times := p.Times(); !strings.HasSuffix(times.Who, ".late") || times.Worst != 60*time.Millisecond {
		t.Errorf("worst is %s, %s", times.Who, times.Worst)
	}
}

func late(*dispatch.Frame) { time.Sleep(60 * time.Millisecond) }

func atFrame(p *dispatch.Processor, fn func(f *dispatch.Frame)) {
	var f dispatch.Frame
	p.Raise(&f)
	defer f.Lower()
	fn(&f)
}
