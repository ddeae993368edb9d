package srp_test

import (
	"bytes"
	"encoding/hex"
	"slices"
	"testing"

	"minisrp/srp"
)

// A span is a field's place in an information unit.
type span struct{ at, n int }

// defined lists, IU by IU, where its fields stand in its fixed part; what is not listed is reserved. It was written
// from the standard's layouts, not from the encoders.
var defined = map[srp.Opcode][]span{
	srp.OpLoginReq:       {{0, 1}, {8, 8}, {16, 4}, {24, 2}, {26, 1}, {28, 2}, {32, 16}, {48, 16}},
	srp.OpLoginRsp:       {{0, 1}, {4, 4}, {8, 8}, {16, 4}, {20, 4}, {24, 2}, {26, 1}},
	srp.OpLoginRej:       {{0, 1}, {4, 4}, {8, 8}, {24, 2}},
	srp.OpILogout:        {{0, 1}, {8, 8}},
	srp.OpTLogout:        {{0, 1}, {1, 1}, {4, 4}, {8, 8}},
	srp.OpTaskManagement: {{0, 1}, {1, 1}, {8, 8}, {20, 8}, {30, 1}, {32, 8}},
	srp.OpCommand:        {{0, 1}, {1, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 8}, {20, 8}, {29, 1}, {31, 1}, {32, 16}},
	srp.OpResponse: {{0, 1}, {1, 1}, {4, 4}, {8, 8}, {18, 1}, {19, 1}, {20, 4}, {24, 4}, {28, 4},
		{32, 4}},
	srp.OpCredReq: {{0, 1}, {1, 1}, {4, 4}, {8, 8}},
	srp.OpCredRsp: {{0, 1}, {8, 8}},
	srp.OpAERReq:  {{0, 1}, {1, 1}, {4, 4}, {8, 8}, {20, 8}, {28, 4}},
	srp.OpAERRsp:  {{0, 1}, {8, 8}},
}

// definedRDMACM is the same for the login request in RDMA CM's form.
var definedRDMACM = []span{{0, 8}, {8, 2}, {10, 1}, {11, 1}, {12, 4}, {16, 16}, {32, 16}, {48, 2}}

var fixedLen = map[srp.Opcode]int{
	srp.OpLoginReq: 64, srp.OpLoginRsp: 52, srp.OpLoginRej: 32, srp.OpILogout: 16, srp.OpTLogout: 16,
	srp.OpTaskManagement: 48, srp.OpCommand: 48, srp.OpResponse: 36, srp.OpCredReq: 16, srp.OpCredRsp: 16,
	srp.OpAERReq: 36, srp.OpAERRsp: 16,
}

// normalize returns the IU with all that has no meaning set to zero: reserved bytes, the low bits of ADDITIONAL CDB
// LENGTH, counts of buffers that are not indirect, list lengths that are not valid.
func normalize(b []byte, rdmaCM bool) []byte {
	out := bytes.Clone(b)
	spans, n := definedRDMACM, srp.LoginReqRDMACMLen
	if !rdmaCM {
		op := srp.Opcode(b[0])
		spans, n = defined[op], fixedLen[op]
	}
	clear(out[:n])
	for _, s := range spans {
		copy(out[s.at:s.at+s.n], b[s.at:])
	}
	if rdmaCM {
		return out
	}
	switch srp.Opcode(b[0]) {
	case srp.OpCommand:
		out[31] &= 0xfc
		if b[5]>>4 != 2 {
			out[6] = 0
		}
		if b[5]&0xf != 2 {
			out[7] = 0
		}
	case srp.OpResponse:
		if b[18]&0x02 == 0 {
			clear(out[28:32])
		}
		if b[18]&0x01 == 0 {
			clear(out[32:36])
		}
	}
	return out
}

// A sample is an information unit both ways: as a struct, and as bytes written out by hand.
type sample struct {
	name string
	iu   codec
	hex  string
}

