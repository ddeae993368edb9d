package tap

import (
	"encoding/binary"
	"net/netip"
	"time"

	"minisrp/verbs/soft"
)

// management builds the MAD of a message of the connection manager (IBA 12.6, 13.4.2).
func (b *builder) management(at time.Duration, m *soft.Management, private []byte) {
	deth := binary.BigEndian.AppendUint32(nil, gsiQKey)
	deth = binary.BigEndian.AppendUint32(deth, gsiQP)
	mad := make([]byte, madSize)
	mad[0], mad[1], mad[2], mad[3] = 1, 0x07, 2, 0x03 // base version, class CM, its version, Send
	binary.BigEndian.PutUint64(mad[8:], m.Transaction)
	binary.BigEndian.PutUint16(mad[16:], attributes[m.Kind])
	cm := mad[24:]
	binary.BigEndian.PutUint32(cm[0:], m.LocalID)
	if m.Kind != soft.ConnectRequest {
		binary.BigEndian.PutUint32(cm[4:], m.RemoteID)
	}
	switch m.Kind {
	case soft.ConnectRequest:
		request(cm, m, private)
	case soft.ConnectReply:
		put24(cm[12:], m.QPN)
		put24(cm[20:], m.PSN)
		cm[24], cm[25] = m.ReadsAnswered, m.ReadsIssued
		cm[26] = targetAckDelay<<3 | 1 // with end to end flow control
		cm[27] = m.RNRRetry << 5
		binary.BigEndian.PutUint64(cm[28:], uint64(m.GUID))
		copy(cm[36:], private)
	case soft.Rejected:
		if m.Refused == soft.ConnectReply {
			cm[8] = 1 << 6
		}
		binary.BigEndian.PutUint16(cm[10:], uint16(m.Reason))
		copy(cm[84:], private)
	case soft.DisconnectRequest:
		put24(cm[8:], m.QPN)
	}
	b.mad++
	b.put(at, &packet{
		from: m.From, to: m.To, port: 0xc000, opcode: opUDSendOnly, qp: gsiQP, psn: b.mad & 0xffffff,
		ext: deth, payload: mad, length: madSize,
	})
}

// The attribute IDs of IBA 12.6.
var attributes = [...]uint16{
	soft.ConnectRequest: 0x10, soft.Rejected: 0x12, soft.ConnectReply: 0x13, soft.ReadyToUse: 0x14,
	soft.DisconnectRequest: 0x15, soft.DisconnectReply: 0x16,
}

// Values that the soft fabric has no use for, as other stacks choose them.
const (
	cmTimeout      = 20 // 4 s
	cmRetries      = 15
	ackTimeout     = 14 // 68 ms
	targetAckDelay = 15
	hopLimit       = 64
)

// request writes a REQ (IBA 12.6.5).
func request(cm []byte, m *soft.Management, private []byte) {
	binary.BigEndian.PutUint64(cm[8:], m.ServiceID)
	binary.BigEndian.PutUint64(cm[16:], uint64(m.GUID))
	put24(cm[32:], m.QPN)
	cm[35], cm[39] = m.ReadsAnswered, m.ReadsIssued
	cm[43] = cmTimeout<<3 | 1 // reliable connection, end to end flow control
	put24(cm[44:], m.PSN)
	cm[47] = cmTimeout<<3 | m.RetryCount&7
	binary.BigEndian.PutUint16(cm[48:], m.PKey)
	cm[50] = mtuCode(m.MTU)<<4 | m.RNRRetry&7
	cm[51] = cmRetries << 4
	binary.BigEndian.PutUint16(cm[52:], 0xffff) // permissive LIDs
	binary.BigEndian.PutUint16(cm[54:], 0xffff)
	from, to := m.From.As16(), m.To.As16()
	copy(cm[56:], from[:])
	copy(cm[72:], to[:])
	cm[93] = hopLimit
	cm[95] = ackTimeout << 3
	p := cm[140:]
	if m.RDMA {
		p = ipHeader(p, m)
	}
	copy(p, private)
}

// ipHeader writes the RDMA IP CM service's header (annex A11) and returns what is
// behind it.
func ipHeader(p []byte, m *soft.Management) []byte {
	put := func(b []byte, a netip.Addr) {
		if a.Is4() {
			v := a.As4()
			copy(b[12:], v[:])
			return
		}
		v := a.As16()
		copy(b, v[:])
	}
	p[1] = 6 << 4
	if m.From.Is4() {
		p[1] = 4 << 4
	}
	binary.BigEndian.PutUint16(p[2:], m.SrcPort)
	put(p[4:20], m.From)
	put(p[20:36], m.To)
	return p[36:]
}

// mtuCode returns the code of a path MTU: 1 for 256 bytes to 5 for 4096.
func mtuCode(bytes uint32) (code uint8) {
	for code = 1; code < 5 && bytes > 128<<code; code++ {
	}
	return code
}

func put24(b []byte, v uint32) { b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v) }
