package dispatch_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"minisrp/verbs/dispatch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	p := dispatch.NewManual("example")
	var d dispatch.DPC
	d.Init(p, func(f *dispatch.Frame) { fmt.Println("completed") })

	var f dispatch.Frame
	p.Raise(&f)
	d.Queue(&f)
	fmt.Println("started")
	f.Lower()
	// Output:
	// started
	// completed
}

// A DPC that is queued twice before it runs, runs once.
func TestDPCCoalesces(t *testing.T) {
	p := dispatch.NewManual("p")
	n := 0
	var d dispatch.DPC
	d.Init(p, func(*dispatch.Frame) { n++ })
	d.Post()
	d.Post()
	p.RunUntilIdle()
	if n != 1 {
		t.Fatalf("ran %d times, queued twice before it ran", n)
	}
	d.Post()
	p.RunUntilIdle()
	if n != 2 {
		t.Fatalf("ran %d times after it was queued again", n)
	}
}

// What is queued from within a DPC runs after it, not inside it.
func TestDPCNeverNests(t *testing.T) {
	p := dispatch.NewManual("p")
	depth, most, left := 0, 0, 1000
	var d dispatch.DPC
	d.Init(p, func(f *dispatch.Frame) {
		depth++
		most = max(most, depth)
		if left--; left > 0 {
			d.Queue(f)
		}
		depth--
	})
	d.Post()
	p.RunUntilIdle()
	if most != 1 || left != 0 {
		t.Fatalf("depth %d, %d left", most, left)
	}
}

// DPCs run in the order in which they were queued.
func TestQueueOrder(t *testing.T) {
	p := dispatch.NewManual("p")
	var got []int
	ds := make([]dispatch.DPC, 100)
	for i := range ds {
		ds[i].Init(p, func(*dispatch.Frame) { got = append(got, i) })
	}
	for i := range ds {
		ds[i].Post()
	}
	p.RunUntilIdle()
	for i, g := range got {
		if i != g {
			t.Fatalf("place %d ran DPC %d", i, g)
		}
	}
}

func TestTimersInOrderAndCancelled(t *testing.T) {
	p := dispatch.NewManual("p")
	var got []time.Duration
	ts := make([]dispatch.Timer, 5)
	for i, d := range []time.Duration{30, 10, 20, 10, 40} {
		ts[i].Init(p, func(f *dispatch.Frame) { got = append(got, f.Now()) })
		var f dispatch.Frame
		p.Raise(&f)
		ts[i].Arm(&f, d*time.Millisecond)
		f.Lower()
	}
	var f dispatch.Frame
	p.Raise(&f)
	if !ts[2].Cancel(&f) || ts[2].Cancel(&f) {
		t.Error("cancel of an armed timer, then of a cancelled one, want true, false")
	}
	ts[0].Arm(&f, 5*time.Millisecond) // armed again, earlier
	f.Lower()
	p.Advance(time.Second)
	want := []time.Duration{5, 10, 10, 40}
	if len(got) != len(want) {
		t.Fatalf("fired at %v", got)
	}
	for i := range want {
		if got[i] != want[i]*time.Millisecond {
			t.Fatalf("fired at %v, want %v ms", got, want)
		}
	}
}

// A timer that arms itself, due at once, lets what is queued run in between.
func TestTimerArmsItself(t *testing.T) {
	p := dispatch.NewManual("p")
	fired, between := 0, 0
	var other dispatch.DPC
	other.Init(p, func(*dispatch.Frame) { between++ })
	var tm dispatch.Timer
	tm.Init(p, func(f *dispatch.Frame) {
		if between != fired {
			t.Fatalf("fired %d times, and the DPC that each firing queues ran %d times", fired, between)
		}
		other.Queue(f)
		if fired++; fired < 100 {
			tm.Arm(f, 0)
		}
	})
	atOnce(p, func(f *dispatch.Frame) { tm.Arm(f, time.Second) })
	p.Advance(time.Second)
	if fired != 100 || between != 100 {
		t.Errorf("fired %d times, the DPC ran %d times", fired, between)
	}
}

// A timer of a processor with a goroutine fires at its deadline on the injected clock.
func TestTimerOnGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := dispatch.New("p")
		defer p.Close()
		start := time.Now()
		fired := make(chan time.Duration, 1)
		var tm dispatch.Timer
		tm.Init(p, func(*dispatch.Frame) { fired <- time.Since(start) })
		var f dispatch.Frame
		p.Raise(&f)
		tm.Arm(&f, 10*time.Second)
		tm.Arm(&f, 3*time.Second)
		f.Lower()
		if d := <-fired; d != 3*time.Second {
			t.Fatalf("fired after %v", d)
		}
	})
}

