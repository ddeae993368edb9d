package srp_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a fabric with an initiator's HCA and a target whose every step the test makes, all on one manual processor:
// nothing happens unless the test runs it.
type world struct {
	t      testing.TB
	manual bool
	p      *dispatch.Processor
	fabric *soft.Fabric
	init   *host
	target *target
	sess   *srp.Session

	events []string
	ready  int
}

// host is an HCA with memory.
type host struct {
	w    *world
	dev  *verbs.Device
	pd   *verbs.PD
	mem  []byte
	base uint64
	mr   *verbs.MR
	a    *arena.Arena
}

const hostMem = 4 << 20

var (
	targetAddr = netip.MustParseAddrPort("192.0.2.2:5555")
	initiator  = srp.IOClassR16a.PortID(1, 2)
	targetID   = srp.IOClassR16a.PortID(3, 4)
)

type worldConfig struct {
	noWindows bool
	fault     soft.Fault
	logins    int                 // QPs that the target has for logins; 0 means 1
	processor *dispatch.Processor // of devices and target; nil means a manual one
}

func newWorld(t testing.TB, wc worldConfig) *world {
	w := openWorld(t, wc)
	t.Cleanup(w.close)
	return w
}

// openWorld is newWorld for those who close it themselves.
func openWorld(t testing.TB, wc worldConfig) *world {
	w := &world{t: t, p: wc.processor, fabric: soft.New(soft.Config{Fault: wc.fault})}
	if w.p == nil {
		w.p, w.manual = dispatch.NewManual("test"), true
	}
	w.init = w.newHost("192.0.2.1", wc.noWindows)
	w.target = newTarget(w, max(1, wc.logins))
	return w
}

// drive runs fn, which waits, while the processor runs.
func (w *world) drive(fn func()) {
	if !w.manual {
		fn()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	w.p.RunUntil(done)
}

// at runs fn at Dispatch, and then until nothing is left to do.
func (w *world) at(fn func(f *dispatch.Frame)) {
	if !w.manual {
		done := make(chan struct{})
		var d dispatch.DPC
		d.Init(w.p, func(f *dispatch.Frame) { fn(f); close(done) })
		d.Post()
		<-done
		return
	}
	var f dispatch.Frame
	w.p.Raise(&f)
	fn(&f)
	f.Lower()
	w.p.RunUntilIdle()
}

// until runs the processor until cond holds; devices work on goroutines of their own.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !cond() {
		// A trip to a device's worker and back.
		w.drive(func() {
			var op verbs.Op[*verbs.PD]
			w.init.dev.CreatePD(&op)
			if pd, err := op.Wait(context.Background()); err == nil {
				closeObject(w.t, pd)
			}
		})
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain: %s", what)
		}
	}
}

func result[T any](t testing.TB, start func(op *verbs.Op[T])) T {
	op := new(verbs.Op[T])
	start(op)
	v, err := op.Wait(context.Background())
	if err != nil {
		t.Error(err)
	}
	return v
}

func closeObject(t testing.TB, o interface{ Close(*verbs.Op[verbs.None]) }) {
	result(t, o.Close)
}

func (w *world) newHost(addr string, noWindows bool) *host {
	a := netip.MustParseAddr(addr)
	hca, err := w.fabric.Plug(soft.HCAConfig{Name: addr, GUID: 1, Addr: a, NoMemoryWindows: noWindows})
	if err != nil {
		w.t.Fatal(err)
	}
	h := &host{w: w, dev: verbs.Open(hca, w.p, nil)}
	if h.a, err = arena.New(hostMem); err != nil {
		w.t.Fatal(err)
	}
	h.mem, h.base = h.a.Bytes(), h.a.Addr()
	w.drive(func() {
		h.pd = result(w.t, h.dev.CreatePD)
		access := verbs.LocalWrite | verbs.BindMW | verbs.RemoteRead | verbs.RemoteWrite
		h.mr = result(w.t, func(op *verbs.Op[*verbs.MR]) {
			h.pd.RegisterMR(op, &verbs.MRAttr{Arena: h.a, Access: access})
		})
	})
	return h
}

func (h *host) close() {
	closeObject(h.w.t, h.mr)
	closeObject(h.w.t, h.pd)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := h.dev.Close(ctx); err != nil {
		h.w.t.Error(err)
	}
	h.a.Close()
}

// segment is n bytes of the host's memory.
func (h *host) segment(off, n int) srp.Segment {
	return srp.Segment{
		Addr: h.base + uint64(off), Length: uint32(n), LKey: h.mr.LKey(), RKey: h.mr.RKey(), Mem: h.mem[off : off+n : off+n],
	}
}

func (w *world) close() {
	w.drive(func() {
		if w.sess != nil {
			if err := w.sess.Logout(context.Background()); err != nil {
				w.t.Errorf("logout: %v", err)
			}
		}
		w.target.close()
		w.init.close()
		w.target.host.close()
	})
}

// config is what a session of the world is made with.
func (w *world) config() *srp.SessionConfig {
	return &srp.SessionConfig{
		Device: w.init.dev, PD: w.init.pd, Address: verbs.Address{Dst: targetAddr}, Initiator: initiator, Target: targetID,
		Processors: []*dispatch.Processor{w.p}, QueueSize: 4, LogoutTimeout: 10 * time.Millisecond,
		Ready: func(f *dispatch.Frame, c *srp.Channel) { w.ready++ },
		Event: func(f *dispatch.Frame, c *srp.Channel, e *srp.ChannelEvent) { w.event(e) },
	}
}

func (w *world) event(e *srp.ChannelEvent) {
	switch e.Kind {
	case srp.EventDown:
		w.events = append(w.events, "down: "+e.Err.Error())
	case srp.EventTargetLogout:
		w.events = append(w.events, "target logout: "+e.Logout.String())
	case srp.EventAsync:
		w.events = append(w.events, "async: "+e.LUN.String()+" "+string(e.Sense))
	}
}

func (w *world) tryLogin(cfg *srp.SessionConfig) (s *srp.Session, err error) {
	w.drive(func() { s, err = srp.Login(context.Background(), cfg) })
	w.sess = s
	return s, err
}

