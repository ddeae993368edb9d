package high

import (
	"context"
	"fmt"
	"time"

	"minisrp/convert/low"
	"minisrp/verbs/dispatch"
)

type fast struct{ n uint64 }

func (u fast) Blocks() uint64           { return u.n }
func (u fast) Ready() bool              { return u.n > 0 }
func (u fast) Submit(f *dispatch.Frame) {}

type slow struct {
	fast
	ch chan int
}

func (u *slow) Ready() bool { return <-u.ch > 0 } // want Ready:"blocks"

type closing struct{ fast }

//level:passive
func (closing) Ready() bool { return true } // want Ready:"passive"

type bare interface {
	Blocks() uint64
	Ready() bool
	Submit(f *dispatch.Frame)
}

func objects(d *low.Device, b bare, any any) low.Unit { // want objects:"blocks"
	d.Attach(fast{})
	d.Attach(&fast{})
	d.Attach(&slow{})     // want `\[convert\] slow.Ready blocks \(high.go:\d+: receives from a channel.*\) and implements low.Unit.Ready, which is called at Dispatch`
	d.Attach(&low.Slow{}) // want `\[convert\] low.Slow.Blocks blocks`
	d.Attach(closing{})   // want `\[convert\] closing.Ready is passive and implements low.Unit.Ready`
	d.Attach(b)           // want `\[convert\] bare.Blocks bears no mark and implements low.Unit.Blocks`
	d.Attach(nil)
	var u low.Unit = fast{}
	u = &slow{}                           // want `\[convert\] slow.Ready blocks`
	_ = []low.Unit{fast{}, &slow{}}       // want `\[convert\] slow.Ready blocks`
	_ = map[string]low.Unit{"a": &slow{}} // want `\[convert\] slow.Ready blocks`
	_ = struct{ u low.Unit }{&slow{}}     // want `\[convert\] slow.Ready blocks`
	ch := make(chan low.Unit, 1)
	ch <- &slow{}         // want `\[convert\] slow.Ready blocks`
	_ = low.Unit(&slow{}) // want `\[convert\] slow.Ready blocks`
	x, err := pair()      // the results are not converted
	u, err = pair()       // want `\[convert\] slow.Ready blocks`
	_, _ = x, err
	_ = any.(low.Unit) // want `\[convert\] what implements low.Unit.Blocks, which is called at Dispatch, is not known here`
	switch any.(type) {
	case low.Unit: // want `\[convert\] what implements low.Unit.Blocks`
	case submitter: // has the frame in its signature
	}
	d.Attach(u)
	return &slow{} // want `\[convert\] slow.Ready blocks`
}

type submitter interface{ Submit(f *dispatch.Frame) }

func pair() (*slow, error) { return nil, nil }

var _ low.Unit = (*slow)(nil) // want `\[convert\] slow.Ready blocks`

//level:dispatch
type tick func() time.Duration // want tick:"dispatch"

type sender struct{ ch chan int }

func (s *sender) send()  { s.ch <- 1 } // want send:"blocks"
func (s *sender) count() { s.ch = nil }

//level:passive
func (s *sender) close() {} // want close:"passive"

func withContext(ctx context.Context) {}

func functions(d *low.Device, s *sender, ch chan int, unknown func()) {
	d.Register(func() {
		<-ch // want `\[channel\] at Dispatch: receives from a channel`
	}, func() {
		ch <- 1 // want `\[channel\] at Dispatch: sends on a channel`
	})
	d.Register(s.count)
	d.Register(s.send)  // want `\[convert\] sender.send blocks \(high.go:\d+: sends on a channel.*\) and becomes a function that is called at Dispatch`
	d.Register(s.close) // want `\[convert\] sender.close is passive and becomes`
	d.Register(nil)
	d.Register(unknown)           // want `\[convert\] unknown becomes a function that is called at Dispatch, and neither`
	d.Register(low.Hook(unknown)) // want `\[convert\] unknown becomes a function`
	d.OnIdle = unknown            // want `\[convert\] unknown becomes a function`
	d.OnIdle = s.send             // want `\[convert\] sender.send blocks`
	d.OnIdle = d.Hooks[0]
	_ = low.Device{OnIdle: func() {
		fmt.Println() // want `\[std\] at Dispatch: calls fmt.Println`
	}}
	later := func() { <-ch } // want `\[channel\] at Dispatch: receives from a channel`
	d.OnIdle = later
}

func clock(base time.Time) {
	var t tick = func() time.Duration {
		return time.Since(base) // want `\[std\] at Dispatch: calls time.Since`
	}
	_ = t
}

type linked[T any] interface {
	*T

	//level:dispatch
	next() *T // want next:"dispatch"
}

type list[T any, P linked[T]] struct{ head P }

type good struct{ link *good }

func (g *good) next() *good { return g.link }

type bad struct{ ch chan *bad }

func (b *bad) next() *bad { return <-b.ch } // want next:"blocks"

func push[T any, P linked[T]](p P) { pushed[T](p) }

func pushed[T any, P linked[T]](p P) {}

var (
	_ list[good, *good]
	_ list[bad, *bad] // want `\[convert\] bad.next blocks`
)

func instances() {
	push(&good{})
	push(&bad{}) // want `\[convert\] bad.next blocks`
}

// Within a generic function the type parameter is taken at its word.
func turned[T any, P linked[T]](p *T) P { return P(p) }

type abandoner interface {
	//level:dispatch
	abandon() // want abandon:"dispatch"
}

type waiter interface {
	//level:dispatch
	wait() // want wait:"dispatch"
}

func (g *good) abandon() {}

func (b *bad) wait() { <-b.ch } // want wait:"blocks"

// What is not exported is implemented only here.
func asserts(v any) {
	_ = v.(abandoner)
	_ = v.(waiter) // want `\[convert\] bad.wait blocks .* and can implement waiter.wait`
}
