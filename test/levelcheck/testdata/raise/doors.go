package raise

import (
	"context"

	"minisrp/verbs/dispatch"
)

// Both doors are called in one function, on one frame, and in its own statements.

func (c *conn) some(ctx context.Context, now bool) {
	if now {
		c.p.Raise(&c.f)
	}
	<-c.ch // want `\[raise\] the frame is raised on some ways that lead here` `\[channel\] at Dispatch: receives`
	if now {
		c.f.Lower()
	}
} // want `\[raise\] returns with the frame raised` `\[raise\] the frame is raised on some ways`

func (c *conn) turns(ctx context.Context, n int) {
	for i := 0; i < n; i++ { // want `\[raise\] the frame is raised on some ways`
		<-c.ch          // want `\[channel\] at Dispatch: receives`
		c.p.Raise(&c.f) // want `\[raise\] at Dispatch: raises although`
	}
	c.f.Lower()
}

func (c *conn) lowers(ctx context.Context) {
	c.f.Lower() // want `\[raise\] lowers a frame that this function did not raise`
}

func (c *conn) raises(ctx context.Context) {
	c.p.Raise(&c.f)
	c.lowers(ctx) // want `\[passive\] at Dispatch: calls conn.lowers`
} // want `\[raise\] returns with the frame raised`

func (c *conn) deferredOnly(ctx context.Context) { // want `\[raise\] defers Lower, and does not call Raise`
	defer c.f.Lower()
}

func (c *conn) deferredRaise(ctx context.Context) {
	defer c.p.Raise(&c.f) // want `\[raise\] defers Raise`
}

func (c *conn) deferredInside(ctx context.Context) {
	c.p.Raise(&c.f)
	defer func() {
		c.f.Lower()
	}()
	c.submit(&c.f)
}

func (c *conn) values(ctx context.Context) {
	up, down := c.p.Raise, c.f.Lower // want `\[convert\] dispatch.Processor.Raise is passive` `\[raise\] takes dispatch.Processor.Raise as a value` `\[raise\] takes dispatch.Frame.Lower as a value`
	up(&c.f)                         // want `\[raise\] hands on a frame that is not raised here`
	<-c.ch
	down()
}

func (c *conn) inside(ctx context.Context) {
	func() {
		c.p.Raise(&c.f) // want `\[raise\] calls dispatch.Processor.Raise in a function literal`
	}()
	<-c.ch
}

type raiser interface{ Raise(f *dispatch.Frame) }
type lowerer interface{ Lower() }
type both struct {
	*dispatch.Processor
	dispatch.Frame
}

func (c *conn) interfaces(ctx context.Context, b *both) {
	var up raiser = c.p     // want `\[raise\] dispatch.Processor.Raise is called through an interface`
	var down lowerer = &c.f // want `\[raise\] dispatch.Frame.Lower is called through an interface`
	up = b                  // want `\[raise\] dispatch.Processor.Raise is called through an interface`
	_, _ = up, down
}

// What is promoted is the same door.
func (c *conn) promoted(ctx context.Context, b *both) {
	b.Raise(&b.Frame)
	<-c.ch // want `\[channel\] at Dispatch: receives`
	b.Lower()
	<-c.ch
}

func (c *conn) handsOn(ctx context.Context) {
	var f dispatch.Frame
	c.submit(&f) // want `\[raise\] hands on a frame that is not raised here`
	c.p.Raise(&c.f)
	c.submit(&c.f)
	c.submit(&f) // want `\[raise\] hands on a frame that is not the one raised here`
	c.f.Lower()
	c.submit(&c.f) // want `\[raise\] hands on a frame that is not raised here`
}

var kept *dispatch.Frame

type keeper struct {
	f     *dispatch.Frame
	later func(f *dispatch.Frame)
}

func (k *keeper) keeps(f *dispatch.Frame, frames chan *dispatch.Frame, c *conn) {
	k.f = f                  // want `\[raise\] at Dispatch: keeps a frame`
	kept = f                 // want `\[raise\] at Dispatch: keeps a frame`
	_ = keeper{f: f}         // want `\[raise\] at Dispatch: keeps a frame`
	_ = []*dispatch.Frame{f} // want `\[raise\] at Dispatch: keeps a frame`
	select {
	case frames <- f: // want `\[raise\] at Dispatch: keeps a frame`
	default:
	}
	k.later = func(g *dispatch.Frame) {
		c.submit(f) // want `\[raise\] at Dispatch: uses a frame of the function around it`
		c.submit(g)
	}
	g := f
	c.submit(g)
}

func (c *conn) forever(ctx context.Context) {
	c.p.Raise(&c.f)
	select {} // want `\[channel\] at Dispatch: a select without default`
}
