package providertest

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Patience is how long a test waits for what must happen.
const Patience = 20 * time.Second

// World is the processors of a test.
type World struct {
	T      testing.TB
	Procs  []*dispatch.Processor
	manual bool
}

// NewWorld makes n processors, manual ones or with goroutines.
func NewWorld(t testing.TB, n int, manual bool) *World {
	w := &World{T: t, manual: manual}
	for i := range n {
		name := string(rune('a' + i))
		if manual {
			w.Procs = append(w.Procs, dispatch.NewManual(name))
			continue
		}
		p := dispatch.New(name)
		t.Cleanup(p.Close)
		w.Procs = append(w.Procs, p)
	}
	return w
}

// Settle runs manual processors until nothing is left.
func (w *World) Settle() {
	for busy := w.manual; busy; {
		busy = false
		for _, p := range w.Procs {
			if !p.Idle() {
				busy = true
				p.RunUntilIdle()
			}
		}
	}
}

// Advance moves the clocks of manual processors on.
func (w *World) Advance(d time.Duration) {
	w.Settle()
	for _, p := range w.Procs {
		p.Advance(d)
	}
	w.Settle()
}

// Await drives the world until done is closed.
func (w *World) Await(done <-chan struct{}) {
	w.T.Helper()
	deadline := time.Now().Add(Patience)
	for {
		w.Settle()
		select {
		case <-done:
			w.Settle()
			return
		default:
		}
		if time.Now().After(deadline) {
			w.T.Fatal("it does not end")
		}
		runtime.Gosched()
	}
}

// Result waits for an operation.
func Result[T any](w *World, op *verbs.Op[T]) (v T, err error) {
	w.T.Helper()
	done := make(chan struct{})
	op.Then(func(f *dispatch.Frame, got T, e error) {
		v, err = got, e
		close(done)
	})
	w.Await(done)
	return v, err
}

// Wait waits for an operation that must go well.
func Wait[T any](w *World, op *verbs.Op[T]) T {
	w.T.Helper()
	v, err := Result(w, op)
	if err != nil {
		w.T.Fatal(err)
	}
	return v
}

// Do starts an operation and waits for it; it must go well.
func Do[T any](w *World, start func(op *verbs.Op[T])) T {
	w.T.Helper()
	op := new(verbs.Op[T])
	start(op)
	return Wait(w, op)
}

// Try starts an operation and waits for it.
func Try[T any](w *World, start func(op *verbs.Op[T])) (T, error) {
	w.T.Helper()
	op := new(verbs.Op[T])
	start(op)
	return Result(w, op)
}

// Close closes an object, or several in turn.
func (w *World) Close(objects ...closable) {
	w.T.Helper()
	for _, o := range objects {
		if _, err := Try(w, o.Close); err != nil && !errors.Is(err, verbs.ErrClosed) {
			w.T.Error(err)
		}
	}
}

// CloseDevice closes a device, whose objects are being closed.
func (w *World) CloseDevice(d *verbs.Device) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := d.Close(ctx); err != nil {
			w.T.Error(err)
		}
	}()
	w.Await(done)
}

// Addr is the address of the HCA number i: 192.0.2.1 and on.
func Addr(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + i)}) }
