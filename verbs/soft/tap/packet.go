package tap

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
	"time"

	"minisrp/verbs"
	"minisrp/verbs/soft"
)

// Sizes in bytes and numbers of RoCEv2 (annex A17; IBA 9.2, 9.3).
const (
	etherSize = 14
	udpSize   = 8
	bthSize   = 12
	rethSize  = 16
	aethSize  = 4
	iethSize  = 4
	dethSize  = 8
	madSize   = 256
	icrcSize  = 4

	rocePort    = 4791
	gsiQP       = 1
	gsiQKey     = 0x80010000
	defaultPKey = 0xffff
)

// Opcodes of reliable connections (IBA 9.2, table of opcodes).
const (
	opSendFirst    = 0x00
	opSendMiddle   = 0x01
	opSendLast     = 0x02
	opSendOnly     = 0x04
	opSendLastInv  = 0x16
	opSendOnlyInv  = 0x17
	opWriteFirst   = 0x06
	opWriteMiddle  = 0x07
	opWriteLast    = 0x08
	opWriteOnly    = 0x0a
	opReadRequest  = 0x0c
	opReadFirst    = 0x0d
	opReadMiddle   = 0x0e
	opReadLast     = 0x0f
	opReadOnly     = 0x10
	opUDSendOnly   = 0x64
	ackUnlimited   = 0x1f // AETH: acknowledged, any number of messages may follow
	migrated       = 0x40 // BTH: MigReq, as RNICs send it
	ackRequest     = 1 << 31
	maxFrameHeader = etherSize + 40 + udpSize + bthSize + rethSize
)

// emitFunc is given a packet, and how long it was before it was cut.
type emitFunc func(at time.Duration, p []byte, length int)

// builder turns messages into packets.
//
// Ownership: the capture's goroutine.
type builder struct {
	emit emitFunc
	buf  []byte
	msn  map[uint32]uint32 // message sequence numbers, by responder's QP
	mad  uint32            // packet sequence number of QP 1
}

func newBuilder(emit emitFunc) *builder {
	return &builder{emit: emit, buf: make([]byte, 0, maxFrameHeader+madSize+4096), msn: map[uint32]uint32{}}
}

// packet is one packet to build.
type packet struct {
	from, to netip.Addr
	port     uint16 // source
	opcode   uint8
	qp       uint32 // destination
	psn      uint32 // with ackRequest
	ext      []byte // extended headers
	payload  []byte // what of it was kept
	length   int    // of the payload
}

// put builds a packet and emits it.
func (b *builder) put(at time.Duration, p *packet) {
	pad := -p.length & 3
	rest := bthSize + len(p.ext) + p.length + pad + icrcSize
	f := appendEthernet(b.buf[:0], p.from, p.to)
	ip := len(f)
	f = appendIP(f, p.from, p.to, udpSize+rest)
	udp := len(f)
	f = binary.BigEndian.AppendUint16(f, p.port)
	f = binary.BigEndian.AppendUint16(f, rocePort)
	f = binary.BigEndian.AppendUint16(f, uint16(udpSize+rest))
	f = append(f, 0, 0) // no checksum, as RNICs send them
	f = append(f, p.opcode, migrated|uint8(pad)<<4)
	f = binary.BigEndian.AppendUint16(f, defaultPKey)
	f = binary.BigEndian.AppendUint32(f, p.qp)
	f = binary.BigEndian.AppendUint32(f, p.psn&(ackRequest|0xffffff))
	f = append(f, p.ext...)
	f = append(f, p.payload...)
	whole := udp + udpSize + rest
	if len(p.payload) == p.length {
		f = append(f, make([]byte, pad)...)
		f = binary.LittleEndian.AppendUint32(f, icrc(f[ip:], udp-ip))
		if !p.from.Is4() {
			checksum(f[ip:]) // readers take none for an error there
		}
	}
	b.buf = f
	b.emit(at, f, whole)
}

// appendEthernet appends a header with addresses made of the IP addresses.
func appendEthernet(f []byte, from, to netip.Addr) []byte {
	for _, a := range []netip.Addr{to, from} {
		tail := a.As16()
		f = append(f, 2, 0, tail[12], tail[13], tail[14], tail[15])
	}
	if from.Is4() {
		return append(f, 0x08, 0x00)
	}
	return append(f, 0x86, 0xdd)
}

// appendIP appends an IPv4 or IPv6 header before n bytes.
func appendIP(f []byte, from, to netip.Addr, n int) []byte {
	const ttl, udp = 64, 17
	if !from.Is4() {
		f = append(f, 0x60, 0, 0, 0)
		f = binary.BigEndian.AppendUint16(f, uint16(n))
		f = append(f, udp, ttl)
		s, d := from.As16(), to.As16()
		return append(append(f, s[:]...), d[:]...)
	}
	at := len(f)
	f = append(f, 0x45, 0)
	f = binary.BigEndian.AppendUint16(f, uint16(20+n))
	f = append(f, 0, 0, 0x40, 0, ttl, udp, 0, 0) // ID 0, do not fragment
	s, d := from.As4(), to.As4()
	f = append(append(f, s[:]...), d[:]...)
	binary.BigEndian.PutUint16(f[at+10:], ^fold(sum(f[at:])))
	return f
}

