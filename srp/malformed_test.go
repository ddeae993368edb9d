package srp_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"minisrp/srp"
)

// checkFormatError holds err to be what the package promises for bad input, and returns it.
func checkFormatError(t *testing.T, name string, err error) *srp.FormatError {
	t.Helper()
	var format *srp.FormatError
	if !errors.Is(err, srp.ErrFormat) || !errors.As(err, &format) {
		t.Errorf("%s: error %v, want a FormatError", name, err)
		return &srp.FormatError{}
	}
	if !strings.HasPrefix(err.Error(), "srp: SRP_") {
		t.Errorf("%s: text %q does not name the IU", name, err)
	}
	return format
}

func find(t *testing.T, name string) []byte {
	t.Helper()
	for _, s := range samples() {
		if s.name == name {
			return s.bytes(t)
		}
	}
	t.Fatal("no sample ", name)
	return nil
}

// TestContradictionsAreErrors changes one length or count of a good IU.
func TestContradictionsAreErrors(t *testing.T) {
	const indirect, partial, direct = "command, indirect in", "command, partial table out", "command, bidirectional"
	put := func(at int, v uint32) func([]byte) { return func(b []byte) { binary.BigEndian.PutUint32(b[at:], v) } }
	set := func(at int, v byte) func([]byte) { return func(b []byte) { b[at] = v } }
	for _, c := range []struct {
		name   string
		sample string
		change func([]byte)
		field  string
		want   uint64
	}{
		{"type", "response", set(0, 0xc0), "type", 0xc1},
		{"type of the RDMA CM login", "login request, RDMA CM", set(11, 0xc0), "type", 0},
		{"additional CDB past the end", "command", set(31, 4), "additional CDB length", 0},
		{"additional CDB into the descriptor", "command, 32-byte CDB, direct in", set(31, 0x14),
			"length for the data-in buffer descriptor", 84},
		{"data-out format 4", direct, set(5, 0x41), "data-out buffer format", 3},
		{"data-in format 15", direct, set(5, 0x1f), "data-in buffer format", 3},
		{"immediate data-in", direct, set(5, 0x13), "data-in buffer format", 2},
		{"count past the end", indirect, set(7, 3), "length for the data-in buffer descriptor", 116},
		{"count 255", partial, set(6, 255), "length for the data-out buffer descriptor", 4148},
		{"count above the table's", indirect, put(60, 16), "data-in buffer descriptor count", 1},
		{"table length no multiple of 16", indirect, put(60, 33), "data-in memory table length", 16},
		{"total length above the sum", indirect, put(64, 0x311), "data-in total length", 0x310},
		{"total length below the sum", indirect, put(64, 0x30f), "data-in total length", 0x310},
		{"total length below part of the table", partial, put(64, 0x30f), "data-out total length", 0x310},
		{"sum above 32 bits", indirect, func(b []byte) { put(80, 0xfffffff0)(b); put(96, 0x20)(b); put(64, 0x10)(b) },
			"data-in total length", 0x100000010},
		{"memory past the address space", direct, func(b []byte) { put(48, 0xffffffff)(b); put(52, 0xfffffff0)(b) },
			"data-out memory's last address", 0xfffffffffffffff0},
		{"listed memory past the address space", indirect, func(b []byte) { put(68, 0xffffffff)(b); put(72, 0xfffffff0)(b) },
			"data-in memory's last address", 0xfffffffffffffff0},
		{"table past the address space", indirect, func(b []byte) { put(48, 0xffffffff)(b); put(52, 0xfffffff0)(b) },
			"data-in memory's last address", 0xfffffffffffffff0},
		{"immediate length past the end", "command, immediate out", put(48, 4), "data-out length", 3},
		{"immediate length that wraps", "command, immediate out", put(48, 0xffffffff), "data-out length", 3},
		{"response data past the end", "response with response code", put(32, 5), "response data list length", 4},
		{"response data that wraps", "response with both", put(32, 0xffffffff), "response data list length", 5},
		{"sense data past the end", "response with sense data", put(28, 4), "sense data list length", 3},
		{"sense data after response data", "response with both", put(28, 2), "sense data list length", 1},
		{"lengths whose sum wraps", "response with both", put(28, 0xfffffffd), "sense data list length", 1},
		{"event's sense data past the end", "asynchronous event request", put(28, 4), "sense data list length", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := find(t, c.sample)
			rdmaCM := c.sample == "login request, RDMA CM"
			iu := codecFor(b, rdmaCM)
			c.change(b)
			got := checkFormatError(t, c.name, iu.Decode(b))
			if got.Field != c.field || got.Want != c.want {
				t.Errorf("%v; want it to name %q and %d", got, c.field, c.want)
			}
		})
	}
}

// TestImmediateMustBeAgreedOn: an offset of 0 is no agreement.
func TestImmediateMustBeAgreedOn(t *testing.T) {
	var cmd srp.Command
	checkFormatError(t, "decode", cmd.Decode(find(t, "command, immediate out"), 0))
	checkFormatError(t, "decode", cmd.Decode(find(t, "command, immediate out"), -1))
	cmd = srp.Command{DataOut: srp.ImmediateBuffer(1)}
	_, err := cmd.Encode(make([]byte, 100), 0)
	checkFormatError(t, "encode", err)
}

