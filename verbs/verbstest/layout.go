package verbstest

import (
	"unsafe"

	"minisrp/verbs"
)

// The C structures of verbs.h (rdma-core 44, 64 bit). Pointers are addresses: no Go
// pointer lies in them.

// cSGE is struct ibv_sge.
type cSGE struct {
	addr   uint64
	length uint32
	lkey   uint32
}

// cSendWR is struct ibv_send_wr. Of its unions it has the members used here.
type cSendWR struct {
	wrID    uint64
	next    uint64
	sgList  uint64
	numSGE  int32
	opcode  uint32
	flags   uint32
	immData uint32 // or invalidate_rkey

	remoteAddr uint64 // wr.rdma
	rkey       uint32
	_          [20]byte // wr.atomic is longer
	_          uint64   // qp_type.xrc

	mw       uint64 // bind_mw: struct ibv_mw *
	bindRKey uint32
	_        uint32
	bind     cBindInfo
}

// cBindInfo is struct ibv_mw_bind_info.
type cBindInfo struct {
	mr     uint64 // struct ibv_mr *; here the region's lkey
	addr   uint64
	length uint64
	access uint32
	_      uint32
}

// cRecvWR is struct ibv_recv_wr.
type cRecvWR struct {
	wrID   uint64
	next   uint64
	sgList uint64
	numSGE int32
	_      uint32
}

// cWC is struct ibv_wc.
type cWC struct {
	wrID      uint64
	status    uint32
	opcode    uint32
	vendorErr uint32
	byteLen   uint32
	immData   uint32 // or invalidated_rkey
	qpNum     uint32
	srcQP     uint32
	flags     uint32
	pkeyIndex uint16
	slid      uint16
	sl        uint8
	dlidBits  uint8
	_         [2]byte
}

// The sizes that C code would assert.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(cSGE{})-16]
	_ = [1]struct{}{}[unsafe.Sizeof(cSendWR{})-128]
	_ = [1]struct{}{}[unsafe.Sizeof(cRecvWR{})-32]
	_ = [1]struct{}{}[unsafe.Sizeof(cWC{})-48]
	_ = [1]struct{}{}[unsafe.Offsetof(cSendWR{}.remoteAddr)-40]
	_ = [1]struct{}{}[unsafe.Offsetof(cSendWR{}.mw)-80]
	_ = [1]struct{}{}[unsafe.Offsetof(cSendWR{}.bind)-96]
	_ = [1]struct{}{}[unsafe.Offsetof(cWC{}.flags)-36]
)

// The values of enum ibv_wr_opcode.
var cOpcodes = [...]uint32{
	verbs.Send: 2, verbs.SendInv: 9, verbs.Write: 0, verbs.Read: 4, verbs.BindWindow: 8, verbs.LocalInv: 7,
}

// The values of enum ibv_wc_opcode.
var cWCOpcodes = [...]uint32{
	verbs.Send: 0, verbs.SendInv: 0, verbs.Write: 1, verbs.Read: 2, verbs.BindWindow: 5, verbs.LocalInv: 6, verbs.Recv: 128,
}

// The values of enum ibv_wc_status.
var cStatus = [...]uint32{
	verbs.Success: 0, verbs.LocLenErr: 1, verbs.LocQPOpErr: 2, verbs.LocProtErr: 4, verbs.WRFlushErr: 5, verbs.MWBindErr: 6,
	verbs.BadRespErr: 7, verbs.LocAccessErr: 8, verbs.RemInvReqErr: 9, verbs.RemAccessErr: 10, verbs.RemOpErr: 11,
	verbs.RetryExcErr: 12, verbs.RNRRetryExcErr: 13, verbs.FatalErr: 19,
}

// find returns the index of a value in a table.
func find[T ~uint8](table []uint32, v uint32) (T, bool) {
	for i, x := range table {
		if x == v {
			return T(i), true
		}
	}
	return 0, false
}

const (
	cFence    = 1 << 0 // IBV_SEND_FENCE
	cSignaled = 1 << 1 // IBV_SEND_SIGNALED
	cWithInv  = 1 << 3 // IBV_WC_WITH_INV
)

// cAccess turns rights into enum ibv_access_flags.
func cAccess(a verbs.Access) (c uint32) {
	for i, bit := range [...]uint32{1, 4, 2, 16} { // local write, remote read, remote write, MW bind
		if a&(1<<i) != 0 {
			c |= bit
		}
	}
	return c
}

// goAccess is the inverse of cAccess.
func goAccess(c uint32) (a verbs.Access) {
	for i, bit := range [...]uint32{1, 4, 2, 16} {
		if c&bit != 0 {
			a |= 1 << i
		}
	}
	return a
}
