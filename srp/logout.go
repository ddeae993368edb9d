package srp

import (
	"context"
	"time"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Logout ends the session: nothing new is taken, what is outstanding may end, for SessionConfig.LogoutTimeout at most,
// then each channel sends SRP_I_LOGOUT and disconnects; what is still outstanding ends with ChannelDown. When ctx ends
// the waiting is cut short, the rest is done all the same. When it returns nothing is left and no callback comes any
// more. A second call does nothing. Errors: of the device, when it could not give something back.
func (s *Session) Logout(ctx context.Context) error {
	if s.ended {
		return nil
	}
	s.ended = true
	timed, cancel := context.WithTimeout(ctx, s.cfg.LogoutTimeout)
	defer cancel()
	idle := make([]chan struct{}, len(s.channels))
	for i, c := range s.channels {
		idle[i] = make(chan struct{})
		c.proc.Run(func(f *dispatch.Frame) { c.leave(f, idle[i]) })
	}
	for i := range s.channels {
		until(timed, idle[i])
	}
	for i, c := range s.channels {
		idle[i] = make(chan struct{})
		c.proc.Run(func(f *dispatch.Frame) { c.part(f, idle[i]) })
	}
	timed, cancel = context.WithTimeout(ctx, partTime)
	defer cancel()
	for i := range s.channels {
		until(timed, idle[i])
	}
	for _, c := range s.channels {
		c.hangUp()
	}
	return s.dispose()
}

// partTime is how long Logout waits for SRP_I_LOGOUT to reach a target, which may have stopped posting receives.
const partTime = time.Second

func until(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// leave stops taking requests; idle is closed when what is outstanding has ended.
func (c *Channel) leave(f *dispatch.Frame, idle chan struct{}) {
	if c.state != chanUp {
		close(idle)
		return
	}
	c.state = chanLeaving
	c.idle = idle
	c.offer(f)
}

// part sends SRP_I_LOGOUT; told is closed when it is out, or cannot be.
func (c *Channel) part(f *dispatch.Frame, told chan struct{}) {
	if c.state != chanLeaving {
		close(told)
		return
	}
	c.told, c.parting, c.idle = told, true, nil
	var iu ILogout
	at := c.res.logout
	n, _ := iu.Encode(c.res.mem[at:])
	wr := &c.wrs[0]
	*wr = verbs.WR{ID: wrLogout, Op: verbs.Send, Flags: verbs.Signaled, NumSGE: 1}
	wr.SGE[0] = verbs.SGE{Addr: c.res.addr + uint64(at), Length: uint32(n), LKey: c.res.mr.LKey()}
	if _, err := c.res.qp.Post(f, c.wrs[:1]); err != nil {
		c.fail(f, DownError{Cause: CauseLogout})
	}
}

// hangUp disconnects, and waits until everything outstanding has ended.
//
//level:passive
func (c *Channel) hangUp() {
	gone := false
	c.proc.Run(func(*dispatch.Frame) { gone = c.qpClosed })
	if !gone {
		_, _ = wait(context.Background(), c.res.qp.Disconnect)
	}
	c.proc.Run(func(f *dispatch.Frame) { c.fail(f, DownError{Cause: CauseLogout}) })
	<-c.ended
}
