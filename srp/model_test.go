package srp_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// TestModel drives a channel through random interleavings of commands, responses in any order, late and repeated and
// foreign ones, aborts, task management, credit changes, copies that stall, and deaths of the channel. Several things
// happen in one frame, so that they meet before anybody has polled. After each step it holds against a model:
//
//   - every request and function that was started ends exactly once, by the outcome that its history allows;
//   - the target is never sent more than it granted, and both sides count the same credits;
//   - a command that was refused is called for as soon as it could be sent;
//   - memory does not change once its command has ended.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(t, rt)
		defer m.w.close()
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			m.step()
			if m.settle(); m.over {
				return
			}
		}
		m.w.at(m.c.Fail)
		m.settle()
	})
}

type model struct {
	rt    *rapid.T
	w     *world
	c     *srp.Channel
	e     *end
	fault *stall
	over  bool
	found string
	delta int32

	reqs    []*modelRequest
	tasks   []*modelTask
	byTag   map[uint64]*modelRequest // of the commands that the target has seen
	tags    []uint64                 // the same
	unasked []uint64                 // tags of functions that the target has not answered
	sends   int                      // for the target's buffers

	given, used int  // credits
	queue       int  // QueueSize
	refused     bool // a Start was refused after the last Ready
	ready       int
}

type modelRequest struct {
	*request
	mem       []byte
	frozen    []byte // what was in mem when the command ended
	starts    int
	tag       uint64
	desc      srp.Desc
	direction srp.Direction
	seen      bool // by the target, this time
	answered  bool // the target has answered
	abandoned bool
	again     bool // start it again from Done
}

type modelTask struct {
	*task
	starts int
	sent   bool
}

func newModel(t *testing.T, rt *rapid.T) *model {
	m := &model{rt: rt, fault: &stall{}, byTag: map[uint64]*modelRequest{}}
	m.w = openWorld(t, worldConfig{fault: m.fault, noWindows: rapid.Bool().Draw(rt, "no windows")})
	m.given = rapid.IntRange(1, 6).Draw(rt, "credits")
	m.w.grant(int32(m.given))
	cfg := m.w.config()
	m.queue = rapid.IntRange(1, 5).Draw(rt, "queue")
	cfg.QueueSize, cfg.ImmediateData = m.queue, 64
	m.c, m.e = m.w.login(cfg)
	for i := range 6 {
		at := i * 256 << 10
		r := &modelRequest{request: newRequest(), mem: m.w.init.mem[at : at+200<<10]}
		switch i % 3 {
		case 0:
			r.with(srp.DataIn, m.w.init.segment(at, 100<<10))
		case 1:
			r.with(srp.DataOut, m.w.init.segment(at, 10), m.w.init.segment(at+50, 100))
		}
		r.LUN = scsi.PeripheralLUN(uint8(i)) // by which the target's commands are known again
		r.Done = func(f *dispatch.Frame, _ *srp.Request) {
			r.done++
			if r.check(m); r.again && m.c.Up(f) {
				r.again = false
				m.startOne(f, r)
			}
		}
		m.reqs = append(m.reqs, r)
	}
	for range 3 {
		m.tasks = append(m.tasks, &modelTask{task: newTask(srp.LogicalUnitReset)})
	}
	return m
}

// act is one thing that happens, drawn before the frame that it happens in.
type act struct {
	do   func(f *dispatch.Frame, n int)
	n, d int // which, and by how many credits
}

// step does up to four things in one frame.
func (m *model) step() {
	kinds := []func(f *dispatch.Frame, n int){
		m.start, m.start, m.start, m.respond, m.respond, m.respond, m.repeat, m.abandon, m.manage, m.answerTask,
		m.credit, m.write, m.write, m.stall, m.garble, m.die,
	}
	var acts []act
	for range rapid.IntRange(1, 4).Draw(m.rt, "acts") {
		acts = append(acts, act{
			rapid.SampledFrom(kinds).Draw(m.rt, "act"),
			rapid.IntRange(0, 1000).Draw(m.rt, "n"), rapid.IntRange(-1, 2).Draw(m.rt, "delta"),
		})
	}
	m.w.at(func(f *dispatch.Frame) {
		for _, a := range acts {
			m.delta = int32(a.d)
			a.do(f, a.n)
		}
	})
}

// wrong notes a finding inside a frame, where nothing may panic.
func (m *model) wrong(format string, args ...any) {
	if m.found == "" {
		m.found = fmt.Sprintf(format, args...)
	}
}

func (m *model) start(f *dispatch.Frame, n int) {
	r := m.reqs[n%len(m.reqs)]
	if r.Outstanding() {
		return
	}
	r.again = n%3 == 0
	m.startOne(f, r)
}

func (m *model) startOne(f *dispatch.Frame, r *modelRequest) {
	r.frozen = nil
	before := m.c.Credits(f)
	switch err := m.c.Start(f, &r.Request); err {
	case nil:
		for _, o := range m.reqs {
			if before < 2 && o.starts > o.done && !o.answered && !o.abandoned {
				m.wrong("a command took the last of several credits")
			}
		}
		r.starts++
		r.seen, r.answered, r.abandoned = false, false, false
	case srp.ErrBusy:
		m.refused, m.ready = true, m.w.ready
	case srp.ErrDown:
		if m.c.Up(f) {
			m.wrong("an up channel says that it is down")
		}
	default:
		m.wrong("%v", err)
	}
}

