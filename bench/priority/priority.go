package priority

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/dispatch/token"
	"minisrp/verbs/soft"
)

// Config says what is measured.
type Config struct {
	Dir     string        // for the badger unit, on a disk
	Turns   int           // idle and loaded ones, of each
	Turn    time.Duration // how long one lasts
	Hostile bool          // the goroutines that burn CPU take no tokens
}

// Result has latencies in nanoseconds.
type Result struct {
	Idle, Loaded *hdrhistogram.Histogram
	Written      uint64 // bytes that the badger unit took in loaded turns
}

// Ratio returns the loaded latency at a percentile over the idle one.
func (r Result) Ratio(percentile float64) float64 {
	return float64(r.Loaded.ValueAtQuantile(percentile)) / float64(max(1, r.Idle.ValueAtQuantile(percentile)))
}

// String is a line for the idle turns, and one for the loaded ones.
func (r Result) String() string {
	line := func(h *hdrhistogram.Histogram) string {
		at := func(q float64) time.Duration { return time.Duration(h.ValueAtQuantile(q)).Round(100 * time.Nanosecond) }
		return fmt.Sprintf("p50 %v, p99 %v, p99.9 %v, max %v of %d", at(50), at(99), at(99.9), at(100), h.TotalCount())
	}
	return fmt.Sprintf("idle:   %s\nloaded: %s\n", line(r.Idle), line(r.Loaded))
}

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(10*time.Second), 3) }

// interval is the time from one completion to the next.
const interval = 300 * time.Microsecond

// Measure measures. It sets GOMAXPROCS as the daemon does while it runs.
//
//level:passive
func Measure(ctx context.Context, c Config) (r Result, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(token.Procs(1)))
	r = Result{Idle: newHistogram(), Loaded: newHistogram()}
	d, err := newDevice(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.close(context.WithoutCancel(ctx))) }()
	l, err := newLoad(c)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, l.close(context.WithoutCancel(ctx))) }()
	for range c.Turns {
		if err := awaitIdle(ctx); err != nil {
			return r, err
		}
		if err := d.measure(ctx, c.Turn, r.Idle); err != nil {
			return r, err
		}
		l.start(ctx)
		err := d.measure(ctx, c.Turn, r.Loaded)
		if err := errors.Join(err, l.stop()); err != nil {
			return r, err
		}
	}
	r.Written = l.written
	return r, nil
}

// awaitIdle waits until the process uses no CPU to speak of: badger goes on with what it has for a while.
func awaitIdle(ctx context.Context) error {
	const look = 100 * time.Millisecond
	used := func() time.Duration {
		var u unix.Rusage
		_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for before := used(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(look):
		}
		now := used()
		if now-before < look/20 {
			return nil
		}
		before = now
	}
}

// device stands for one that completes to a CQ.
type device struct {
	proc *dispatch.Processor
	dev  *verbs.Device
	cq   *verbs.CQ

	fired time.Time     // set before the CQ fires, read by its notification
	told  chan struct{} // capacity 1: the notification has run
	took  time.Duration // and took so long to come
}

func newDevice(ctx context.Context) (*device, error) {
	d := &device{proc: dispatch.New("priority"), told: make(chan struct{}, 1)}
	hca, err := soft.New(soft.Config{}).Plug(soft.HCAConfig{Name: "priority", GUID: 1, Addr: netip.MustParseAddr("192.0.2.1")})
	if err != nil {
		d.proc.Close()
		return nil, err
	}
	d.dev = verbs.Open(hca, d.proc, nil)
	var op verbs.Op[*verbs.CQ]
	d.dev.CreateCQ(&op, &verbs.CQAttr{Processor: d.proc, Entries: 1, Notify: d.notify})
	if d.cq, err = op.Wait(ctx); err != nil {
		return nil, errors.Join(err, d.close(ctx))
	}
	return d, nil
}

func (d *device) notify(*dispatch.Frame, *verbs.CQ) {
	//level:allow std: the clock, by which this is measured
	d.took = time.Since(d.fired)
	select {
	case d.told <- struct{}{}:
	default: // nobody fires before this one is taken
	}
}

func (d *device) close(ctx context.Context) error {
	var err error
	if d.cq != nil {
		var op verbs.Op[verbs.None]
		d.cq.Close(&op)
		_, err = op.Wait(ctx)
	}
	err = errors.Join(err, d.dev.Close(ctx))
	d.proc.Close()
	return err
}

// measure fires the CQ from a thread of its own, again and again, and records how long it takes.
func (d *device) measure(ctx context.Context, turn time.Duration, to *hdrhistogram.Histogram) error {
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for begun := time.Now(); time.Since(begun) < turn && ctx.Err() == nil; {
			wait := unix.NsecToTimespec(int64(interval))
			if err := unix.Nanosleep(&wait, nil); err != nil && !errors.Is(err, unix.EINTR) {
				failed <- fmt.Errorf("nanosleep: %w", err)
				return
			}
			d.fired = time.Now()
			d.cq.FireFromThread()
			// Back into the kernel at once, as a device's thread goes: it does not wait for its consumer.
			_ = unix.Nanosleep(&wait, nil)
			<-d.told
			if err := to.RecordValue(int64(d.took)); err != nil {
				failed <- err
				return
			}
		}
		failed <- ctx.Err()
	}()
	return <-failed
}
