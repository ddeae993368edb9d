package srp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// This file finds the information units in packet captures of SRP over RoCEv2, far enough to be independent of this
// module's own HCA: Ethernet, IP, UDP, BTH; the messages of RC SENDs; the private data of CM REQ, REP and REJ.

// A captured information unit, or the private data that holds one.
type captured struct {
	file      string
	packet    int    // its last packet's number in the file, from 1
	where     string // "SEND", or the CM message whose private data it is: "REQ", "REP", "REJ"
	rejReason uint16 // of a CM REJ
	data      []byte
}

const (
	roceUDPPort = 4791
	bthLen      = 12
	dethLen     = 8
	icrcLen     = 4
	madLen      = 256
	rdmaCMLen   = 36 // the RDMA CM's header in a REQ's private data
	rejConsumer = 28
)

// captures returns the names of all capture files.
func captures(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("testdata/captures/*.pcap.gz")
	if err != nil || len(files) == 0 {
		tb.Fatal("no captures in testdata: ", err)
	}
	return files
}

// capture returns the file whose name starts with a number, as in "04".
func capture(tb testing.TB, number string) []captured {
	tb.Helper()
	for _, file := range captures(tb) {
		if strings.HasPrefix(filepath.Base(file), number+"-") {
			return readCapture(tb, file)
		}
	}
	tb.Fatal("no capture ", number)
	return nil
}

func readCapture(tb testing.TB, file string) []captured {
	tb.Helper()
	f, err := os.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f) // sees the compression itself
	if err != nil {
		tb.Fatal(err)
	}
	if r.LinkType() != layers.LinkTypeEthernet {
		tb.Fatalf("%s: link type %v", file, r.LinkType())
	}
	d := dissector{tb: tb, file: filepath.Base(file), mtu: 1024,
		flows: make(map[flowKey]*flow), mads: make(map[string]bool)}
	for {
		packet, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return d.found
		}
		if err != nil {
			tb.Fatal(err)
		}
		d.packet++
		if info.CaptureLength != info.Length {
			tb.Fatalf("%s packet %d was cut at %d bytes", d.file, d.packet, info.CaptureLength)
		}
		d.ethernet(packet)
	}
}

type dissector struct {
	tb     testing.TB
	file   string
	packet int
	mtu    int
	flows  map[flowKey]*flow
	mads   map[string]bool // seen, to drop retransmitted ones
	found  []captured
}

// A flow is one direction of an RC connection.
type flowKey struct {
	to  netip.Addr
	qpn uint32
}

type flow struct {
	known bool
	psn   uint32 // of the next packet
	open  bool   // a SEND has begun
	msg   []byte
}

func (d *dissector) ethernet(p []byte) {
	const ethLen = 14
	var from, to netip.Addr
	var udp []byte
	switch binary.BigEndian.Uint16(p[12:]) {
	case 0x0800:
		from, _ = netip.AddrFromSlice(p[ethLen+12 : ethLen+16])
		to, _ = netip.AddrFromSlice(p[ethLen+16 : ethLen+20])
		udp = p[ethLen+int(p[ethLen]&0xf)*4:]
	case 0x86dd:
		from, _ = netip.AddrFromSlice(p[ethLen+8 : ethLen+24])
		to, _ = netip.AddrFromSlice(p[ethLen+24 : ethLen+40])
		udp = p[ethLen+40:]
	default:
		d.tb.Fatalf("%s packet %d: not IP", d.file, d.packet)
	}
	if port := binary.BigEndian.Uint16(udp[2:]); port != roceUDPPort {
		d.tb.Fatalf("%s packet %d: UDP port %d", d.file, d.packet, port)
	}
	d.bth(from, to, udp[8:binary.BigEndian.Uint16(udp[4:])])
}

func (d *dissector) bth(from, to netip.Addr, p []byte) {
	op, pad := p[0], int(p[1]>>4&3)
	qpn, psn := be24(p[5:]), be24(p[9:])
	body := p[bthLen : len(p)-icrcLen-pad]
	switch {
	case op == 0x64:
		d.mad(from, body[dethLen:][:madLen])
	case op < 0x20 && (op < 0x0d || op > 0x12): // requests, not responses and acknowledgements
		d.rc(flowKey{to, qpn}, op, psn, body)
	}
}

func (d *dissector) rc(key flowKey, op byte, psn uint32, body []byte) {
	f := d.flows[key]
	if f == nil {
		f = new(flow)
		d.flows[key] = f
	}
	if !f.known {
		f.known, f.psn = true, psn
	}
	switch diff := int32((psn-f.psn)<<8) >> 8; {
	case diff < 0:
		return // sent again
	case diff > 0:
		d.tb.Fatalf("%s packet %d: PSN %06x, want %06x", d.file, d.packet, psn, f.psn)
	}
	psns := uint32(1)
	if op == 0x0c { // an RDMA READ request takes the PSNs of its responses
		length := int(binary.BigEndian.Uint32(body[12:]))
		psns = uint32(max(1, (length+d.mtu-1)/d.mtu))
	}
	f.psn = (f.psn + psns) & 0xffffff

	switch op {
	case 0x00: // SEND first
		f.open, f.msg = true, bytes.Clone(body)
	case 0x01, 0x02: // SEND middle, last
		if !f.open {
			return // begun before the capture
		}
		f.msg = append(f.msg, body...)
		if op == 0x02 {
			f.open = false
			d.add("SEND", 0, f.msg)
		}
	case 0x04: // SEND only
		d.add("SEND", 0, bytes.Clone(body))
	case 0x03, 0x05, 0x16, 0x17:
		d.tb.Fatalf("%s packet %d: RC opcode 0x%02x", d.file, d.packet, op)
	}
}

func (d *dissector) mad(from netip.Addr, mad []byte) {
	if d.mads[string(mad)] {
		return
	}
	d.mads[string(mad)] = true
	cm := mad[24:]
	switch attr := binary.BigEndian.Uint16(mad[16:]); attr {
	case 0x10: // REQ
		d.mtu = 128 << (cm[50] >> 4)
		d.expect(flowKey{from, be24(cm[32:])}, be24(cm[44:]))
		d.add("REQ", 0, cm[140+rdmaCMLen:232])
	case 0x12: // REJ
		reason := binary.BigEndian.Uint16(cm[10:])
		d.add("REJ", reason, cm[84:232])
	case 0x13: // REP
		d.expect(flowKey{from, be24(cm[12:])}, be24(cm[20:]))
		d.add("REP", 0, cm[36:232])
	}
}

// expect notes the first PSN that goes to a QP: the one that the QP's owner asks for.
func (d *dissector) expect(key flowKey, psn uint32) {
	d.flows[key] = &flow{known: true, psn: psn}
}

func (d *dissector) add(where string, reason uint16, data []byte) {
	d.found = append(d.found, captured{d.file, d.packet, where, reason, bytes.Clone(data)})
}

func be24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }
