package verbstest

import (
	"fmt"
	"unsafe"

	"minisrp/verbs"
	"minisrp/verbs/arena"
	"minisrp/verbs/dispatch"
)

// This file is the other side of the boundary: what would be C. It is given numbers
// alone, and finds structures by their addresses.

// space is the memory that both sides of the boundary know.
type space struct {
	a *arena.Arena
	b []byte
}

func newSpace(size int) (space, error) {
	a, err := arena.New(max(1, size))
	if err != nil {
		return space{}, err
	}
	return space{a, a.Bytes()}, nil
}

// addr returns the address of the byte at off.
func (s *space) addr(off int) uint64 { return s.a.Addr() + uint64(off) }

// at returns n bytes at an address that has crossed. One that is not of the space is
// a Go pointer, or nothing at all.
func (s *space) at(addr uint64, n uintptr) unsafe.Pointer {
	off := addr - s.a.Addr()
	if off > uint64(len(s.b)) || uint64(n) > uint64(len(s.b))-off || off%8 != 0 {
		panic(fmt.Sprintf("verbstest: %#x crossed the boundary: it is not in the shared memory of %d bytes at %#x", addr, len(s.b), s.a.Addr()))
	}
	return unsafe.Pointer(&s.b[off])
}

func (s *space) sendWR(addr uint64) *cSendWR { return (*cSendWR)(s.at(addr, 128)) }
func (s *space) recvWR(addr uint64) *cRecvWR { return (*cRecvWR)(s.at(addr, 32)) }
func (s *space) wc(addr uint64) *cWC         { return (*cWC)(s.at(addr, 48)) }
func (s *space) sge(addr uint64) *cSGE       { return (*cSGE)(s.at(addr, 16)) }

// chunk is how many requests or completions the inner provider gets at a time.
const chunk = 16

// farQP is a QP beyond the boundary.
type farQP struct {
	drv   verbs.QPDriver
	mem   *space
	wrs   [chunk]verbs.WR
	recvs [chunk]verbs.RecvWR
}

// postSend is ibv_post_send: it returns the address of the first request that was not
// accepted, and why.
func (q *farQP) postSend(f *dispatch.Frame, head uint64) (bad uint64, err error) {
	for head != 0 {
		n, first := 0, head
		for ; head != 0 && n < chunk; n++ {
			c := q.mem.sendWR(head)
			q.decode(&q.wrs[n], c)
			head = c.next
		}
		got, err := q.drv.Post(f, q.wrs[:n])
		if err != nil {
			for ; got > 0; got-- {
				first = q.mem.sendWR(first).next
			}
			return first, err
		}
	}
	q.drv.Ring(f)
	return 0, nil
}

func (q *farQP) decode(wr *verbs.WR, c *cSendWR) {
	*wr = verbs.WR{ID: c.wrID}
	wr.Op, _ = find[verbs.Opcode](cOpcodes[:], c.opcode)
	if c.flags&cSignaled != 0 {
		wr.Flags |= verbs.Signaled
	}
	if c.flags&cFence != 0 {
		wr.Flags |= verbs.Fence
	}
	switch wr.Op {
	case verbs.Write, verbs.Read:
		wr.RemoteAddr, wr.Key = c.remoteAddr, c.rkey
	case verbs.SendInv, verbs.LocalInv:
		wr.Key = c.immData
	case verbs.BindWindow:
		wr.MW, wr.Key, wr.Access = uint32(c.mw), c.bindRKey, goAccess(c.bind.access)
		wr.NumSGE = 1
		wr.SGE[0] = verbs.SGE{Addr: c.bind.addr, Length: uint32(c.bind.length), LKey: uint32(c.bind.mr)}
		return
	}
	wr.NumSGE = q.pieces(&wr.SGE, c.sgList, c.numSGE)
}

func (q *farQP) pieces(into *[verbs.MaxSGE]verbs.SGE, list uint64, n int32) uint8 {
	for i := range n {
		g := q.mem.sge(list + uint64(i)*16)
		into[i] = verbs.SGE{Addr: g.addr, Length: g.length, LKey: g.lkey}
	}
	return uint8(n)
}

// postRecv is ibv_post_recv.
func (q *farQP) postRecv(f *dispatch.Frame, head uint64) (accepted int, err error) {
	for head != 0 {
		n := 0
		for ; head != 0 && n < chunk; n++ {
			c := q.mem.recvWR(head)
			q.recvs[n] = verbs.RecvWR{ID: c.wrID}
			q.recvs[n].NumSGE = q.pieces(&q.recvs[n].SGE, c.sgList, c.numSGE)
			head = c.next
		}
		got, err := q.drv.PostRecv(f, q.recvs[:n])
		accepted += got
		if err != nil {
			return accepted, err
		}
	}
	return accepted, nil
}

// farCQ is a CQ beyond the boundary.
type farCQ struct {
	drv verbs.CQDriver
	mem *space
	wcs [pollBatch]verbs.WC
}

// garbage is what libibverbs leaves in a field that it does not set.
const garbage = 0xdbdbdbdb

// poll is ibv_poll_cq of up to n completions into wcs.
func (c *farCQ) poll(f *dispatch.Frame, n int, wcs uint64) int {
	n = c.drv.Poll(f, c.wcs[:n])
	for i := range n {
		wc, to := &c.wcs[i], c.mem.wc(wcs+uint64(i)*48)
		*to = cWC{
			wrID: wc.ID, status: cStatus[wc.Status], qpNum: wc.QPN,
			opcode: garbage, byteLen: garbage, immData: garbage, flags: garbage, srcQP: garbage,
		}
		if wc.Status != verbs.Success {
			continue // the rest is undefined (ibv_poll_cq(3))
		}
		to.opcode, to.flags = cWCOpcodes[wc.Op], 0
		if wc.Op == verbs.Recv || wc.Op == verbs.Read {
			to.byteLen = wc.ByteLen
		}
		if wc.Invalidated {
			to.flags |= cWithInv
			to.immData = wc.InvKey
		}
	}
	return n
}