// send posts an IU of the target's, which may be any bytes.
func (m *model) send(f *dispatch.Frame, b []byte) {
	at := sendOff + m.sends%32*512
	m.sends++
	copy(m.w.target.mem[m.e.off+at:], b)
	m.e.qp.Post(f, []verbs.WR{{ID: 1, Op: verbs.Send, Flags: verbs.Signaled, NumSGE: 1, SGE: [4]verbs.SGE{m.e.sge(at, len(b))}}})
}

func (m *model) sendIU(f *dispatch.Frame, iu encoder) {
	b := make([]byte, 512)
	k, err := iu.Encode(b)
	if err != nil {
		m.wrong("%v", err)
	}
	m.send(f, b[:k])
}

// gives is the target's part of the credits in the IU that it is about to send.
func (m *model) gives() int32 {
	m.given += int(m.delta)
	return m.delta
}

// outstanding are the commands that the target could answer.
func (m *model) outstanding() (rs []*modelRequest) {
	for _, r := range m.reqs {
		if r.seen && !r.answered {
			rs = append(rs, r)
		}
	}
	return rs
}

func (m *model) respond(f *dispatch.Frame, n int) {
	rs := m.outstanding()
	if len(rs) == 0 {
		return
	}
	r := rs[n%len(rs)]
	r.answered = true
	m.sendIU(f, &srp.Response{Tag: r.tag, RequestLimitDelta: m.gives()})
}

// repeat sends a response that nobody waits for, or waits for no more.
func (m *model) repeat(f *dispatch.Frame, n int) {
	tag := uint64(n) << 40
	if len(m.tags) > 0 && n%4 != 0 {
		tag = m.tags[n%len(m.tags)]
	}
	if r := m.byTag[tag]; r != nil && r.tag == tag && !r.answered {
		return
	}
	m.sendIU(f, &srp.Response{Tag: tag, RequestLimitDelta: m.gives()})
}

func (m *model) abandon(f *dispatch.Frame, n int) {
	r := m.reqs[n%len(m.reqs)]
	r.abandoned = r.abandoned || r.Outstanding()
	m.c.Abandon(f, &r.Request)
}

func (m *model) manage(f *dispatch.Frame, n int) {
	t := m.tasks[n%len(m.tasks)]
	if t.starts > t.done {
		return
	}
	if err := m.c.Manage(f, &t.TaskRequest); err == nil {
		t.starts++
	} else if err != srp.ErrDown || m.c.Up(f) {
		m.wrong("%v", err)
	}
}

func (m *model) answerTask(f *dispatch.Frame, n int) {
	if len(m.unasked) == 0 {
		return
	}
	rsp := srp.Response{Tag: m.unasked[0], RequestLimitDelta: m.gives()}
	m.unasked = m.unasked[1:]
	rsp.SetResponseCode(srp.ResponseComplete)
	m.sendIU(f, &rsp)
}

func (m *model) credit(f *dispatch.Frame, n int) {
	if n%2 == 0 {
		m.sendIU(f, &srp.AERReq{RequestLimitDelta: m.gives()})
	} else {
		m.sendIU(f, &srp.CredReq{RequestLimitDelta: m.gives()})
	}
}

// write is the target's RDMA for a command, which may have been given up.
func (m *model) write(f *dispatch.Frame, n int) {
	rs := m.outstanding()
	if len(rs) == 0 {
		return
	}
	r := rs[n%len(rs)]
	if r.direction != srp.DataIn {
		return
	}
	fill(m.w.target.mem[dataOff:][:r.desc.Len], m.sends)
	m.e.qp.Post(f, []verbs.WR{{
		ID: 2, Op: verbs.Write, Flags: verbs.Signaled, Key: r.desc.RKey, RemoteAddr: r.desc.Addr, NumSGE: 1,
		SGE: [4]verbs.SGE{{Addr: m.w.target.base + dataOff, Length: r.desc.Len, LKey: m.w.target.mr.LKey()}},
	}})
}

func (m *model) stall(f *dispatch.Frame, n int) { m.fault.on = !m.fault.on }

// garble sends what no target may, seldom.
func (m *model) garble(f *dispatch.Frame, n int) {
	if n < 100 {
		m.send(f, bytes.Repeat([]byte{byte(n), 0xc1, byte(n * 3)}, n/3))
	}
}

// die ends the channel in one of the ways that there are, seldom.
func (m *model) die(f *dispatch.Frame, n int) {
	switch n / 50 {
	case 0:
		m.c.Fail(f)
	case 1:
		m.sendIU(f, &srp.TLogout{Reason: srp.LogoutNoReason})
	case 2:
		op := new(verbs.Op[verbs.None])
		m.e.qp.Disconnect(op)
		op.Forget()
	}
}

