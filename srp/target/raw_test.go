package target_test

import (
	"context"
	"errors"
	"testing"

	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// raw is an initiator without rules: it sends what the test says.
type raw struct {
	w     *world
	cq    *verbs.CQ
	qp    *verbs.QP
	got   [][]byte // IUs received, oldest first
	sent  []verbs.WC
	gone  bool // disconnected
	posts int
	base  int
}

const (
	rawRecvs = 64
	rawLen   = 512
	rawRoom  = 1 << 20 // at the end of the memory: its receives, then room to send from
)

func (w *world) newRaw() *raw {
	x := &raw{w: w, base: len(w.init.mem) - rawRoom}
	w.drive(func() {
		x.cq = result(w.t, func(op *verbs.Op[*verbs.CQ]) {
			w.init.dev.CreateCQ(op, &verbs.CQAttr{Entries: 512, Processor: w.p, Notify: x.notified})
		})
		x.qp = result(w.t, func(op *verbs.Op[*verbs.QP]) {
			w.init.pd.CreateQP(op, &verbs.QPAttr{
				SendCQ: x.cq, RecvCQ: x.cq, MaxSend: 128, MaxRecv: 2 * rawRecvs, MaxSGE: 1,
				Access: verbs.RemoteRead | verbs.RemoteWrite, Event: func(_ *dispatch.Frame, _ *verbs.QP, e verbs.QPEvent) { x.gone = true },
			})
		})
		result(w.t, func(op *verbs.Op[verbs.None]) { x.qp.Modify(op, verbs.Init) })
	})
	w.at(func(f *dispatch.Frame) {
		for i := range uint64(rawRecvs) {
			x.post(f, i)
		}
		x.cq.Arm(f)
	})
	w.t.Cleanup(func() {
		w.drive(func() {
			result(w.t, x.qp.Close)
			result(w.t, x.cq.Close)
		})
	})
	return x
}

func (x *raw) sge(off, n int) verbs.SGE {
	return verbs.SGE{Addr: x.w.init.a.Addr() + uint64(x.base+off), Length: uint32(n), LKey: x.w.init.mr.LKey()}
}

func (x *raw) post(f *dispatch.Frame, i uint64) {
	if _, err := x.qp.PostRecv(f, []verbs.RecvWR{{ID: i, NumSGE: 1, SGE: [4]verbs.SGE{x.sge(int(i)*rawLen, rawLen)}}}); err != nil {
		x.w.t.Error(err)
	}
}

func (x *raw) notified(f *dispatch.Frame, cq *verbs.CQ) {
	var wcs [16]verbs.WC
	for n := cq.Poll(f, wcs[:]); n > 0; n = cq.Poll(f, wcs[:]) {
		for _, wc := range wcs[:n] {
			if wc.Op != verbs.Recv || wc.Status != verbs.Success {
				x.sent = append(x.sent, wc)
				continue
			}
			x.got = append(x.got, append([]byte(nil), x.w.init.mem[x.base+int(wc.ID)*rawLen:][:wc.ByteLen]...))
			x.post(f, wc.ID)
		}
	}
	cq.Arm(f)
}

// request is the login that is taken, to be changed.
func rawLogin() *srp.LoginReq {
	return &srp.LoginReq{
		Tag: 7, MaxITIULen: 2000, BufferFormats: srp.BufferDirect | srp.BufferIndirect, Initiator: initiator, Target: portID,
		Flags: srp.LoginImmediateWanted, ImmediateOffset: 68,
	}
}

// connect logs in with the private data b.
func (x *raw) connect(b []byte) (rsp srp.LoginRsp, err error) {
	return x.connectTo(verbs.Address{Dst: portAddr}, b)
}

func (x *raw) connectTo(at verbs.Address, b []byte) (rsp srp.LoginRsp, err error) {
	x.w.drive(func() {
		op := new(verbs.Op[verbs.ConnectReply])
		x.qp.Connect(op, &verbs.ConnectAttr{Address: at, Private: b, ReadsAnswered: 4, RNRRetry: 7})
		var r verbs.ConnectReply
		if r, err = op.Wait(context.Background()); err == nil {
			err = rsp.Decode(r.Private())
		}
	})
	return rsp, err
}

func (x *raw) login(req *srp.LoginReq) (srp.LoginRsp, error) {
	b := make([]byte, srp.LoginReqRDMACMLen)
	if _, err := req.EncodeRDMACM(b); err != nil {
		x.w.t.Fatal(err)
	}
	return x.connect(b)
}

// loggedIn is a raw initiator that has logged in, and what it was granted.
func (w *world) loggedIn() (*raw, srp.LoginRsp) {
	w.t.Helper()
	x := w.newRaw()
	rsp, err := x.login(rawLogin())
	if err != nil {
		w.t.Fatal(err)
	}
	return x, rsp
}

// send sends an information unit.
func (x *raw) send(b []byte) {
	x.w.until("room to send from", func() bool { return x.posts-len(x.sent) < 64 })
	off := rawRecvs*rawLen + x.posts%64*4096
	x.posts++
	copy(x.w.init.mem[x.base+off:], b)
	x.w.at(func(f *dispatch.Frame) {
		wr := verbs.WR{ID: 1, Op: verbs.Send, Flags: verbs.Signaled, NumSGE: 1, SGE: [4]verbs.SGE{x.sge(off, len(b))}}
		if _, err := x.qp.Post(f, []verbs.WR{wr}); err != nil {
			x.w.t.Error(err)
		}
	})
}

// command sends an SRP_CMD.
func (x *raw) command(c *srp.Command, immediate []byte) {
	b := make([]byte, 4096)
	n, err := c.Encode(b, 68)
	if err != nil {
		x.w.t.Fatal(err)
	}
	x.send(append(b[:n], immediate...))
}

// response returns the oldest IU received, which must be a response, once there is one.
func (x *raw) response() *srp.Response {
	x.w.t.Helper()
	x.w.until("a response", func() bool { return len(x.got) > 0 })
	var r srp.Response
	if err := r.Decode(x.got[0]); err != nil {
		x.w.t.Fatal(err)
	}
	x.got = x.got[1:]
	return &r
}

// rejected returns the reason in err.
func rejected(t *testing.T, err error) srp.RejectReason {
	t.Helper()
	var cm *verbs.RejectError
	if !errors.As(err, &cm) || cm.Reason != verbs.RejectConsumer {
		t.Fatalf("login ends with %v, want SRP_LOGIN_REJ", err)
	}
	var rej srp.LoginRej
	if err := rej.Decode(cm.Private); err != nil {
		t.Fatal(err)
	}
	if rej.BufferFormats != srp.BufferDirect|srp.BufferIndirect {
		t.Errorf("SRP_LOGIN_REJ names the formats %v", rej.BufferFormats)
	}
	return rej.Reason
}