// A budget that ends passes the rest to the processor's goroutine: all of it runs.
func TestHandOff(t *testing.T) {
	p := dispatch.New("p", dispatch.WithBudget(64, time.Hour))
	var ran atomic.Int64
	done := make(chan struct{})
	const n = 10000
	ds := make([]dispatch.DPC, n)
	var f dispatch.Frame
	p.Raise(&f)
	for i := range ds {
		ds[i].Init(p, func(*dispatch.Frame) {
			if ran.Add(1) == n {
				close(done)
			}
		})
		ds[i].Queue(&f)
	}
	f.Lower()
	<-done
	p.Raise(&f)
	if s := p.Stats(&f); f.On(p) && s.Handoffs == 0 {
		t.Errorf("no hand-over in %d DPCs with a budget of 64", n)
	}
	f.Lower()
	p.Close()
}

func TestRaiseTwicePanics(t *testing.T) {
	p := dispatch.NewManual("p")
	var f dispatch.Frame
	p.Raise(&f)
	defer f.Lower()
	defer func() {
		if recover() == nil {
			t.Fatal("a frame was raised twice")
		}
	}()
	p.Raise(&f)
}

// A round of Raise, Queue and Lower allocates nothing, also through an interface.
func TestNoAllocation(t *testing.T) {
	p := dispatch.NewManual("p")
	var d dispatch.DPC
	var q interface{ Queue(*dispatch.Frame) } = &d
	d.Init(p, func(*dispatch.Frame) {})
	f := new(dispatch.Frame)
	if n := testing.AllocsPerRun(1000, func() {
		p.Raise(f)
		q.Queue(f)
		f.Lower()
	}); n != 0 {
		t.Fatalf("%v allocations a round", n)
	}
}

func TestWorkerRunsEverythingAndEnds(t *testing.T) {
	w := dispatch.NewWorker(3)
	var ran atomic.Int64
	items := make([]dispatch.Work, 500)
	for i := range items {
		items[i].Init(func(context.Context) { ran.Add(1) })
		w.Queue(&items[i])
	}
	w.Close()
	if ran.Load() != 500 {
		t.Fatalf("%d of 500 ran", ran.Load())
	}
}

// One goroutine keeps the order.
func TestWorkerOrder(t *testing.T) {
	w := dispatch.NewWorker(1)
	var got []int
	items := make([]dispatch.Work, 200)
	for i := range items {
		items[i].Init(func(context.Context) { got = append(got, i) })
	}
	for i := range items {
		w.Queue(&items[i])
	}
	w.Close()
	for i, g := range got {
		if i != g {
			t.Fatalf("place %d: item %d", i, g)
		}
	}
}

// A worker has as many goroutines as items that block, up to the most, and later one again.
func TestWorkerGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, all = 4, 6
		goroutines := func() int {
			stacks := make([]byte, 1<<20)
			return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("dispatch.(*Worker).loop("))
		}
		w := dispatch.NewWorker(most)
		synctest.Wait()
		if n := goroutines(); n != 1 {
			t.Errorf("%d goroutines before there is anything to do, want 1", n)
		}
		var begun atomic.Int64
		release := make(chan struct{})
		items := make([]dispatch.Work, all)
		for i := range items {
			items[i].Init(func(context.Context) { begun.Add(1); <-release })
		}
		for round := range 3 {
			for i := range items {
				w.Queue(&items[i])
				synctest.Wait()
				if got, want := begun.Load(), int64(min(i+1, most)); got != want {
					t.Fatalf("round %d: %d items run after %d were queued, want %d", round, got, i+1, want)
				}
			}
			for range items {
				release <- struct{}{}
			}
			synctest.Wait()
			if n := begun.Swap(0); n != all {
				t.Fatalf("round %d: %d items were begun, want %d", round, n, all)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := goroutines(); n != 1 {
				t.Errorf("round %d: %d goroutines are left, want 1", round, n)
			}
		}
		w.Close()
	})
}

func BenchmarkRaiseQueueLower(b *testing.B) {
	p := dispatch.NewManual("p")
	var d dispatch.DPC
	d.Init(p, func(*dispatch.Frame) {})
	f := new(dispatch.Frame)
	b.ReportAllocs()
	for b.Loop() {
		p.Raise(f)
		d.Queue(f)
		f.Lower()
	}
}

func atOnce(p *dispatch.Processor, fn func(f *dispatch.Frame)) {
	var f dispatch.Frame
	p.Raise(&f)
	defer f.Lower()
	fn(&f)
}
