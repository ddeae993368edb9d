package passive

import (
	"context"

	"minisrp/verbs/dispatch"
)

type conn struct {
	wait func(ctx context.Context) error

	//level:passive
	hang func() // want hang:"passive"
}

func (c *conn) Login(ctx context.Context) error { return nil }

//level:passive
func (c *conn) Close() {} // want Close:"passive"

type session interface {
	Wait(ctx context.Context) error

	//level:passive
	Close() // want Close:"passive"
}

func calls(f *dispatch.Frame, c *conn, s session) {
	c.Login(nil)     // want `\[passive\] at Dispatch: calls conn.Login, which is passive`
	defer c.Close()  // want `\[passive\] at Dispatch: calls conn.Close, which is passive`
	(*conn).Close(c) // want `\[passive\] at Dispatch: calls conn.Close, which is passive`
	s.Wait(nil)      // want `\[passive\] at Dispatch: calls session.Wait, which is passive`
	s.Close()        // want `\[passive\] at Dispatch: calls session.Close, which is passive`
	c.wait(nil)      // want `\[passive\] at Dispatch: calls c.wait, which is passive`
	c.hang()         // want `\[passive\] at Dispatch: calls c.hang, which is passive`
	local := func(ctx context.Context) {}
	local(nil)        // want `\[passive\] at Dispatch: calls the function literal at passive.go:\d+, which is passive`
	generic[int](nil) // want `\[passive\] at Dispatch: calls generic, which is passive`
}

func generic[T any](ctx context.Context) {}

// Dispatch code calls Dispatch code, and Passive code calls either.
func fine(f *dispatch.Frame, c *conn) { again(f, c) }

func again(f *dispatch.Frame, c *conn) {}

func passive(ctx context.Context, c *conn) {
	c.Login(ctx)
	c.Close()
	c.hang()
}