func samples() []sample {
	const tag, lun = 0x0102030405060708, 2
	out := srp.Desc{Addr: 0x1000, RKey: 0xa1, Len: 0x200}
	in := srp.Desc{Addr: 0x2000, RKey: 0xb2, Len: 0x300}
	two := appendAll(in, srp.Desc{Addr: 0x9000, RKey: 0xb2, Len: 0x10})
	cdb := []byte{0x28, 0, 0, 0, 0, 8, 0, 0, 1, 0}
	cdb32 := append([]byte{0x7f}, bytes.Repeat([]byte{0xee}, 31)...)
	cmd := func(cdb []byte, out, in srp.DataBuffer) *command {
		return &command{srp.Command{Tag: tag, LUN: [8]byte{1: lun}, CDB: cdb, DataOut: out, DataIn: in}}
	}
	const head = "0102030405060708 00000000 0002000000000000 00 00 00"
	const cdbHex = "28000000000800000100 000000000000"
	none := srp.DataBuffer{}
	bidi := cmd(cdb, srp.DirectBuffer(out), srp.DirectBuffer(in))
	bidi.Notification, bidi.Attribute = srp.NotifySuccess|srp.NotifyFailure, srp.Ordered
	imm := cmd(cdb, srp.ImmediateBuffer(3), none)
	imm.ImmediateData = []byte{7, 8, 9}
	immIn := cmd(cdb, srp.ImmediateBuffer(1), srp.DirectBuffer(in))
	immIn.CDB, immIn.ImmediateData = nil, []byte{7}

	login := srp.LoginReq{Tag: tag, MaxITIULen: 8260, BufferFormats: srp.BufferDirect | srp.BufferIndirect,
		Flags: srp.LoginMultiChannel | srp.LoginImmediateWanted | srp.LoginAERNotify, ImmediateOffset: 68,
		Initiator: srp.IOClassR16a.PortID(1, 2), Target: srp.IOClassR16a.PortID(3, 4)}
	tmf := srp.Response{RequestLimitDelta: -2, Tag: tag}
	tmf.SetResponseCode(srp.ResponseNotSupported)

	return []sample{
		{"login request", &login, "00 00000000000000 0102030405060708 00002044 00000000 0006 c1 00 0044 0000 " +
			"0000000000000001 0000000000000002 0000000000000003 0000000000000004"},
		{"login request, RDMA CM", &rdmaCMLoginReq{login}, "0102030405060708 0006 c1 00 00002044 " +
			"0000000000000001 0000000000000002 0000000000000003 0000000000000004 0044 000000000000"},
		{"login response", &srp.LoginRsp{RequestLimitDelta: 128, Tag: tag, MaxITIULen: 8276, MaxTIIULen: 8260,
			BufferFormats: 6, Flags: srp.ChannelsMaintained | srp.SolicitedSupported | srp.ImmediateSupported},
			"c0 000000 00000080 0102030405060708 00002054 00002044 0006 92 " +
				"00 000000000000000000000000000000000000000000000000"},
		{"login reject", &srp.LoginRej{Reason: srp.RejectNoMultiChannel, Tag: tag, BufferFormats: 2},
			"c2 000000 00010005 0102030405060708 0000000000000000 0002 000000000000"},
		{"initiator logout", &srp.ILogout{Tag: tag}, "03 00000000000000 0102030405060708"},
		{"target logout", &srp.TLogout{Notification: srp.Solicited, Reason: srp.LogoutMultiChannel, Tag: tag},
			"80 01 0000 00000004 0102030405060708"},
		{"task management", &srp.TaskManagement{Notification: srp.NotifyFailure, Tag: tag, LUN: [8]byte{1: lun},
			Function: srp.AbortTask, TaskTag: 0x1122334455667788},
			"01 04 000000000000 0102030405060708 00000000 0002000000000000 0000 01 00 1122334455667788 0000000000000000"},
		{"command", cmd(cdb, none, none), "02 00 000000 00 00 00 " + head + " 00 " + cdbHex},
		{"command, direct out", cmd(cdb, srp.DirectBuffer(out), none),
			"02 00 000000 10 00 00 " + head + " 00 " + cdbHex + "0000000000001000 000000a1 00000200"},
		{"command, bidirectional", bidi, "02 06 000000 11 00 00 0102030405060708 00000000 0002000000000000 00 02 00 00 " +
			cdbHex + "0000000000001000 000000a1 00000200 0000000000002000 000000b2 00000300"},
		{"command, indirect in", cmd(cdb, none, srp.IndirectBuffer(srp.Desc{Addr: 0x5000, RKey: 0xc3, Len: 32}, two, 0x310)),
			"02 00 000000 02 00 02 " + head + " 00 " + cdbHex + "0000000000005000 000000c3 00000020 00000310" +
				"0000000000002000 000000b2 00000300 0000000000009000 000000b2 00000010"},
		{"command, partial table out", cmd(cdb, srp.IndirectBuffer(srp.Desc{Addr: 0x5000, RKey: 0xc3, Len: 4096}, two, 1<<20), none),
			"02 00 000000 20 02 00 " + head + " 00 " + cdbHex + "0000000000005000 000000c3 00001000 00100000" +
				"0000000000002000 000000b2 00000300 0000000000009000 000000b2 00000010"},
		{"command, table not in the IU, and direct in",
			cmd(cdb, srp.IndirectBuffer(srp.Desc{Addr: 0x5000, RKey: 0xc3, Len: 4096}, nil, 1<<20), srp.DirectBuffer(in)),
			"02 00 000000 21 00 00 " + head + " 00 " + cdbHex + "0000000000005000 000000c3 00001000 00100000" +
				"0000000000002000 000000b2 00000300"},
		{"command, 32-byte CDB, direct in", cmd(cdb32, none, srp.DirectBuffer(in)),
			"02 00 000000 01 00 00 " + head + " 10 7f" + hex.EncodeToString(cdb32[1:]) + "0000000000002000 000000b2 00000300"},
		{"command, immediate out", imm,
			"02 00 000000 30 00 00 " + head + " 00 " + cdbHex + "00000003 00000000000000000000000000000000 070809"},
		{"command, immediate out, direct in", immIn,
			"02 00 000000 31 00 00 " + head + " 00 00000000000000000000000000000000" +
				"00000001 0000000000002000 000000b2 00000300 07"},
		{"response", &srp.Response{RequestLimitDelta: 1, Tag: tag, Flags: srp.DataInUnder | srp.DataOutOver, Status: 8,
			DataOutResidual: 5, DataInResidual: 6},
			"c1 00 0000 00000001 0102030405060708 0000 24 08 00000005 00000006 00000000 00000000"},
		{"response with sense data", &srp.Response{Notification: srp.Solicited, Tag: tag, Flags: srp.SenseValid,
			Status: 2, Sense: []byte{0x70, 0, 5}},
			"c1 01 0000 00000000 0102030405060708 0000 02 02 00000000 00000000 00000003 00000000 700005"},
		{"response with response code", &tmf,
			"c1 00 0000 fffffffe 0102030405060708 0000 01 00 00000000 00000000 00000000 00000004 00000004"},
		{"response with both", &srp.Response{Tag: tag, ResponseData: []byte{0, 0, 0, 2}, Sense: []byte{0x72}},
			"c1 00 0000 00000000 0102030405060708 0000 03 00 00000000 00000000 00000001 00000004 00000002 72"},
		{"credit request", &srp.CredReq{Notification: srp.Solicited, RequestLimitDelta: -1, Tag: tag},
			"81 01 0000 ffffffff 0102030405060708"},
		{"credit response", &srp.CredRsp{Tag: tag}, "41 00000000000000 0102030405060708"},
		{"asynchronous event request", &srp.AERReq{RequestLimitDelta: 1, Tag: tag, LUN: [8]byte{1: lun},
			Sense: []byte{0x70, 0, 6}},
			"82 00 0000 00000001 0102030405060708 00000000 0002000000000000 00000003 00000000 700006"},
		{"asynchronous event response", &srp.AERRsp{Tag: tag}, "42 00000000000000 0102030405060708"},
	}
}

