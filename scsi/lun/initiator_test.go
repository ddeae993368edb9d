package lun_test

import (
	"runtime"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/verbs/dispatch"
)

// initiator sends commands to a server as a target would, but without a fabric between: it moves the data of mapped
// tasks itself, and that of others through a buffer.
type initiator struct {
	tb     testing.TB
	server *lun.Server
	nexus  lun.Nexus
	tag    uint64

	// immediate makes it hand over the data of mapped tasks too.
	immediate bool
	// piece is the size of the buffer's pieces in bytes; 0 means one piece.
	piece int
}

// newInitiator makes an initiator with a nexus of its own. The server's processor must be a manual one.
func newInitiator(tb testing.TB, s *lun.Server) *initiator { return &initiator{tb: tb, server: s} }

// at runs fn at Dispatch on the server's processor, and what that leaves to run.
func (x *initiator) at(fn func(f *dispatch.Frame)) {
	p := x.server.Processor()
	var f dispatch.Frame
	p.Raise(&f)
	fn(&f)
	f.Lower()
}

// command is one command on its way. Its fields may be changed before Prepare.
type command struct {
	lun.Task
	verdict lun.Verdict // of Prepare, or of TaskReady
	ready   bool        // TaskReady was called
	ended   int         // times that TaskDone was called
	got     []byte      // what the unit sent

	x   *initiator
	out []byte
	in  []byte
}

// command makes a command for LUN n with out as data for the unit, and room for in bytes from it.
func (x *initiator) command(n uint8, cdb []byte, out []byte, in int) *command {
	x.tag++
	c := &command{x: x, out: out}
	c.Init(x.server, c)
	c.Nexus, c.LUN, c.Tag = &x.nexus, scsi.PeripheralLUN(n), x.tag
	copy(c.CDB[:], cdb)
	c.OutLength, c.InLength = uint32(len(out)), uint32(in)
	return c
}

func (c *command) TaskReady(f *dispatch.Frame, t *lun.Task, v lun.Verdict) {
	c.ready, c.verdict = true, v
}

func (c *command) TaskDone(f *dispatch.Frame, t *lun.Task) { c.ended++ }

// prepare gives the command to the server.
func (c *command) prepare() lun.Verdict {
	c.x.at(func(f *dispatch.Frame) { c.verdict = c.x.server.Prepare(f, &c.Task) })
	return c.verdict
}

// fetch does what a target does between Prepare and Execute.
func (c *command) fetch() {
	switch {
	case c.Out > 0 && c.Mapped && !c.x.immediate:
		copy(c.Memory()[c.Window:][:c.Out], c.out)
	case c.Out > 0:
		c.Data = c.x.pieces(append([]byte(nil), c.out[:c.Out]...))
	case c.In > 0 && c.Mapped && !c.x.immediate:
	case c.In > 0:
		c.in = make([]byte, c.In)
		c.Data = c.x.pieces(c.in)
	}
}

func (x *initiator) pieces(b []byte) (p [][]byte) {
	if x.piece == 0 {
		return [][]byte{b}
	}
	for len(b) > x.piece {
		p, b = append(p, b[:x.piece:x.piece]), b[x.piece:]
	}
	return append(p, b)
}

// execute begins the command's work.
func (c *command) execute() (p lun.Progress) {
	c.x.at(func(f *dispatch.Frame) { p = c.x.server.Execute(f, &c.Task) })
	return p
}

// release takes the unit's data and lets the task go.
func (c *command) release() {
	switch {
	case c.Status != scsi.StatusGood:
	case c.in != nil:
		c.got = c.in[:c.In]
	case c.In > 0:
		c.got = append([]byte(nil), c.Memory()[c.Window:][:c.In]...)
	}
	c.x.at(func(f *dispatch.Frame) { c.x.server.Release(f, &c.Task) })
}

// wait runs the processor until done says so.
func (x *initiator) wait(done func() bool) {
	for !done() {
		x.server.Processor().RunUntilIdle()
		runtime.Gosched()
	}
}

// run brings the command from Prepare to Release.
func (c *command) run() *command {
	if c.prepare() == lun.Blocked {
		c.x.wait(func() bool { return c.ready })
	}
	if c.verdict == lun.Proceed {
		c.fetch()
		if c.execute() == lun.Pending {
			c.x.wait(func() bool { return c.ended > 0 })
		}
	}
	c.release()
	return c
}

// do runs a command for LUN n to its end.
func (x *initiator) do(n uint8, cdb []byte, out []byte, in int) *command {
	return x.command(n, cdb, out, in).run()
}

// attentions clears what a unit has to report.
func (x *initiator) attentions(n uint8) {
	x.tb.Helper()
	for range 10 {
		if x.do(n, make([]byte, 6), nil, 0).Status == scsi.StatusGood {
			return
		}
	}
	x.tb.Fatal("TEST UNIT READY fails again and again")
}

// err returns nil for GOOD, and otherwise the status and sense as an error.
func (c *command) err() error {
	if c.Status == scsi.StatusGood {
		return nil
	}
	e := &scsi.SenseError{Status: c.Status}
	if s, err := scsi.ParseSense(c.Sense()); err == nil {
		e.HasSense, e.Sense = true, s
	}
	return e
}

// good fails the test if the command did not end with GOOD.
func (c *command) good() *command {
	c.x.tb.Helper()
	if err := c.err(); err != nil {
		c.x.tb.Fatalf("%s: %v", scsi.CommandName(c.CDB[:]), err)
	}
	return c
}

// check fails the test if the command did not end with CHECK CONDITION and these codes.
func (c *command) check(key scsi.SenseKey, code scsi.ASC) *command {
	c.x.tb.Helper()
	s, err := scsi.ParseSense(c.Sense())
	if c.Status != scsi.StatusCheckCondition || err != nil || s.Key != key || s.ASC != code {
		c.x.tb.Fatalf("%s: status %v, sense %v, want %v: %v", scsi.CommandName(c.CDB[:]), c.Status, s, key, code)
	}
	return c
}
