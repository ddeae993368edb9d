package srp_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"minisrp/srp"
)

// TestCapturedIUsReencode holds for every IU that Linux sent: it decodes, and encodes to the same bytes.
func TestCapturedIUsReencode(t *testing.T) {
	counts := make(map[srp.Opcode]int)
	formats := make(map[srp.DataFormat]int)
	plainRejects := 0
	for _, file := range captures(t) {
		for _, iu := range readCapture(t, file) {
			if iu.where == "REJ" && iu.rejReason != rejConsumer {
				plainRejects++
				continue
			}
			c := codecFor(iu.data, iu.where == "REQ")
			if c == nil {
				t.Errorf("%s packet %d: % x is no IU", iu.file, iu.packet, iu.data)
				continue
			}
			got, err := reencode(c, iu.data)
			if err != nil {
				t.Errorf("%s packet %d: %v", iu.file, iu.packet, err)
				continue
			}
			want, rest := iu.data[:len(got)], iu.data[len(got):]
			if !bytes.Equal(got, want) {
				t.Errorf("%s packet %d:\ngot  %x\nwant %x", iu.file, iu.packet, got, want)
			}
			if iu.where == "SEND" && len(rest) > 0 || len(bytes.Trim(rest, "\x00")) > 0 {
				t.Errorf("%s packet %d: %x left over", iu.file, iu.packet, rest)
			}
			op := srp.OpLoginReq
			if iu.where != "REQ" {
				op, _, _ = srp.Peek(iu.data)
			}
			counts[op]++
			if cmd, ok := c.(*command); ok {
				formats[cmd.DataOut.Format]++
				formats[cmd.DataIn.Format]++
			}
		}
	}
	for _, op := range []srp.Opcode{srp.OpLoginReq, srp.OpLoginRsp, srp.OpLoginRej, srp.OpTaskManagement,
		srp.OpCommand, srp.OpResponse} {
		t.Logf("%-14v %5d", op, counts[op])
		if counts[op] == 0 {
			t.Errorf("no %v in the captures", op)
		}
	}
	for _, f := range []srp.DataFormat{srp.DataDirect, srp.DataIndirect, srp.DataImmediate} {
		t.Logf("%-14v %5d", f, formats[f])
		if formats[f] == 0 {
			t.Errorf("no %v buffer in the captures", f)
		}
	}
	// Two commands have no response: the one that was aborted in 11, and in 16 the one that died with its channel.
	if requests := counts[srp.OpCommand] + counts[srp.OpTaskManagement]; requests != counts[srp.OpResponse]+2 {
		t.Errorf("%d requests, %d responses", requests, counts[srp.OpResponse])
	}
	if plainRejects != 1 { // capture 20
		t.Errorf("%d CM rejects without SRP_LOGIN_REJ", plainRejects)
	}
}

// all decodes the IUs of one type in a capture.
func all[T any, P interface {
	*T
	codec
}](t *testing.T, number, where string, op srp.Opcode) []T {
	t.Helper()
	var found []T
	for _, iu := range capture(t, number) {
		if iu.where != where || where == "SEND" && srp.Opcode(iu.data[0]) != op {
			continue
		}
		var v T
		if err := P(&v).Decode(iu.data); err != nil {
			t.Fatalf("%s packet %d: %v", iu.file, iu.packet, err)
		}
		found = append(found, v)
	}
	if len(found) == 0 {
		t.Fatalf("no %v in capture %s", op, number)
	}
	return found
}

func commands(t *testing.T, number string) []command {
	t.Helper()
	return all[command](t, number, "SEND", srp.OpCommand)
}

func responses(t *testing.T, number string) []srp.Response {
	t.Helper()
	return all[srp.Response](t, number, "SEND", srp.OpResponse)
}

func loginReqs(t *testing.T, number string) []rdmaCMLoginReq {
	t.Helper()
	return all[rdmaCMLoginReq](t, number, "REQ", srp.OpLoginReq)
}

func loginReq() srp.LoginReq {
	const initiator, target = 0x505400fffe123414, 0x505400fffe12340a
	return srp.LoginReq{
		MaxITIULen:      8260,
		BufferFormats:   srp.BufferDirect | srp.BufferIndirect,
		Flags:           srp.LoginSingleChannel | srp.LoginImmediateWanted,
		ImmediateOffset: 68,
		Initiator:       srp.IOClassR16a.PortID(0, initiator),
		Target:          srp.IOClassR16a.PortID(target, target),
	}
}

func TestCapturedLogin(t *testing.T) {
	for _, number := range []string{"01", "12", "34"} {
		want := rdmaCMLoginReq{loginReq()}
		if got := loginReqs(t, number)[0]; got != want {
			t.Errorf("capture %s:\ngot  %+v\nwant %+v", number, got, want)
		}
		rsp := all[srp.LoginRsp](t, number, "REP", srp.OpLoginRsp)[0]
		if want := (srp.LoginRsp{RequestLimitDelta: 128, MaxITIULen: 8276, MaxTIIULen: 8260,
			BufferFormats: srp.BufferDirect | srp.BufferIndirect, Flags: srp.ImmediateSupported}); rsp != want {
			t.Errorf("capture %s:\ngot  %+v\nwant %+v", number, rsp, want)
		}
	}
}

func TestCapturedLoginWithoutImmediateData(t *testing.T) {
	req := loginReqs(t, "24")[0]
	if req.Flags != 0 || req.ImmediateOffset != 0 || req.MaxITIULen != 276 {
		t.Errorf("got %+v", req)
	}
	if rsp := all[srp.LoginRsp](t, "24", "REP", srp.OpLoginRsp)[0]; rsp.Flags != srp.ChannelsNone {
		t.Errorf("got %+v", rsp)
	}
}

func TestCapturedRejects(t *testing.T) {
	for _, c := range []struct {
		capture string
		reason  srp.RejectReason
		times   int
	}{
		{"13", srp.RejectInsufficientResource, 3},
		{"19", srp.RejectChannelLimit, 1},
		{"21", srp.RejectUnableAssociate, 1},
		{"22", srp.RejectIUTooLarge, 1},
		{"23", srp.RejectInsufficientResource, 1},
	} {
		rejs := all[srp.LoginRej](t, c.capture, "REJ", srp.OpLoginRej)
		if len(rejs) != c.times {
			t.Errorf("capture %s: %d rejects, want %d", c.capture, len(rejs), c.times)
		}
		for _, rej := range rejs {
			if rej.Reason != c.reason {
				t.Errorf("capture %s: %v, want %v", c.capture, rej.Reason, c.reason)
			}
		}
	}
	if req := loginReqs(t, "22")[0]; req.MaxITIULen != 68+16384 {
		t.Errorf("capture 22: asks for %d bytes", req.MaxITIULen)
	}
	if req := loginReqs(t, "19")[0]; req.Initiator != srp.IOClassR16a.PortID(1, 0x505400fffe123414) {
		t.Errorf("capture 19: initiator %v", req.Initiator)
	}
}

func TestCapturedTaskManagement(t *testing.T) {
	reset := all[srp.TaskManagement](t, "10", "SEND", srp.OpTaskManagement)[0]
	if reset.Function != srp.LogicalUnitReset || reset.LUN != [8]byte{} || reset.TaskTag != 0xffffffff00000000 {
		t.Errorf("capture 10: %+v", reset)
	}
	abort := all[srp.TaskManagement](t, "11", "SEND", srp.OpTaskManagement)[0]
	if victim := commands(t, "11")[0].Tag; abort.Function != srp.AbortTask || abort.LUN != [8]byte{1: 2} ||
		abort.TaskTag != victim {
		t.Errorf("capture 11: %+v, want ABORT TASK of %016x", abort, victim)
	}
	for number, tag := range map[string]uint64{"10": reset.Tag, "11": abort.Tag} {
		answered := false
		for _, rsp := range responses(t, number) {
			if rsp.Tag != tag {
				continue
			}
			answered = true
			code, ok := rsp.ResponseCode()
			if !ok || code != srp.ResponseComplete || rsp.Flags != srp.RspValid {
				t.Errorf("capture %s: %+v: response code %v, %v", number, rsp, code, ok)
			}
		}
		if !answered {
			t.Errorf("capture %s: no answer to the task management request", number)
		}
	}
}