func appendAll(descs ...srp.Desc) srp.DescList {
	l := make(srp.DescList, 0, len(descs)*srp.DescLen)
	for _, d := range descs {
		l, _ = l.Append(d)
	}
	return l
}

func (s sample) bytes(tb testing.TB) []byte {
	tb.Helper()
	b, err := hex.DecodeString(string(slices.DeleteFunc([]byte(s.hex), func(c byte) bool { return c == ' ' })))
	if err != nil {
		tb.Fatal(s.name, ": ", err)
	}
	return b
}

func (s sample) rdmaCM() bool { _, ok := s.iu.(*rdmaCMLoginReq); return ok }

// TestLayouts holds encoders and decoders against bytes written by hand from the standard's layouts.
func TestLayouts(t *testing.T) {
	seen := make(map[srp.Opcode]bool)
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			want := s.bytes(t)
			buf := bytes.Repeat([]byte{0xff}, len(want)+8)
			n, err := s.iu.Encode(buf)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(buf[:n], want) {
				t.Errorf("encodes to\n% x, want\n% x", buf[:n], want)
			}
			if !bytes.Equal(buf[n:], bytes.Repeat([]byte{0xff}, 8)) {
				t.Error("wrote after the IU")
			}
			c := codecFor(want, s.rdmaCM())
			if got, err := reencode(c, want); err != nil || !bytes.Equal(got, want) {
				t.Errorf("reencodes to\n% x, %v, want\n% x", got, err, want)
			}
			if norm := normalize(want, s.rdmaCM()); !bytes.Equal(norm, want) {
				t.Errorf("the table of fields leaves\n% x of\n% x", norm, want)
			}
			if !s.rdmaCM() {
				op, _, _ := srp.Peek(want)
				seen[op] = true
			}
		})
	}
	for op := range defined {
		if !seen[op] {
			t.Errorf("no sample of %v", op)
		}
	}
}

// TestShortIsAnError cuts every sample and every captured IU at every length: it must be an error, and nothing after
// the cut may be looked at. Encoders must refuse short buffers in the same way.
func TestShortIsAnError(t *testing.T) {
	short := func(t *testing.T, name string, rdmaCM bool, whole []byte) {
		for n := range whole {
			c := codecFor(whole, rdmaCM)
			checkFormatError(t, name, c.Decode(whole[:n:n]))
		}
	}
	for _, s := range samples() {
		whole := s.bytes(t)
		short(t, s.name, s.rdmaCM(), whole)
		if cmd, ok := s.iu.(*command); ok && cmd.DataOut.Format == srp.DataImmediate {
			whole = whole[:immediateOffset] // the rest is not the encoder's
		}
		for n := range whole {
			_, err := s.iu.Encode(make([]byte, n))
			checkFormatError(t, s.name, err)
		}
	}
	for _, number := range []string{"01", "04", "08", "10", "29"} {
		for _, iu := range capture(t, number) {
			if iu.where == "SEND" && len(iu.data) < 1000 {
				short(t, iu.file, false, iu.data)
			}
		}
	}
}
