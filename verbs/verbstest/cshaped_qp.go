package verbstest

import (
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// cshapedQP is the near side of a QP: its rings of C structures, and what is needed
// to make a verbs.WC of a struct ibv_wc, which has no opcode when it tells of an
// error.
//
// Ownership: by frames that own the QP's processor.
type cshapedQP struct {
	dev  *CShaped
	proc *dispatch.Processor
	scq  *cshapedCQ
	attr verbs.QPAttr
	slot uint64
	mem  space
	far  farQP
	over bool

	num uint32

	sent    []sentWR // by sequence number, as the structures
	tail    uint32   // sequence number of the next request
	crossed uint32   // of the next to cross
	free    uint32   // of the first whose place is not free
	bell    dispatch.DPC

	recvd        []uint64
	rtail, rfree uint32
}

type sentWR struct {
	id uint64
	op verbs.Opcode
}

// The ID of a completion: the QP, the queue, and the sequence number there.
const (
	idRecv   = 1 << 63
	idSlotAt = 32
)

func newCShapedQP(d *CShaped, attr *verbs.QPAttr) (*cshapedQP, error) {
	q := &cshapedQP{dev: d, proc: attr.SendCQ.Processor(), attr: *attr}
	q.scq = attr.SendCQ.Driver().(*cshapedCQ)
	q.sent, q.recvd = make([]sentWR, pow2(attr.MaxSend)), make([]uint64, pow2(attr.MaxRecv))
	q.bell.Init(q.proc, q.Ring)
	var err error
	if q.mem, err = newSpace(len(q.sent)*(128+64) + len(q.recvd)*(32+64)); err != nil {
		return nil, err
	}
	q.far.mem = &q.mem
	d.mu.Lock()
	defer d.mu.Unlock()
	all := append([]*cshapedQP(nil), *d.qps.Load()...)
	q.slot = uint64(len(all))
	all = append(all, q)
	d.qps.Store(&all)
	return q, nil
}

func pow2(n uint32) int {
	p := 1
	for p < int(n) {
		p <<= 1
	}
	return p
}

// send and recv return what is known of a sequence number.
func (q *cshapedQP) send(seq uint32) *sentWR { return &q.sent[int(seq)&(len(q.sent)-1)] }
func (q *cshapedQP) recv(seq uint32) *uint64 { return &q.recvd[int(seq)&(len(q.recvd)-1)] }

// Where the structures of a sequence number lie: send requests, their lists, receives,
// their lists.
func (q *cshapedQP) sendAt(seq uint32) uint64 {
	return q.mem.addr(int(seq) & (len(q.sent) - 1) * 128)
}
func (q *cshapedQP) sendListAt(seq uint32) uint64 {
	return q.mem.addr(len(q.sent)*128 + int(seq)&(len(q.sent)-1)*64)
}
func (q *cshapedQP) recvAt(seq uint32) uint64 {
	return q.mem.addr(len(q.sent)*192 + int(seq)&(len(q.recvd)-1)*32)
}
func (q *cshapedQP) recvListAt(seq uint32) uint64 {
	return q.mem.addr(len(q.sent)*192 + len(q.recvd)*32 + int(seq)&(len(q.recvd)-1)*64)
}

// Unwrap returns the inner provider's QP.
func (q *cshapedQP) Unwrap() any { return q.far.drv }

func (q *cshapedQP) State() verbs.QPState { return q.far.drv.State() }

func (q *cshapedQP) Post(f *dispatch.Frame, wrs []verbs.WR) (accepted int, err error) {
	if s := q.State(); s != verbs.RTS && s != verbs.Error {
		return 0, verbs.ErrState
	}
	for i := range wrs {
		wr := &wrs[i]
		switch {
		case q.tail-q.free >= q.attr.MaxSend:
			err = verbs.ErrFull
		case wr.Op >= verbs.Recv, uint32(wr.NumSGE) > q.attr.MaxSGE, wr.Op == verbs.BindWindow && wr.NumSGE != 1:
			err = verbs.ErrInvalid
		}
		if err != nil {
			break
		}
		q.encode(wr)
		accepted++
	}
	if accepted != 0 {
		q.bell.Queue(f)
	}
	return accepted, err
}

// encode appends a request to the chain.
func (q *cshapedQP) encode(wr *verbs.WR) {
	seq := q.tail
	*q.send(seq) = sentWR{wr.ID, wr.Op}
	c := q.mem.sendWR(q.sendAt(seq))
	*c = cSendWR{wrID: q.slot<<idSlotAt | uint64(seq), opcode: cOpcodes[wr.Op], immData: wr.Key}
	if wr.Flags&verbs.Signaled != 0 {
		c.flags |= cSignaled
	}
	if wr.Flags&verbs.Fence != 0 {
		c.flags |= cFence
	}
	if wr.Op == verbs.BindWindow {
		g := &wr.SGE[0]
		q.dev.see(g)
		c.mw, c.bindRKey = uint64(wr.MW), wr.Key
		c.bind = cBindInfo{mr: uint64(g.LKey), addr: g.Addr, length: uint64(g.Length), access: cAccess(wr.Access)}
	} else {
		c.remoteAddr, c.rkey = wr.RemoteAddr, wr.Key
		c.sgList, c.numSGE = q.list(q.sendListAt(seq), wr.SGE[:wr.NumSGE]), int32(wr.NumSGE)
	}
	if q.crossed != seq {
		q.mem.sendWR(q.sendAt(seq - 1)).next = q.sendAt(seq)
	}
	q.tail++
}

// list writes a list of pieces.
func (q *cshapedQP) list(at uint64, pieces []verbs.SGE) uint64 {
	for i := range pieces {
		g := &pieces[i]
		q.dev.see(g)
		*q.mem.sge(at + uint64(i)*16) = cSGE{g.Addr, g.Length, g.LKey}
	}
	return at
}

// Ring sends the chain across. It also runs when the frame of a post is lowered.
func (q *cshapedQP) Ring(f *dispatch.Frame) {
	if q.crossed == q.tail || q.over {
		return
	}
	q.dev.postSends.Add(1)
	first := q.crossed
	q.crossed = q.tail
	bad, _ := q.far.postSend(f, q.sendAt(first))
	if bad == 0 {
		return
	}
	// Accepted long ago: what the doorbell did not get across fails by completion.
	for seq := uint32(q.mem.sendWR(bad).wrID); seq != q.tail; seq++ {
		s := q.send(seq)
		q.scq.push(f, verbs.WC{ID: s.id, QPN: q.num, Op: s.op, Status: verbs.FatalErr})
	}
	q.free = q.tail
}

func (q *cshapedQP) PostRecv(f *dispatch.Frame, wrs []verbs.RecvWR) (accepted int, err error) {
	if q.State() == verbs.Reset {
		return 0, verbs.ErrState
	}
	first := q.rtail
	for i := range wrs {
		r := &wrs[i]
		switch {
		case q.rtail-q.rfree >= q.attr.MaxRecv:
			err = verbs.ErrFull
		case uint32(r.NumSGE) > q.attr.MaxSGE:
			err = verbs.ErrInvalid
		}
		if err != nil {
			break
		}
		seq := q.rtail
		*q.recv(seq) = r.ID
		*q.mem.recvWR(q.recvAt(seq)) = cRecvWR{
			wrID: idRecv | q.slot<<idSlotAt | uint64(seq), numSGE: int32(r.NumSGE),
			sgList: q.list(q.recvListAt(seq), r.SGE[:r.NumSGE]),
		}
		if seq != first {
			q.mem.recvWR(q.recvAt(seq - 1)).next = q.recvAt(seq)
		}
		q.rtail++
	}
	if q.rtail == first {
		return 0, err
	}
	q.dev.postRecvs.Add(1)
	accepted, crossErr := q.far.postRecv(f, q.recvAt(first))
	if crossErr != nil {
		q.rtail, err = first+uint32(accepted), crossErr
	}
	return accepted, err
}

// completed makes a completion of what has crossed.
func (d *CShaped) completed(wc *verbs.WC, c *cWC) {
	q := (*d.qps.Load())[c.wrID&^idRecv>>idSlotAt]
	seq := uint32(c.wrID)
	*wc = verbs.WC{QPN: c.qpNum}
	wc.Status, _ = find[verbs.Status](cStatus[:], c.status)
	if c.wrID&idRecv != 0 {
		wc.ID, wc.Op = *q.recv(seq), verbs.Recv
		q.rfree = seq + 1
	} else {
		s := q.send(seq)
		wc.ID, wc.Op = s.id, s.op
		q.free = seq + 1
	}
	if wc.Status != verbs.Success {
		return
	}
	if wc.Op == verbs.Recv || wc.Op == verbs.Read {
		wc.ByteLen = c.byteLen
	}
	if c.flags&cWithInv != 0 {
		wc.Invalidated, wc.InvKey = true, c.immData
	}
}
