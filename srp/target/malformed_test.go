package target_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/srp/target"
)

// read8 is a READ(10) of 8 blocks with the descriptor given.
func (x *raw) read8(in srp.DataBuffer) *srp.Command {
	return &srp.Command{Tag: 0xfeed, LUN: scsi.PeripheralLUN(0).Bytes(), CDB: rw(false, 0, 8*testBlock), DataIn: in}
}

// desc is n bytes of the initiator's memory at off, under its region's own key.
func (x *raw) desc(off, n int) srp.Desc {
	h := x.w.init
	return srp.Desc{Addr: h.a.Addr() + uint64(off), RKey: h.mr.RKey(), Len: uint32(n)}
}

func (x *raw) tur() *srp.Command {
	return &srp.Command{Tag: 1, LUN: scsi.PeripheralLUN(0).Bytes(), CDB: make([]byte, 16)}
}

// Descriptors that cannot be right are answered with CHECK CONDITION, and the channel goes on. BUSY, as some targets
// answer, would be tried again for ever.
func TestBadDescriptors(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	w.attach(0, ram())
	x, _ := w.loggedIn()
	x.command(x.tur(), nil)
	x.response()
	good := make([]byte, 512)
	list := srp.DescList(nil)
	table := make([]byte, 0, 64)
	table, _ = srp.DescList(table).Append(x.desc(0, 2048))
	table, _ = srp.DescList(table).Append(x.desc(4096, 2048))
	list = table
	n, err := x.read8(srp.IndirectBuffer(x.desc(0, 32), list, 4096)).Encode(good, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(b []byte) []byte{
		"unknown format":         func(b []byte) []byte { b[5] = 0x0f; return b },
		"immediate data-in":      func(b []byte) []byte { b[5] = 0x03; return b },
		"count beyond the table": func(b []byte) []byte { b[7] = 3; return append(b, make([]byte, 16)...) },
		"list cut off":           func(b []byte) []byte { return b[:len(b)-1] },
		"total too long":         func(b []byte) []byte { binary.BigEndian.PutUint32(b[64:], 5000); return b },
		"total too short":        func(b []byte) []byte { binary.BigEndian.PutUint32(b[64:], 4000); return b },
		"additional CDB cut off": func(b []byte) []byte { b[31] = 0xfc; return b },
		"table of 2 GiB":         func(b []byte) []byte { b[7] = 0; binary.BigEndian.PutUint32(b[60:], 1<<31); return b[:68] },
		"memory that wraps":      func(b []byte) []byte { binary.BigEndian.PutUint64(b[68:], ^uint64(0)-100); return b },
		"immediate data-out at a read": func(b []byte) []byte {
			b[5] = 0x30
			return b
		},
	} {
		x.send(spoil(bytes.Clone(good[:n])))
		r := x.response()
		s, err := scsi.ParseSense(r.Sense)
		if r.Tag != 0xfeed || scsi.Status(r.Status) != scsi.StatusCheckCondition || err != nil || s.Key != scsi.KeyIllegalRequest ||
			s.ASC != scsi.ASCInvalidFieldInCDB || r.RequestLimitDelta != 1 || r.Flags != srp.SenseValid {
			t.Errorf("%s: %+v, %v, %v", name, r, s, err)
		}
	}
	x.send(good[:n])
	if r := x.response(); scsi.Status(r.Status) != scsi.StatusGood || r.Flags != 0 {
		t.Errorf("what was spoilt above: %+v", r)
	}
	if x.gone {
		t.Error("the channel is gone")
	}
}

// A table in the initiator's memory that says something else than the command is not used.
func TestBadTable(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	w.attach(0, ram())
	x, _ := w.loggedIn()
	x.command(x.tur(), nil)
	x.response()
	table := srp.DescList(w.init.mem[:0:1024])
	for i := range 8 {
		table, _ = table.Append(x.desc(8192+i*4096, 512))
	}
	c := x.read8(srp.IndirectBuffer(x.desc(0, 128), nil, 4096))
	x.command(c, nil)
	if r := x.response(); scsi.Status(r.Status) != scsi.StatusGood {
		t.Errorf("a table in memory only: %+v", r)
	}
	table[15]++ // 513 bytes
	x.command(c, nil)
	r := x.response()
	if s, err := scsi.ParseSense(r.Sense); err != nil || s.ASC != scsi.ASCInvalidFieldInCDB {
		t.Errorf("a table of 4097 bytes for 4096: %+v, %v", r, s)
	}
	x.command(x.tur(), nil)
	if r := x.response(); scsi.Status(r.Status) != scsi.StatusGood {
		t.Errorf("after that: %+v", r)
	}
}

// What cannot be answered ends the channel: SRP_T_LOGOUT says why, then it is disconnected.
func TestUnknownIUEndsChannel(t *testing.T) {
	for name, b := range map[string][]byte{
		"unknown type":         append([]byte{0x55}, make([]byte, 63)...),
		"response":             append([]byte{0xc1}, make([]byte, 63)...),
		"a login on a channel": make([]byte, 64),
		"no tag":               {2, 0, 0},
		"short command":        append([]byte{2}, make([]byte, 46)...),
		"short function":       append([]byte{1}, make([]byte, 46)...),
		"empty":                {},
	} {
		w := newWorld(t, target.Config{}, nil)
		w.attach(0, ram())
		x, _ := w.loggedIn()
		x.send(b)
		w.until(name+": the end of the channel", func() bool { return x.gone })
		var out srp.TLogout
		if len(x.got) != 1 || out.Decode(x.got[0]) != nil || out.Reason != srp.LogoutInvalidIUType {
			t.Errorf("%s: %x", name, x.got)
		}
	}
}

// Answers to requests that the target never makes are passed over, and cost no receive.
func TestStrayAnswers(t *testing.T) {
	w := newWorld(t, target.Config{Credits: 1}, nil)
	w.attach(0, ram())
	x, _ := w.loggedIn()
	for range 40 {
		var rsp srp.CredRsp
		var aer srp.AERRsp
		b := make([]byte, 16)
		_, _ = rsp.Encode(b)
		x.send(b)
		_, _ = aer.Encode(b)
		x.send(b)
	}
	x.command(x.tur(), nil)
	if r := x.response(); r.Tag != 1 {
		t.Errorf("%+v", r)
	}
}

// SRP_I_LOGOUT: what the channel has is answered, then it is disconnected.
func TestInitiatorLogsOut(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	w.attach(0, ram())
	x, _ := w.loggedIn()
	x.command(x.tur(), nil)
	var out srp.ILogout
	b := make([]byte, 16)
	_, _ = out.Encode(b)
	x.send(b)
	w.until("the end of the channel", func() bool { return x.gone })
	x.response()
	if len(x.got) != 0 {
		t.Errorf("more than the response: %x", x.got)
	}
}

// Immediate data goes in as it stands in the IU; more than came is refused.
func TestImmediateData(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	w.attach(0, ram())
	x, _ := w.loggedIn()
	x.command(x.tur(), nil)
	x.response()
	data := pattern(1, make([]byte, 1024))
	c := &srp.Command{Tag: 2, LUN: scsi.PeripheralLUN(0).Bytes(), CDB: rw(true, 5, 1024), DataOut: srp.ImmediateBuffer(1024)}
	x.command(c, data)
	if r := x.response(); scsi.Status(r.Status) != scsi.StatusGood {
		t.Fatalf("%+v", r)
	}
	x.command(c, data[:1023])
	if r := x.response(); scsi.Status(r.Status) != scsi.StatusCheckCondition {
		t.Errorf("a byte is missing: %+v", r)
	}
	c.DataOut.Length = 512
	x.command(c, data[:512])
	if r := x.response(); scsi.Status(r.Status) != scsi.StatusCheckCondition {
		t.Errorf("half the data: %+v", r)
	}
	x.command(x.read8(srp.DirectBuffer(x.desc(0, 4096))), nil)
	if r := x.response(); scsi.Status(r.Status) != scsi.StatusGood || !bytes.Equal(w.init.mem[5*testBlock:][:1024], data) {
		t.Errorf("%+v, or the data differs", r)
	}
}

// Residuals of both directions (SRP r16a 6.9).
func TestResiduals(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	w.attach(0, ram())
	x, _ := w.loggedIn()
	x.command(x.tur(), nil)
	x.response()
	for _, c := range []struct {
		room  int
		flags srp.RspFlags
		n     uint32
	}{{8 * testBlock, 0, 0}, {10 * testBlock, srp.DataInUnder, 2 * testBlock}, {testBlock, srp.DataInOver, 7 * testBlock}} {
		x.command(x.read8(srp.DirectBuffer(x.desc(0, c.room))), nil)
		if r := x.response(); r.Flags != c.flags || r.DataInResidual != c.n || scsi.Status(r.Status) != scsi.StatusGood {
			t.Errorf("room for %d: %+v", c.room, r)
		}
	}
	write := &srp.Command{Tag: 3, LUN: scsi.PeripheralLUN(0).Bytes(), CDB: rw(true, 0, testBlock), DataOut: srp.DirectBuffer(x.desc(0, 3*testBlock))}
	x.command(write, nil)
	if r := x.response(); r.Flags != srp.DataOutUnder || r.DataOutResidual != 2*testBlock {
		t.Errorf("more data than wanted: %+v", r)
	}
}