func TestCapturedSense(t *testing.T) {
	const checkCondition, illegalRequest = 2, 5
	rsps := responses(t, "08")
	for i, asc := range []byte{0x21, 0x20} { // LBA out of range, invalid command operation code
		rsp := rsps[i]
		if rsp.Status != checkCondition || rsp.Flags&srp.SenseValid == 0 || len(rsp.Sense) != 96 ||
			rsp.Sense[0]&0x7f != 0x70 || rsp.Sense[2]&0xf != illegalRequest || rsp.Sense[12] != asc {
			t.Errorf("response %d: %+v", i, rsp)
		}
		if _, ok := rsp.ResponseCode(); ok {
			t.Errorf("response %d has a response code", i)
		}
	}
}

func TestCapturedResiduals(t *testing.T) {
	cmds, n := commands(t, "02"), 0
	for i, rsp := range responses(t, "02") {
		if rsp.RequestLimitDelta != 1 {
			t.Errorf("response %d: credit %d", i, rsp.RequestLimitDelta)
		}
		if rsp.Flags&srp.DataInUnder != 0 {
			n++
			if rsp.Tag != cmds[i].Tag || rsp.DataInResidual == 0 || rsp.DataInResidual >= cmds[i].DataIn.Length {
				t.Errorf("response %d: %+v to %+v", i, rsp, cmds[i].DataIn)
			}
		}
	}
	if n != 4 {
		t.Errorf("%d responses with DIUNDER, want 4", n)
	}
}

func TestCapturedDirect(t *testing.T) {
	read := commands(t, "03")[0]
	if read.DataIn.Format != srp.DataDirect || read.DataIn.Length != 4096 || read.DataIn.Desc.RKey == 0 ||
		read.DataOut.Format != srp.DataNone || read.CDB[0] != 0x28 || binary.BigEndian.Uint32(read.CDB[2:]) != 8 ||
		read.Attribute != srp.Simple || len(read.CDB) != srp.CDBLen {
		t.Errorf("capture 03: %+v", read)
	}
	write := commands(t, "25")[0]
	if write.DataOut.Format != srp.DataDirect || write.DataOut.Length != 4096 ||
		write.DataIn.Format != srp.DataNone || write.CDB[0] != 0x2a {
		t.Errorf("capture 25: %+v", write)
	}
}

func TestCapturedImmediate(t *testing.T) {
	cmd := commands(t, "04")[0]
	if cmd.DataOut.Format != srp.DataImmediate || cmd.DataOut.Length != 4096 || len(cmd.Spare) != 16 ||
		!bytes.HasPrefix(cmd.ImmediateData, []byte("WROTE lba=0000000016 ")) || len(cmd.ImmediateData) != 4096 {
		t.Errorf("capture 04: %+v", cmd)
	}
	two := commands(t, "05")
	if d := two[0].DataOut; d.Format != srp.DataImmediate || d.Length != 8192 {
		t.Errorf("capture 05: %+v", two[0].DataOut)
	}
	if two[1].DataOut.Format != srp.DataDirect || two[1].DataOut.Length != 12288 {
		t.Errorf("capture 05: %+v", two[1].DataOut)
	}
}

func TestCapturedIndirect(t *testing.T) {
	for _, c := range []struct {
		capture string
		descs   int
		length  uint32
		buffer  func(*command) *srp.DataBuffer
	}{
		{"29", 31, 128 << 10, func(c *command) *srp.DataBuffer { return &c.DataIn }},
		{"31", 255, 0, func(c *command) *srp.DataBuffer { return &c.DataIn }},
		{"32", 255, 0, func(c *command) *srp.DataBuffer { return &c.DataOut }},
	} {
		cmd := commands(t, c.capture)[0]
		d := c.buffer(&cmd)
		if d.Format != srp.DataIndirect || d.List.Len() != c.descs || d.TableLen() != c.descs || !d.Complete() {
			t.Errorf("capture %s: %v, %d of %d", c.capture, d.Format, d.List.Len(), d.TableLen())
			continue
		}
		blocks := binary.BigEndian.Uint16(cmd.CDB[7:])
		if d.List.Total() != uint64(d.Length) || d.Length != uint32(blocks)*512 || c.length != 0 && d.Length != c.length {
			t.Errorf("capture %s: %d bytes listed, %d said, %d blocks", c.capture, d.List.Total(), d.Length, blocks)
		}
		for i := range d.List.Len() {
			if desc := d.List.At(i); desc.Len == 0 || desc.Addr == 0 || desc.RKey == 0 {
				t.Errorf("capture %s: descriptor %d is %+v", c.capture, i, desc)
			}
		}
	}
}
