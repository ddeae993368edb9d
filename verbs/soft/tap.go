package soft

import (
	"net/netip"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Tap sees what crosses the fabric, as a capture on the wire would. Both methods are
// called on several processors at a time, and must not wait.
type Tap interface {
	// Message is called when a request has been admitted at both ends, before its
	// bytes are copied. m is valid during the call.
	//
	//level:dispatch noalloc
	Message(f *dispatch.Frame, m *Message)
	// Manage is called for each message of the connection manager, before what it
	// allows can follow. m is valid during the call.
	//
	//level:dispatch
	Manage(m *Management)
}

// End is one end of a connection.
type End struct {
	Addr netip.Addr
	QPN  uint32
}

// Message is one request between two QPs.
type Message struct {
	From, To   End // of the request; the bytes of a Read go the other way
	Op         verbs.Opcode
	PSN        uint32 // of the first packet
	MTU        uint32 // that PSNs count by
	Key        uint32 // Write, Read, SendInv
	RemoteAddr uint64 // Write, Read
	Length     uint32
	data       *side
}

// CopyData copies the first bytes that the message moves into b and returns how
// many. Level: both.
func (m *Message) CopyData(b []byte) int {
	n := 0
	if m.data == nil {
		return 0
	}
	for i := range m.data.spans {
		n += copy(b[n:], m.data.spans[i].mem)
	}
	return n
}

// Forget makes m, a copy that outlasts the call, let go of the message's bytes.
func (m *Message) Forget() { m.data = nil }

// tapBegin shows the tap a transfer that is about to move its bytes.
func (q *qp) tapBegin(f *dispatch.Frame, t Tap, wr *verbs.WR) {
	p := q.peer
	msg := &q.m.tap
	*msg = Message{
		From: End{q.dev.addr, q.num}, To: End{p.dev.addr, p.num},
		Op: wr.Op, PSN: q.psn & 0xffffff, MTU: mtu, Key: wr.Key, RemoteAddr: wr.RemoteAddr,
		Length: uint32(q.m.left), data: &q.m.src,
	}
	t.Message(f, msg)
}

// ManageKind is a kind of connection manager message.
type ManageKind uint8

const (
	ConnectRequest    ManageKind = iota // REQ
	ConnectReply                        // REP
	ReadyToUse                          // RTU
	Rejected                            // REJ
	DisconnectRequest                   // DREQ
	DisconnectReply                     // DREP
)

// Management is a message of the connection manager (IBA 12.6). Local and remote
// are as the sender sees them.
type Management struct {
	Kind     ManageKind
	From, To netip.Addr
	// Transaction is the same for a message and its answers.
	Transaction       uint64
	LocalID, RemoteID uint32             // communication IDs; 0 where the sender knows none
	QPN               uint32             // REQ, REP: the sender's; DREQ: the receiver's
	PSN               uint32             // REQ, REP: the first that the receiver shall use
	GUID              verbs.GUID         // REQ, REP: of the sender's HCA
	MTU               uint32             // REQ: bytes
	ReadsAnswered     uint8              // REQ, REP: responder resources
	ReadsIssued       uint8              // REQ, REP: initiator depth
	RetryCount        uint8              // REQ
	RNRRetry          uint8              // REQ, REP
	PKey              uint16             // REQ
	ServiceID         uint64             // REQ
	RDMA              bool               // REQ by the RDMA CM: its header comes before Private
	SrcPort           uint16             // REQ by the RDMA CM
	Refused           ManageKind         // REJ: what is refused, ConnectRequest or ConnectReply
	Reason            verbs.RejectReason // REJ
	Private           []byte
}
