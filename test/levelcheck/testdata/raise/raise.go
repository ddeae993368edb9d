package raise

import (
	"context"
	"fmt"

	"minisrp/verbs/dispatch"
)

type conn struct {
	p  *dispatch.Processor
	f  dispatch.Frame
	ch chan int
}

func (c *conn) submit(f *dispatch.Frame) {}

func (c *conn) again(f *dispatch.Frame) {
	c.p.Raise(f) // want `\[raise\] at Dispatch: raises although it has a frame already`
	f.Lower()    // want `\[raise\] at Dispatch: lowers a frame that its caller raised`
}

func (c *conn) serve(ctx context.Context) {
	for v := range c.ch {
		c.p.Raise(&c.f)
		for range v {
			c.submit(&c.f)
			<-c.ch // want `\[channel\] at Dispatch: receives from a channel`
		}
		if v > 3 {
			fmt.Println() // want `\[std\] at Dispatch: calls fmt.Println`
		}
		select { // want `\[channel\] at Dispatch: a select without default`
		case <-c.ch:
		}
		func() {
			c.ch <- 1 // want `\[channel\] at Dispatch: sends on a channel`
		}()
		c.f.Lower()
		<-c.ch
		fmt.Println()
	}
}

func (c *conn) twice(ctx context.Context) {
	c.p.Raise(&c.f)
	c.p.Raise(&c.f) // want `\[raise\] at Dispatch: raises although`
	c.f.Lower()
}

func (c *conn) leaves(ctx context.Context, n int) error {
	c.p.Raise(&c.f)
	if n == 0 {
		return nil // want `\[raise\] returns with the frame raised`
	}
	if n == 1 {
		c.f.Lower()
		return fmt.Errorf("lowered")
	}
	if n == 2 {
		panic(fmt.Sprint("broken: ", n))
	}
	c.f.Lower()
	return nil
}

func (c *conn) falls(ctx context.Context) {
	c.p.Raise(&c.f)
} // want `\[raise\] returns with the frame raised`

func (c *conn) deferred(ctx context.Context) error {
	c.p.Raise(&c.f)
	defer c.f.Lower()
	<-c.ch // want `\[channel\] at Dispatch: receives`
	return nil
}

// raise would hand the raised frame to its caller.
func (c *conn) raise(ctx context.Context, key int) *dispatch.Frame {
	c.p.Raise(&c.f)
	return &c.f // want `\[raise\] returns with the frame raised`
}

// run takes no context, and so computes; but what raises cannot be called at Dispatch.
func (c *conn) run() { // want run:"blocks: raise.go:\\d+: raises although"
	c.p.Raise(&c.f)
	c.submit(&c.f)
	c.block() // want `\[blocks\] at Dispatch: calls conn.block`
	c.f.Lower()
	c.block()
}

func (c *conn) block() { <-c.ch } // want block:"blocks"

func (c *conn) other(f *dispatch.Frame) {
	c.run() // want `\[blocks\] at Dispatch: calls conn.run`
}