// checksum sets the UDP checksum of an IPv6 packet (RFC 8200 section 8.1).
func checksum(p []byte) {
	udp := p[40:]
	c := ^fold(sum(p[8:40]) + uint32(len(udp)) + 17 + sum(udp))
	if c == 0 {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(udp[6:], c)
}

// sum adds 16-bit words.
func sum(b []byte) (s uint32) {
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	return s
}

func fold(s uint32) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

// icrc returns the invariant CRC of a packet from its IP header, of n bytes, to the
// end of its padding: over all but what routers change (annex A17.3.3).
func icrc(p []byte, n int) uint32 {
	var head [8 + 40 + udpSize + bthSize]byte
	h := head[:8+n+udpSize+bthSize]
	for i := range h[:8] {
		h[i] = 0xff
	}
	copy(h[8:], p)
	ip := h[8:]
	if n == 20 {
		ip[1], ip[8], ip[10], ip[11] = 0xff, 0xff, 0xff, 0xff // TOS, TTL, checksum
	} else {
		ip[0] |= 0x0f // traffic class and flow label, hop limit
		ip[1], ip[2], ip[3], ip[7] = 0xff, 0xff, 0xff, 0xff
	}
	ip[n+6], ip[n+7] = 0xff, 0xff // UDP checksum
	ip[n+udpSize+4] = 0xff        // BTH: congestion bits and reserved
	return crc32.Update(crc32.ChecksumIEEE(h), crc32.IEEETable, p[n+udpSize+bthSize:])
}

// message builds the packets of a message of which kept was kept.
func (b *builder) message(at time.Duration, m *soft.Message, kept []byte) {
	p := packet{
		from: m.From.Addr, to: m.To.Addr, qp: m.To.QPN,
		port: 0xc000 | uint16(m.From.QPN^m.To.QPN^m.From.QPN>>10^m.To.QPN>>10)&0x3fff, // one for both directions
	}
	msn := (b.msn[m.To.QPN] + 1) & 0xffffff
	b.msn[m.To.QPN] = msn
	reth := make([]byte, 0, rethSize)
	reth = binary.BigEndian.AppendUint64(reth, m.RemoteAddr)
	reth = binary.BigEndian.AppendUint32(reth, m.Key)
	reth = binary.BigEndian.AppendUint32(reth, m.Length)
	ops := operations[m.Op]
	if m.Op == verbs.Read {
		p.opcode, p.ext, p.psn = opReadRequest, reth, m.PSN|ackRequest
		b.put(at, &p)
		p.from, p.to, p.qp = p.to, p.from, m.From.QPN
	}
	aeth := binary.BigEndian.AppendUint32(nil, ackUnlimited<<24|msn)
	ieth := binary.BigEndian.AppendUint32(nil, m.Key)
	count := max(1, int((uint64(m.Length)+uint64(m.MTU)-1)/uint64(m.MTU)))
	for i := range count {
		first, last := i == 0, i == count-1
		off := i * int(m.MTU)
		p.length = min(int(m.Length)-off, int(m.MTU))
		p.payload = kept[min(len(kept), off):min(len(kept), off+p.length)]
		p.psn = (m.PSN + uint32(i)) & 0xffffff
		p.opcode = ops.pick(first, last)
		p.ext = nil
		switch {
		case m.Op == verbs.Write && first:
			p.ext = reth
		case m.Op == verbs.SendInv && last:
			p.ext = ieth
		case m.Op == verbs.Read && (first || last):
			p.ext = aeth
		}
		if last && m.Op != verbs.Read {
			p.psn |= ackRequest
		}
		b.put(at, &p)
	}
}

// operation is the opcodes of one kind of message.
type operation struct{ first, middle, last, only uint8 }

var operations = [...]operation{
	verbs.Send:    {opSendFirst, opSendMiddle, opSendLast, opSendOnly},
	verbs.SendInv: {opSendFirst, opSendMiddle, opSendLastInv, opSendOnlyInv},
	verbs.Write:   {opWriteFirst, opWriteMiddle, opWriteLast, opWriteOnly},
	verbs.Read:    {opReadFirst, opReadMiddle, opReadLast, opReadOnly},
}

func (o operation) pick(first, last bool) uint8 {
	switch {
	case first && last:
		return o.only
	case first:
		return o.first
	case last:
		return o.last
	}
	return o.middle
}