// settle looks at what has come of a step.
func (m *model) settle() {
	if !m.fault.on {
		m.w.fabric.Resume()
	}
	m.w.p.RunUntilIdle()
	m.target()
	if m.found != "" {
		m.rt.Fatal(m.found)
	}
	up := false
	m.w.at(func(f *dispatch.Frame) { up = m.c.Up(f) })
	if !up {
		down := func() bool { return len(m.w.events) > 0 && m.w.events[len(m.w.events)-1][:4] == "down" }
		m.w.until("the channel is down", down)
		m.target()
		m.over = true
	}
	if m.found != "" {
		m.rt.Fatal(m.found)
	}
	for i, r := range m.reqs {
		m.request(i, r, up)
	}
	if m.over {
		// What was stalled goes on, and must find nothing.
		m.fault.on = false
		m.w.fabric.Resume()
		m.w.p.RunUntilIdle()
		for i, r := range m.reqs {
			m.request(i, r, up)
		}
	}
	for i, t := range m.tasks {
		if t.done > t.starts || t.done < t.starts-1 || !up && t.done != t.starts {
			m.rt.Fatalf("function %d: started %d times, ended %d", i, t.starts, t.done)
		}
	}
	if up && !m.fault.on {
		m.credits()
	}
}

// target takes what the target has received.
func (m *model) target() {
	for ; len(m.e.got) > 0; m.e.got = m.e.got[1:] {
		b := m.e.got[0]
		switch op, tag, _ := srp.Peek(b); op {
		case srp.OpCommand:
			m.used++
			m.arrived(tag, b)
		case srp.OpTaskManagement:
			m.used++
			m.unasked = append(m.unasked, tag)
		case srp.OpCredRsp, srp.OpAERRsp:
		default:
			m.rt.Fatalf("the target received %v", op)
		}
	}
}

// arrived finds the request that a command is of, by its memory or order.
func (m *model) arrived(tag uint64, b []byte) {
	var cmd srp.Command
	if err := cmd.Decode(b, 68); err != nil {
		m.rt.Fatal(err)
	}
	if m.byTag[tag] != nil {
		m.rt.Fatalf("tag %#x was used before", tag)
	}
	want := srp.NoData
	switch {
	case cmd.DataIn.Format != 0:
		want = srp.DataIn
	case cmd.DataOut.Format != 0:
		want = srp.DataOut
	}
	i := int(cmd.LUN[1])
	r := m.reqs[i]
	if r.Direction != want {
		m.rt.Fatalf("request %d: came as %+v", i, cmd)
	}
	r.tag, r.desc, r.direction, r.seen = tag, cmd.DataIn.Desc, want, true
	m.byTag[tag] = r
	m.tags = append(m.tags, tag)
}

// request holds a request against its history.
func (m *model) request(i int, r *modelRequest, up bool) {
	if r.done > r.starts || r.done < r.starts-1 {
		m.rt.Fatalf("request %d: started %d times, ended %d", i, r.starts, r.done)
	}
	ended := r.done == r.starts
	if !up && !ended {
		m.rt.Fatalf("request %d has not ended with its channel", i)
	}
	if !ended || r.starts == 0 {
		if up && !m.fault.on && (r.answered || r.abandoned) {
			m.rt.Fatalf("request %d: answered %v, given up %v, and goes on", i, r.answered, r.abandoned)
		}
		return
	}
	if r.frozen == nil {
		r.frozen = bytes.Clone(r.mem)
	} else if !bytes.Equal(r.frozen, r.mem) {
		m.rt.Fatalf("request %d: its memory has changed after its end", i)
	}
}

// check holds an outcome against the request's history.
func (r *modelRequest) check(m *model) {
	ok := false
	switch r.Outcome {
	case srp.Completed:
		ok = r.answered
	case srp.Aborted:
		ok = r.abandoned
	case srp.ChannelDown:
		ok = len(m.w.events) == 0 || m.w.events[len(m.w.events)-1][:4] != "down"
	}
	if !ok {
		m.wrong("answered %v, given up %v, events %q, ended with %v", r.answered, r.abandoned, m.w.events, r.Outcome)
	}
}

// credits holds the channel's count against the model's, and that nobody is left waiting.
func (m *model) credits() {
	have := m.given - m.used
	pending, waiting := len(m.unasked), 0
	for _, r := range m.reqs {
		if r.done < r.starts {
			pending++
		}
	}
	for _, t := range m.tasks {
		waiting += t.starts - t.done
	}
	waiting -= len(m.unasked)
	m.w.at(func(f *dispatch.Frame) {
		if got := m.c.Credits(f); got != have {
			m.wrong("%d credits, want %d", got, have)
		}
		if waiting > 0 && have > 0 {
			m.wrong("%d functions wait for %d credits", waiting, have)
		}
		spare := 0
		if have+pending > 1 {
			spare = 1
		}
		if m.refused && m.ready == m.w.ready && m.c.Outstanding(f) < m.queue && have > spare && waiting == 0 {
			m.wrong("a refused command is not called for")
		}
	})
	if m.found != "" {
		m.rt.Fatal(m.found)
	}
}
