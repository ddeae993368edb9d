package srp

import (
	"context"
	"errors"

	"minisrp/verbs"
	"minisrp/verbs/arena"
)

// resources are a channel's verbs objects and memory.
//
//	mem     send buffers of the slots | of task management functions | of answers | of SRP_I_LOGOUT | receives
//	tables  descriptor tables of the slots, which the target may read
//	bounce  for each slot and direction a region of its own
//
// Ownership: the channel's; made and unmade at Passive, by Login and Logout.
type resources struct {
	cq  *verbs.CQ
	qp  *verbs.QP
	mws []*verbs.MW

	mr       *verbs.MR
	tableKey uint32
	regions  []region // mr's among them
	sges     int      // pieces of a work request

	mem                []byte
	addr               uint64
	answers, receives  int // offsets in mem
	logout             int
	answerLen, recvLen int // distances
	listLen            int // bytes that a receive takes
}

// region is an arena with its MR.
type region struct {
	arena *arena.Arena
	mr    *verbs.MR
}

// wait starts an operation and waits for it.
func wait[T any](ctx context.Context, start func(op *verbs.Op[T])) (T, error) {
	op := new(verbs.Op[T]) // stays in use when ctx ends first
	start(op)
	return op.Wait(ctx)
}

// register makes memory of n bytes.
func (r *resources) register(ctx context.Context, pd *verbs.PD, n int, access verbs.Access) (region, error) {
	a, err := arena.New(n)
	if err != nil {
		return region{}, err
	}
	attr := &verbs.MRAttr{Arena: a, Access: access}
	// Waited for to the end: a region that came later would be of an arena that is gone.
	mr, err := wait(context.WithoutCancel(ctx), func(op *verbs.Op[*verbs.MR]) { pd.RegisterMR(op, attr) })
	if err != nil {
		return region{}, errors.Join(err, a.Close())
	}
	g := region{a, mr}
	r.regions = append(r.regions, g)
	return g, nil
}

func round(n, to int) int { return (n + to - 1) / to * to }

// cacheLine keeps the buffers of two slots apart.
const cacheLine = 64

// makeMemory sizes and registers the memory of a channel whose IUs have up to iuLen bytes before immediate data, and whose
// receives have recvLen.
func (r *resources) makeMemory(ctx context.Context, cfg *SessionConfig, iuLen, recvLen int) error {
	txLen := round(iuLen, cacheLine)
	r.answerLen, r.recvLen, r.listLen = cacheLine, round(recvLen, cacheLine), recvLen
	tasks := cfg.QueueSize * txLen
	r.answers = tasks + taskSlots*cacheLine
	r.logout = r.answers + cfg.receives()*r.answerLen
	r.receives = r.logout + cacheLine
	g, err := r.register(ctx, cfg.PD, r.receives+cfg.receives()*r.recvLen, verbs.LocalWrite)
	if err != nil {
		return err
	}
	r.mr, r.mem, r.addr = g.mr, g.arena.Bytes(), g.arena.Addr()
	return nil
}

// rx returns the memory of receive i.
func (r *resources) rx(i uint32) []byte {
	return r.mem[r.receives+int(i)*r.recvLen:][:r.listLen]
}

// recv returns the work request of receive i.
func (r *resources) recv(i uint32) verbs.RecvWR {
	w := verbs.RecvWR{ID: wrRecv | uint64(i), NumSGE: 1}
	w.SGE[0] = verbs.SGE{Addr: r.addr + uint64(r.receives+int(i)*r.recvLen), Length: uint32(r.listLen), LKey: r.mr.LKey()}
	return w
}

// answer returns the memory for the answer to what receive i has brought.
func (r *resources) answer(i uint32) []byte {
	return r.mem[r.answers+int(i)*r.answerLen:][:r.answerLen]
}

func (r *resources) answerAddr(i uint32) uint64 { return r.addr + uint64(r.answers+int(i)*r.answerLen) }

// dispose closes everything that has been made, and waits for it. qpClosed says that the QP has been closed already.
//
//level:passive
func (r *resources) dispose(qpClosed bool) error {
	var ops []*verbs.Op[verbs.None]
	destroy := func(o interface{ Close(*verbs.Op[verbs.None]) }) {
		op := new(verbs.Op[verbs.None])
		o.Close(op)
		ops = append(ops, op)
	}
	if r.qp != nil && !qpClosed {
		destroy(r.qp)
	}
	for _, w := range r.mws {
		destroy(w)
	}
	for _, g := range r.regions {
		destroy(g.mr)
	}
	if r.cq != nil {
		destroy(r.cq)
	}
	var errs []error
	for _, op := range ops {
		_, err := op.Wait(context.Background())
		errs = append(errs, err)
	}
	for _, g := range r.regions {
		errs = append(errs, g.arena.Close())
	}
	*r = resources{}
	return errors.Join(errs...)
}
