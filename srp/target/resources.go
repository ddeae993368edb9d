package target

import (
	"context"
	"errors"

	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/arena"
)

// resources are a channel's verbs objects and memory.
//
//	memory: response buffers of the commands | second ones | receives | SRP_T_LOGOUT | requests
//
// Ownership: the channel's; made and unmade at Passive, by the port's worker.
type resources struct {
	arena *arena.Arena
	mr    *verbs.MR
	cq    *verbs.CQ
	qp    *verbs.QP

	mem             []byte
	addr            uint64
	again, receives int // offsets in mem
	lastOff, askOff int
	recvLen         int // bytes that a receive takes
	recvStep        int
	sends           int // places in the send queue, without those of fixedSends
}

func round(n, to int) int { return (n + to - 1) / to * to }

// cacheLine keeps the buffers of two commands apart.
const cacheLine = 64

// build makes them. What it leaves when it fails, dispose takes.
func (r *resources) build(ctx context.Context, c *channel) error {
	cfg := &c.port.cfg
	n := cfg.receives()
	r.again = n * maxRspLen
	r.receives = 2 * n * maxRspLen
	r.recvLen, r.recvStep = cfg.MaxIU, round(cfg.MaxIU, cacheLine)
	r.lastOff = r.receives + n*r.recvStep
	r.askOff = r.lastOff + cacheLine
	r.sends = cfg.sends()
	a, err := arena.New(r.askOff + maxRspLen)
	if err != nil {
		return err
	}
	r.arena, r.mem, r.addr = a, a.Bytes(), a.Addr()
	mrAttr := &verbs.MRAttr{Arena: a, Access: verbs.LocalWrite}
	// Waited for to the end: a region that came later would be of an arena that is gone.
	if r.mr, err = wait(context.WithoutCancel(ctx), func(op *verbs.Op[*verbs.MR]) { c.port.pd.RegisterMR(op, mrAttr) }); err != nil {
		return err
	}
	cqAttr := &verbs.CQAttr{Entries: uint32(r.sends + n + fixedSends + 1), Processor: c.port.proc, Notify: c.notified}
	if r.cq, err = wait(ctx, func(op *verbs.Op[*verbs.CQ]) { cfg.Device.CreateCQ(op, cqAttr) }); err != nil {
		return err
	}
	qpAttr := &verbs.QPAttr{
		SendCQ: r.cq, RecvCQ: r.cq, MaxSend: uint32(r.sends + fixedSends), MaxRecv: uint32(n + 1), MaxSGE: 1, Event: c.event,
	}
	if r.qp, err = wait(ctx, func(op *verbs.Op[*verbs.QP]) { c.port.pd.CreateQP(op, qpAttr) }); err != nil {
		return err
	}
	_, err = wait(ctx, func(op *verbs.Op[verbs.None]) { r.qp.Modify(op, verbs.Init) })
	return err
}

// dispose closes everything that has been made, and waits for it.
//
//level:passive
func (r *resources) dispose() error {
	var errs []error
	if r.qp != nil {
		errs = append(errs, closeObject(r.qp))
	}
	if r.cq != nil {
		errs = append(errs, closeObject(r.cq))
	}
	if r.mr != nil {
		errs = append(errs, closeObject(r.mr))
	}
	if r.arena != nil {
		errs = append(errs, r.arena.Close())
	}
	*r = resources{}
	return errors.Join(errs...)
}

// receive returns the memory of receive i.
func (r *resources) receive(i uint32) []byte {
	return r.mem[r.receives+int(i)*r.recvStep:][:r.recvLen:r.recvLen]
}

// recv returns the work request of receive i.
func (r *resources) recv(i uint32) verbs.RecvWR {
	w := verbs.RecvWR{ID: wrRecv | uint64(i), NumSGE: 1}
	w.SGE[0] = verbs.SGE{Addr: r.addr + uint64(r.receives+int(i)*r.recvStep), Length: uint32(r.recvLen), LKey: r.mr.LKey()}
	return w
}

// response returns the buffer for the response of command i, and its address.
func (r *resources) response(i uint32) ([]byte, uint64) {
	at := int(i) * maxRspLen
	return r.mem[at:][:maxRspLen:maxRspLen], r.addr + uint64(at)
}

// second returns the buffer for a second response to command i, and its address.
func (r *resources) second(i uint32) ([]byte, uint64) {
	at := r.again + int(i)*maxRspLen
	return r.mem[at:][:maxRspLen:maxRspLen], r.addr + uint64(at)
}

// ask returns the buffer for a request of the target's, and its address.
func (r *resources) ask() ([]byte, uint64) {
	return r.mem[r.askOff:][:maxRspLen], r.addr + uint64(r.askOff)
}

// last returns the buffer for SRP_T_LOGOUT, and its address.
func (r *resources) last() ([]byte, uint64) {
	return r.mem[r.lastOff:][:srp.LogoutLen], r.addr + uint64(r.lastOff)
}