func TestImmediateOffsetOutsideTheIU(t *testing.T) {
	b := find(t, "command, immediate out") // its descriptor ends at 52, it at 71
	for _, c := range []struct {
		offset int
		want   uint64
	}{{51, 52}, {72, 71}} {
		var cmd srp.Command
		got := checkFormatError(t, "decode", cmd.Decode(b, c.offset))
		if got.Field != "immediate data offset" || got.Want != c.want {
			t.Errorf("offset %d: %v", c.offset, got)
		}
	}
}

// TestBadCommandCanBeAnswered: what an answer needs is there when the descriptors are wrong.
func TestBadCommandCanBeAnswered(t *testing.T) {
	b := find(t, "command, indirect in")
	b[7] = 200
	var cmd srp.Command
	checkFormatError(t, "decode", cmd.Decode(b, 0))
	if cmd.Tag != 0x0102030405060708 || cmd.LUN != [8]byte{1: 2} || cmd.CDB[0] != 0x28 {
		t.Errorf("got %+v", cmd)
	}
}

// TestBadResponseEndsItsCommand: credit, tag, status and residuals are there when the lists are cut off.
func TestBadResponseEndsItsCommand(t *testing.T) {
	b := find(t, "response with sense data")
	b[7] = 3
	var rsp srp.Response
	checkFormatError(t, "decode", rsp.Decode(b[:srp.ResponseLen]))
	if rsp.Tag != 0x0102030405060708 || rsp.Status != 2 || rsp.RequestLimitDelta != 3 || len(rsp.Sense) != 0 {
		t.Errorf("got %+v", rsp)
	}
}

// TestInvalidListLengthIsIgnored: without its valid bit a list length means nothing.
func TestInvalidListLengthIsIgnored(t *testing.T) {
	b := find(t, "response")
	binary.BigEndian.PutUint32(b[28:], 1000)
	binary.BigEndian.PutUint32(b[32:], 1000)
	var rsp srp.Response
	if err := rsp.Decode(b); err != nil || len(rsp.Sense) != 0 || len(rsp.ResponseData) != 0 {
		t.Errorf("got %+v, %v", rsp, err)
	}
}

// TestBytesAfterAnIUAreIgnored, as a CM message's private data has them.
func TestBytesAfterAnIUAreIgnored(t *testing.T) {
	for _, s := range samples() {
		b := s.bytes(t)
		if err := codecFor(b, s.rdmaCM()).Decode(append(b, 1, 2, 3)); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

// TestEncoderRefuses what its own decoder would.
func TestEncoderRefuses(t *testing.T) {
	d := srp.Desc{Addr: 0x1000, Len: 16}
	wrapping := srp.Desc{Addr: 1<<64 - 8, Len: 16}
	table := func(descs uint32) srp.Desc { return srp.Desc{Addr: 0x4000, Len: descs * srp.DescLen} }
	many := make(srp.DescList, 256*srp.DescLen)
	for _, c := range []struct {
		name  string
		cmd   srp.Command
		field string
	}{
		{"17-byte CDB", srp.Command{CDB: make([]byte, 17)}, "additional CDB length"},
		{"CDB too long", srp.Command{CDB: make([]byte, srp.CDBLen+srp.MaxAdditionalCDBLen+4)}, "additional CDB length"},
		{"length without data", srp.Command{DataIn: srp.DataBuffer{Length: 1}}, "data-in length"},
		{"direct of another length", srp.Command{DataOut: srp.DataBuffer{Format: srp.DataDirect, Desc: d, Length: 17}},
			"data-out length"},
		{"direct that wraps", srp.Command{DataOut: srp.DirectBuffer(wrapping)},
			"data-out memory's last address"},
		{"unknown format", srp.Command{DataIn: srp.DataBuffer{Format: 4}}, "data-in buffer format"},
		{"immediate data-in", srp.Command{DataIn: srp.ImmediateBuffer(1)}, "data-in buffer format"},
		{"256 descriptors", srp.Command{DataIn: srp.IndirectBuffer(table(256), many, 0)}, "data-in buffer descriptor count"},
		{"list longer than the table", srp.Command{DataIn: srp.IndirectBuffer(table(1), appendAll(d, d), 32)},
			"data-in buffer descriptor count"},
		{"list cut within a descriptor", srp.Command{DataIn: srp.IndirectBuffer(table(1), make(srp.DescList, 15), 0)},
			"data-in memory descriptor list length"},
		{"wrong total", srp.Command{DataOut: srp.IndirectBuffer(table(2), appendAll(d, d), 33)}, "data-out total length"},
		{"spare of another length", srp.Command{DataOut: srp.ImmediateBuffer(1), Spare: make([]byte, 15)}, "spare length"},
		{"no room before immediate data", srp.Command{CDB: make([]byte, 36), DataOut: srp.ImmediateBuffer(1)},
			"immediate data offset"},
	} {
		n, err := c.cmd.Encode(make([]byte, 8192), immediateOffset)
		if got := checkFormatError(t, c.name, err); got.Field != c.field || n != 0 {
			t.Errorf("%s: %v, n %d; want it to name %q", c.name, got, n, c.field)
		}
	}
}

func TestPeek(t *testing.T) {
	if _, _, ok := srp.Peek(make([]byte, srp.HeaderLen-1)); ok {
		t.Error("15 bytes are an IU")
	}
	if op, tag, ok := srp.Peek(find(t, "credit request")); op != srp.OpCredReq || tag != 0x0102030405060708 || !ok {
		t.Errorf("got %v, %x, %v", op, tag, ok)
	}
}
