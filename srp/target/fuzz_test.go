package target_test

import (
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
)

// FuzzIU sends any bytes as information units on a channel. Whatever they are, the port stays usable for the next login,
// answers no more than it was sent, and ends with nothing left.
func FuzzIU(f *testing.F) {
	add := func(c *srp.Command, tail int) {
		b := make([]byte, 2000)
		n, err := c.Encode(b, 68)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:n+tail], uint8(2))
	}
	d := srp.Desc{Addr: 4096, Len: 4096, RKey: 1}
	list, _ := srp.DescList(make([]byte, 0, 64)).Append(d)
	unit := scsi.PeripheralLUN(0).Bytes()
	add(&srp.Command{LUN: unit, CDB: make([]byte, 16)}, 0)
	add(&srp.Command{LUN: unit, CDB: rw(true, 1, 512), DataOut: srp.ImmediateBuffer(512)}, 512)
	add(&srp.Command{LUN: unit, CDB: rw(false, 1, 4096), DataIn: srp.DirectBuffer(d)}, 0)
	add(&srp.Command{LUN: unit, CDB: rw(false, 1, 4096), DataIn: srp.IndirectBuffer(d, list, 4096)}, 0)
	add(&srp.Command{LUN: unit, CDB: rw(true, 1, 4096), DataOut: srp.IndirectBuffer(d, nil, 4096), Attribute: srp.Ordered}, 0)
	for _, op := range []srp.Opcode{srp.OpTaskManagement, srp.OpILogout, srp.OpCredRsp, srp.OpLoginReq} {
		f.Add(append([]byte{byte(op)}, make([]byte, 63)...), uint8(1))
	}
	// One world for all: making one takes longer than everything else.
	w := newWorldOf(f, target.Config{Credits: 4, MaxIU: 2000, Buffers: 9 << 20}, nil, 3<<20)
	w.attach(0, must(lun.NewRAM(1<<20, testBlock)))
	f.Fuzz(func(t *testing.T, b []byte, times uint8) {
		if len(b) > 2000 {
			return
		}
		w.t = t
		x, _ := w.loggedIn()
		n := int(times%4) + 1
		for range n {
			x.send(b)
		}
		w.p.RunUntilIdle()
		if len(x.got) > n+1 { // and SRP_T_LOGOUT
			t.Fatalf("%d answers to %d information units", len(x.got), n)
		}
		req := rawLogin()
		req.Initiator[3]++
		y := w.newRaw()
		if _, err := y.login(req); err != nil {
			t.Fatal(err)
		}
		y.command(y.tur(), nil)
		y.response()
	})
	w.t = f
}
