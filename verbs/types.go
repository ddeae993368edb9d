package verbs

import "fmt"

// Access is a set of rights to memory (IBA 10.6.3).
type Access uint8

const (
	// LocalWrite lets the device write the memory: receives and RDMA READ results.
	LocalWrite Access = 1 << iota
	// RemoteRead lets the peer of a QP read.
	RemoteRead
	// RemoteWrite lets the peer of a QP write. The region must have LocalWrite too.
	RemoteWrite
	// BindMW lets memory windows be bound to the region.
	BindMW
)

// Opcode is what a work request asks for.
type Opcode uint8

const (
	// Send carries the gathered bytes to a receive of the peer.
	Send Opcode = iota
	// SendInv is Send, and invalidates Key at the peer when it arrives.
	SendInv
	// Write puts the gathered bytes at RemoteAddr under Key.
	Write
	// Read fetches bytes from RemoteAddr under Key into the scatter list.
	Read
	// BindWindow binds the type-2 window MW to SGE[0] (address, length, and the
	// region's lkey) with the rights in Access, for this QP alone. Key is the rkey
	// it shall have: the window's index with a key byte of the caller's choice.
	BindWindow
	// LocalInv makes Key useless. It completes when no access under it is left.
	LocalInv
	// Recv is the opcode of the completion of a receive.
	Recv
)

var opcodeText = [...]string{"SEND", "SEND with invalidate", "RDMA WRITE", "RDMA READ", "BIND_MW", "LOCAL_INV", "RECV"}

func (o Opcode) String() string { return text(opcodeText[:], o, "opcode") }

func text[T ~uint8](names []string, v T, kind string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s %d", kind, v)
}

// SGE is a piece of local memory: Length bytes at Addr under LKey (IBA 10.7.3).
type SGE struct {
	Addr   uint64
	Length uint32
	LKey   uint32
}

// MaxSGE is the number of pieces that one work request can gather or scatter. An
// SRP command with immediate data needs one for the IU and one for each segment.
const MaxSGE = 4

// WRFlags modify a send work request.
type WRFlags uint8

const (
	// Signaled asks for a completion also when the request succeeds. One that fails
	// always completes with one. A request without completion keeps its place in the
	// queue until a later one's has been polled.
	Signaled WRFlags = 1 << iota
	// Fence holds the request back until earlier RDMA READs of the QP have ended.
	Fence
)

// WR is a work request for a send queue. It holds no Go pointers, so that it can
// lie in memory that a device or C code shares.
type WR struct {
	ID         uint64 // the owner's; returned in WC.ID
	RemoteAddr uint64 // Write, Read
	Key        uint32 // Write, Read, SendInv, BindWindow, LocalInv: rkey
	MW         uint32 // BindWindow: the window's handle
	Op         Opcode
	Flags      WRFlags
	Access     Access // BindWindow
	NumSGE     uint8  // 0 to MaxSGE
	SGE        [MaxSGE]SGE
}

// RecvWR is a work request for a receive queue.
type RecvWR struct {
	ID     uint64
	NumSGE uint8
	SGE    [MaxSGE]SGE
}

// Status is the result of a work request (IBA 11.6.2; the names are ibv_wc_status's).
type Status uint8

const (
	Success        Status = iota // completed
	LocLenErr                    // local length: message larger than the receive or the QP allows
	LocQPOpErr                   // local QP operation: the request is not consistent
	LocProtErr                   // local protection: an lkey, its bounds or its rights
	WRFlushErr                   // flushed: the QP was in error before the request was done
	MWBindErr                    // memory window bind
	BadRespErr                   // an unexpected response
	LocAccessErr                 // local access, at a responder that writes with invalidated memory
	RemInvReqErr                 // remote invalid request: the peer cannot take such a message
	RemAccessErr                 // remote access: an rkey, its bounds or its rights
	RemOpErr                     // remote operation: the peer could not finish it
	RetryExcErr                  // the peer does not answer
	RNRRetryExcErr               // the peer had no receive for too long
	FatalErr                     // the device is broken
	statusCount
)

var statusText = [...]string{
	"success", "local length error", "local QP operation error", "local protection error",
	"flushed: the QP was in error", "memory window bind error", "bad response", "local access error",
	"remote invalid request", "remote access error", "remote operation error",
	"transport retry count exceeded", "RNR retry count exceeded", "fatal device error",
}

func (s Status) String() string { return text(statusText[:], s, "status") }

// WC is a work completion.
type WC struct {
	ID      uint64 // of the work request
	QPN     uint32
	ByteLen uint32 // Recv: bytes received; Read: bytes read. Valid on Success
	InvKey  uint32 // Recv with Invalidated: the key
	Status  Status
	Op      Opcode
	// Invalidated says that the message was a SendInv and InvKey is invalid now.
	Invalidated bool
}

// QPState is a state of a queue pair (IBA 10.3.1).
type QPState uint8

const (
	Reset QPState = iota // nothing may be posted
	Init                 // receives may be posted
	RTR                  // ready to receive
	RTS                  // ready to send
	SQE                  // send queue error; unreachable for a reliable connection
	Error                // everything posted is flushed
	qpStateCount
)

var qpStateText = [...]string{"RESET", "INIT", "RTR", "RTS", "SQE", "ERR"}

func (s QPState) String() string { return text(qpStateText[:], s, "state") }

// transition is the table of IBA 10.3.1 for reliable connections, as far as a
// consumer may ask for it.
var transition = [qpStateCount][qpStateCount]bool{
	Reset: {Reset: true, Init: true},
	Init:  {Reset: true, Init: true, RTR: true, Error: true},
	RTR:   {Reset: true, RTS: true, Error: true},
	RTS:   {Reset: true, RTS: true, Error: true},
	SQE:   {Reset: true, RTS: true, Error: true},
	Error: {Reset: true, Error: true},
}

// CanGo reports whether a QP may be taken from s to t.
func (s QPState) CanGo(t QPState) bool {
	return s < qpStateCount && t < qpStateCount && transition[s][t]
}

// GUID is an EUI-64, in the order it is printed.
type GUID uint64

func (g GUID) String() string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", uint16(g>>48), uint16(g>>32), uint16(g>>16), uint16(g))
}

// GID is a global port identifier: on Ethernet, an IPv6 or IPv4-mapped address.
type GID [16]byte

// MarshalText makes it text in JSON, for logs.
func (g GID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

func (g GID) String() string {
	return fmt.Sprintf("%x:%x:%x:%x:%x:%x:%x:%x", g[0:2], g[2:4], g[4:6], g[6:8], g[8:10], g[10:12], g[12:14], g[14:16])
}