// login logs in, and returns the first channel and the target's end of it.
func (w *world) login(cfg *srp.SessionConfig) (*srp.Channel, *end) {
	w.t.Helper()
	s, err := w.tryLogin(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Channels()[0], w.target.used[0]
}

// target is a listener that answers logins as the test says, and the QPs that it gives them.
type target struct {
	*host
	l      *verbs.Listener
	spare  []*end
	used   []*end
	logins []srp.LoginReq
	// answer says what to do with a login; nil accepts it with everything that it asks for.
	answer func(n int, req *srp.LoginReq) loginAnswer
}

// loginAnswer is one of a response, an SRP reject, and a reject of the connection manager.
type loginAnswer struct {
	rsp    srp.LoginRsp
	reject srp.RejectReason
	cm     verbs.RejectReason
	mute   bool
}

// granted is the response that gives all that was asked for, with credits.
func granted(req *srp.LoginReq, credits int32) loginAnswer {
	a := loginAnswer{rsp: srp.LoginRsp{
		RequestLimitDelta: credits, Tag: req.Tag, MaxITIULen: req.MaxITIULen, MaxTIIULen: 300, BufferFormats: req.BufferFormats,
	}}
	if req.Flags&srp.LoginImmediateWanted != 0 {
		a.rsp.Flags = srp.ImmediateSupported
	}
	return a
}

// The target's memory: for each end receives, then a buffer to send from, then data.
const (
	endRecvs   = 32
	endRecvLen = 16 << 10
	endLen     = endRecvs*endRecvLen + 16<<10
)

// end is the target's end of a channel.
type end struct {
	tg     *target
	qp     *verbs.QP
	cq     *verbs.CQ
	off    int
	got    [][]byte   // IUs received
	status []verbs.WC // completions of what was sent
	accept verbs.Op[verbs.None]

	// echo makes the end answer requests by itself, without allocating: it moves the data of a direct buffer, and says
	// GOOD.
	echo  bool
	cmd   srp.Command
	rsp   srp.Response
	wrs   [2]verbs.WR
	recvs [1]verbs.RecvWR
	wcs   [16]verbs.WC
}

func newTarget(w *world, n int) *target {
	tg := &target{host: w.newHost("192.0.2.2", false)}
	w.drive(func() {
		for i := range n {
			e := &end{tg: tg, off: i * endLen}
			e.cq = result(w.t, func(op *verbs.Op[*verbs.CQ]) {
				tg.dev.CreateCQ(op, &verbs.CQAttr{Entries: 256, Processor: w.p, Notify: e.notified})
			})
			e.qp = result(w.t, func(op *verbs.Op[*verbs.QP]) {
				tg.pd.CreateQP(op, &verbs.QPAttr{SendCQ: e.cq, RecvCQ: e.cq, MaxSend: 128, MaxRecv: 2 * endRecvs, MaxSGE: 1})
			})
			result(w.t, func(op *verbs.Op[verbs.None]) { e.qp.Modify(op, verbs.Init) })
			tg.spare = append(tg.spare, e)
		}
		tg.l = result(w.t, func(op *verbs.Op[*verbs.Listener]) {
			tg.dev.Listen(op, &verbs.ListenAttr{Address: verbs.Address{Dst: targetAddr}, Processor: w.p, Request: tg.request})
		})
	})
	w.at(func(f *dispatch.Frame) {
		for _, e := range tg.spare {
			for i := range endRecvs {
				e.post(f, uint64(i))
			}
			e.cq.Arm(f)
		}
	})
	return tg
}

func (tg *target) close() {
	closeObject(tg.w.t, tg.l)
	for _, e := range append(tg.spare, tg.used...) {
		closeObject(tg.w.t, e.qp)
		closeObject(tg.w.t, e.cq)
	}
}

func (tg *target) request(f *dispatch.Frame, l *verbs.Listener, r *verbs.ConnectRequest) {
	var req srp.LoginReq
	decode := req.DecodeRDMACM
	if !r.Peer().Src.IsValid() {
		decode = req.Decode
	}
	if err := decode(r.Private()); err != nil {
		tg.w.t.Errorf("login request: %v", err)
	}
	tg.logins = append(tg.logins, req)
	a := granted(&req, 8)
	if tg.answer != nil {
		a = tg.answer(len(tg.logins)-1, &req)
	}
	switch {
	case a.mute:
	case a.cm != 0:
		r.Reject(a.cm, nil)
	case a.reject != 0:
		b := make([]byte, srp.LoginRejLen)
		rej := srp.LoginRej{Reason: a.reject, BufferFormats: srp.BufferDirect}
		rej.Encode(b)
		r.Reject(verbs.RejectConsumer, b)
	default:
		e := tg.spare[0]
		tg.spare, tg.used = tg.spare[1:], append(tg.used, e)
		b := make([]byte, srp.LoginRspLen)
		a.rsp.Encode(b)
		e.qp.Accept(&e.accept, &verbs.AcceptAttr{Request: r, Private: b, RNRRetry: 7})
		e.accept.Then(func(f *dispatch.Frame, _ verbs.None, err error) {
			if err != nil {
				tg.w.t.Errorf("accept: %v", err)
			}
		})
	}
}

func (e *end) post(f *dispatch.Frame, i uint64) {
	e.recvs[0] = verbs.RecvWR{ID: i, NumSGE: 1, SGE: [4]verbs.SGE{e.sge(int(i)*endRecvLen, endRecvLen)}}
	e.qp.PostRecv(f, e.recvs[:])
}

func (e *end) sge(off, n int) verbs.SGE {
	return verbs.SGE{Addr: e.tg.base + uint64(e.off+off), Length: uint32(n), LKey: e.tg.mr.LKey()}
}

func (e *end) notified(f *dispatch.Frame, cq *verbs.CQ) {
	for n := cq.Poll(f, e.wcs[:]); n > 0; n = cq.Poll(f, e.wcs[:]) {
		for _, wc := range e.wcs[:n] {
			if e.echo {
				e.reply(f, wc)
			} else if wc.Op != verbs.Recv {
				e.status = append(e.status, wc)
			} else if wc.Status == verbs.Success {
				at := e.off + int(wc.ID)*endRecvLen
				e.got = append(e.got, append([]byte(nil), e.tg.mem[at:at+int(wc.ByteLen)]...))
				e.post(f, wc.ID)
			}
		}
	}
	cq.Arm(f)
}

// reply is the target's part while echo is on.
func (e *end) reply(f *dispatch.Frame, wc verbs.WC) {
	if wc.Op != verbs.Recv || wc.Status != verbs.Success {
		return
	}
	i := int(wc.ID)
	iu := e.tg.mem[e.off+i*endRecvLen:][:wc.ByteLen]
	e.cmd.DataIn.Format, e.cmd.DataOut.Format = 0, 0
	if op, tag, _ := srp.Peek(iu); op == srp.OpTaskManagement {
		e.cmd.Tag = tag
	} else if err := e.cmd.Decode(iu, 68); err != nil {
		e.post(f, wc.ID)
		return
	}
	n := 0
	rdma := func(op verbs.Opcode, d srp.Desc) {
		e.wrs[0] = verbs.WR{Op: op, RemoteAddr: d.Addr, Key: d.RKey, NumSGE: 1}
		at := e.tg.base + dataOff + uint64(e.off/endLen)*(64<<10)
		e.wrs[0].SGE[0] = verbs.SGE{Addr: at, Length: d.Len, LKey: e.tg.mr.LKey()}
		n = 1
	}
	switch {
	case e.cmd.DataIn.Format == srp.DataDirect:
		rdma(verbs.Write, e.cmd.DataIn.Desc)
	case e.cmd.DataOut.Format == srp.DataDirect:
		rdma(verbs.Read, e.cmd.DataOut.Desc)
	}
	e.rsp = srp.Response{Tag: e.cmd.Tag, RequestLimitDelta: 1}
	m, _ := e.rsp.Encode(e.tg.mem[e.off+sendOff+i*128:][:128])
	e.wrs[n] = verbs.WR{Op: verbs.Send, Flags: verbs.Signaled, NumSGE: 1}
	e.wrs[n].SGE[0] = e.sge(sendOff+i*128, m)
	e.post(f, wc.ID)
	e.qp.Post(f, e.wrs[:n+1])
}

// next returns the oldest IU that the test has not looked at.
func (e *end) next() []byte {
	e.tg.w.t.Helper()
	if len(e.got) == 0 {
		e.tg.w.t.Fatal("the target has received nothing")
	}
	b := e.got[0]
	e.got = e.got[1:]
	return b
}

// command is next, an SRP_CMD.
func (e *end) command() *srp.Command {
	e.tg.w.t.Helper()
	var c srp.Command
	if err := c.Decode(e.next(), 68); err != nil {
		e.tg.w.t.Fatal(err)
	}
	return &c
}

// encoder is an information unit.
type encoder interface {
	Encode(b []byte) (int, error)
}

// send sends an IU.
func (e *end) send(iu encoder) {
	e.tg.w.t.Helper()
	b := make([]byte, 4096)
	n, err := iu.Encode(b)
	if err != nil {
		e.tg.w.t.Fatal(err)
	}
	e.sendRaw(b[:n])
}

const (
	sendOff = endRecvs * endRecvLen // the end's buffer for what it sends
	dataOff = 3 << 20               // all ends' memory for data
)

func (e *end) sendRaw(b []byte) {
	copy(e.tg.mem[e.off+sendOff:], b)
	e.wr(verbs.WR{ID: 1, Op: verbs.Send, Flags: verbs.Signaled, NumSGE: 1, SGE: [4]verbs.SGE{e.sge(sendOff, len(b))}})
}

func (e *end) wr(wr verbs.WR) {
	e.tg.w.t.Helper()
	e.tg.w.at(func(f *dispatch.Frame) {
		if _, err := e.qp.Post(f, []verbs.WR{wr}); err != nil {
			e.tg.w.t.Error(err)
		}
	})
}

// rdma moves data between the target's memory at dataOff and the initiator's; it returns how that ended.
func (e *end) rdma(op verbs.Opcode, d srp.Desc) verbs.Status {
	n := len(e.status)
	e.wr(verbs.WR{
		ID: 2, Op: op, Flags: verbs.Signaled, Key: d.RKey, RemoteAddr: d.Addr, NumSGE: 1,
		SGE: [4]verbs.SGE{{Addr: e.tg.base + dataOff, Length: d.Len, LKey: e.tg.mr.LKey()}},
	})
	if len(e.status) == n {
		return verbs.FatalErr
	}
	return e.status[len(e.status)-1].Status
}

// good is the response to a tag that says GOOD and gives a credit back.
func good(tag uint64) *srp.Response { return &srp.Response{Tag: tag, RequestLimitDelta: 1} }

// request is a Request that counts how often it ended.
type request struct {
	srp.Request
	done int
}

func newRequest() *request {
	r := &request{}
	r.CDB = make([]byte, 10)
	r.Done = func(f *dispatch.Frame, _ *srp.Request) { r.done++ }
	return r
}

func (r *request) with(d srp.Direction, segs ...srp.Segment) *request {
	r.Direction, r.Segments, r.Length = d, segs, 0
	for _, s := range segs {
		r.Length += s.Length
	}
	return r
}

// start starts a request, which must work.
func (w *world) start(c *srp.Channel, r *request) {
	w.t.Helper()
	if err := w.tryStart(c, r); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tryStart(c *srp.Channel, r *request) (err error) {
	w.at(func(f *dispatch.Frame) {
		before := r.done
		err = c.Start(f, &r.Request)
		if r.done != before {
			w.t.Error("Done was called within Start")
		}
	})
	return err
}

func (r *request) ended(t testing.TB, n int, o srp.Outcome) {
	t.Helper()
	if r.done != n || n > 0 && r.Outcome != o {
		t.Errorf("request ended %d times, with %v; want %d, %v", r.done, r.Outcome, n, o)
	}
}
