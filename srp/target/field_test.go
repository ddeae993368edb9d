package target_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs"
	"minisrp/verbs/soft"
)

// The bytes that initiators in the field send, by hand: what their sources write, field by field, and no encoder of ours.

// ibService is where the port of fielded listens for the IB CM.
var ibService = verbs.Address{DGID: soft.GIDOf(portAddr.Addr()), PKey: 0xffff, ServiceID: 4}

// fielded is a port that listens for both connection managers, with a unit in memory.
func fielded(t *testing.T, cfg target.Config) (w *world, disk []byte) {
	w = newWorld(t, cfg, nil)
	w.drive(func() {
		if err := w.port.Listen(context.Background(), verbs.Address{ServiceID: ibService.ServiceID}); err != nil {
			t.Fatal(err)
		}
	})
	s := must(lun.NewRAM(testSize, testBlock))
	w.attach(0, s)
	disk = s.Mapping().Memory.Bytes()
	pattern(9, disk[:1<<20])
	return w, disk
}

// octets makes bytes of hexadecimal digits; what stands behind // is not read.
func octets(lines string) (b []byte) {
	for _, l := range strings.Split(lines, "\n") {
		l, _, _ = strings.Cut(l, "//")
		d, err := hex.DecodeString(strings.ReplaceAll(strings.ReplaceAll(l, " ", ""), "\t", ""))
		if err != nil {
			panic(err)
		}
		b = append(b, d...)
	}
	return b
}

// descriptor is a memory descriptor of n bytes of the initiator's memory at off.
func (x *raw) descriptor(off, n int) []byte {
	h := x.w.init
	b := binary.BigEndian.AppendUint64(nil, h.a.Addr()+uint64(off))
	b = binary.BigEndian.AppendUint32(b, h.mr.RKey())
	return binary.BigEndian.AppendUint32(b, uint32(n))
}

// good sends an IU and wants it carried out, after what the unit has to report.
func (x *raw) good(iu []byte) *srp.Response {
	x.w.t.Helper()
	for {
		x.send(iu)
		r := x.response()
		s, err := scsi.ParseSense(r.Sense)
		if err == nil && s.Key == scsi.KeyUnitAttention {
			continue
		}
		if r.Status != 0 {
			x.w.t.Errorf("%x: %v, %v", iu[:48], scsi.Status(r.Status), s)
		}
		return r
	}
}

// iPXE: IUs of 80 bytes, direct descriptors only, a data-out one and a data-in one at most; it counts no credits, and
// any IU but a response is an error to it.
func TestFieldIPXE(t *testing.T) {
	w, disk := fielded(t, target.Config{Credits: 2})
	x := w.newRaw()
	rsp, err := x.connectTo(ibService, octets(`
		00 00000000000000            // SRP_LOGIN_REQ
		69505845 00000001            // tag
		00000050 00000000            // 80 bytes
		0002 00 00 00000000          // direct descriptors
		0000000000000000 0002c90300000002
		0000000000000003 0000000000000004`))
	if err != nil || rsp.Tag != 0x6950584500000001 || rsp.Flags != 0 || rsp.MaxITIULen < 80 || rsp.BufferFormats&srp.BufferDirect == 0 {
		t.Fatalf("%+v, %v", rsp, err)
	}
	command := func(tag, formats, cdb string, descs ...[]byte) []byte {
		return append(octets("02 00000000 "+formats+" 0000 69505845 "+tag+" 00000000 0000000000000000 00000000 "+cdb), bytes.Join(descs, nil)...)
	}
	x.good(command("00000002", "00", "00000000000000000000000000000000"))
	x.good(command("00000003", "01", "25000000000000000000000000000000", x.descriptor(0, 8)))
	if got := binary.BigEndian.Uint32(w.init.mem); got != testSize/testBlock-1 {
		t.Errorf("last block %d", got)
	}
	r := x.good(command("00000004", "01", "28000000000000000800000000000000", x.descriptor(0, 4096)))
	if r.Tag != 0x6950584500000004 || r.Flags != 0 || !bytes.Equal(w.init.mem[:4096], disk[:4096]) {
		t.Errorf("READ(10): %+v", r)
	}
	// Both descriptors: the write's, then one that it leaves alone.
	pattern(1, w.init.mem[:4096])
	iu := command("00000005", "11", "2a000000001000000800000000000000", x.descriptor(0, 4096), x.descriptor(8192, 512))
	if len(iu) != 80 {
		t.Fatalf("%d bytes", len(iu))
	}
	r = x.good(iu)
	if !bytes.Equal(disk[16*512:][:4096], w.init.mem[:4096]) || r.Flags != srp.DataInUnder || r.DataInResidual != 512 {
		t.Errorf("WRITE(10) with both descriptors: %+v", r)
	}
	// More commands at once than it has credits for.
	for i := range 6 {
		x.send(command("0000001"+string(rune('0'+i)), "01", "28000000000000000800000000000000", x.descriptor(i*4096, 4096)))
	}
	for range 6 {
		if r := x.response(); r.Status != 0 {
			t.Errorf("%+v", r)
		}
	}
	// Whatever happens here, it gets responses and nothing else.
	other := w.as(anna)
	w.manage(other, srp.LogicalUnitReset, 0, nil).complete()
	w.attach(1, ram())
	if err := w.units[0].CapacityChanged(); err != nil {
		t.Fatal(err)
	}
	x.good(command("00000020", "00", "00000000000000000000000000000000"))
	if len(x.got) != 0 || x.gone {
		t.Errorf("%d IUs that were not asked for, %v", len(x.got), x.gone)
	}
}

// ESXi: IUs of 580 bytes, so 32 descriptors, and an initiator whose extension is no GUID of anybody's.
func TestFieldESXi(t *testing.T) {
	w, disk := fielded(t, target.Config{Closed: true})
	unit := w.units[0]
	w.group("esxi", map[int]*lun.Unit{0: unit}, "d949560e000000010002c90300000002")
	x := w.newRaw()
	rsp, err := x.connectTo(ibService, octets(`
		00 00000000000000
		0000000000000000
		00000244 00000000            // 580 bytes
		0006 00 00 00000000          // direct and indirect descriptors
		d949560e00000001 0002c90300000002
		0000000000000003 0000000000000004`))
	if err != nil || rsp.MaxITIULen < 580 || rsp.BufferFormats != 6 || rsp.Flags != 0 {
		t.Fatalf("%+v, %v", rsp, err)
	}
	var list []byte
	for i := range 32 {
		list = append(list, x.descriptor((31-i)*4096, 2048)...)
	}
	iu := octets(`
		02 00000000 02 00 20 0000000000000077 00000000 0000000000000000 00 00 00 00
		28000000000000008000000000000000`)
	iu = append(iu, x.descriptor(1<<20, 512)...) // where its table would be, if it were read
	iu = append(iu, octets("00010000")...)
	iu = append(iu, list...)
	if len(iu) != 580 {
		t.Fatalf("%d bytes", len(iu))
	}
	x.good(iu)
	for i := range 32 {
		if !bytes.Equal(w.init.mem[(31-i)*4096:][:2048], disk[i*2048:][:2048]) {
			t.Fatalf("piece %d differs", i)
		}
	}
	if who := w.sessions(); len(who) != 1 || who[0].Initiator.String() != "0xd949560e000000010002c90300000002" || who[0].Group != "esxi" {
		t.Errorf("%+v", who)
	}
}

// WinOFED: identifiers of r16a or r10 as the profile says, IUs of 4,196 bytes, and a count of descriptors in 8 bits: the
// answer keeps it to 255. It writes a count to direct descriptors too.
func TestFieldWinOFED(t *testing.T) {
	for name, ids := range map[string]string{
		"r16a": "0000000000000003 0002c90300000002 0000000000000003 0000000000000004",
		"r10":  "0002c90300000002 0000000000000003 0000000000000004 0000000000000003",
	} {
		w, disk := fielded(t, target.Config{})
		x := w.newRaw()
		rsp, err := x.connectTo(ibService, octets("00 00000000000000 0000000000000000 00001064 00000000 0006 00 00 00000000 "+ids))
		if err != nil || rsp.BufferFormats != 6 || rsp.RequestLimitDelta != target.DefaultCredits {
			t.Fatalf("%s: %+v, %v", name, rsp, err)
		}
		// How it reckons what it may send.
		if entries := (min(4196, rsp.MaxITIULen) - 48 - 20) / 16; entries != 255 {
			t.Errorf("%s: it would use %d descriptors", name, entries)
		}
		command := func(formats, counts, cdb string) []byte {
			return octets("02 00000000 " + formats + counts + "0000000000000009 00000000 0000000000000000 00 00 00 00" + cdb)
		}
		iu := append(command("01", "0001", "28000000000000000800000000000000"), x.descriptor(0, 4096)...)
		x.good(iu)
		if !bytes.Equal(w.init.mem[:4096], disk[:4096]) {
			t.Errorf("%s: a direct descriptor with a count", name)
		}
		indirect := func(count string, table, descs, total int) []byte {
			iu := command("02", "00"+count, "2800000000000000ff00000000000000")
			iu = append(iu, x.descriptor(4<<20, table*16)...)
			iu = binary.BigEndian.AppendUint32(iu, uint32(total))
			for i := range descs {
				iu = append(iu, x.descriptor(i*1024, 512)...)
			}
			return iu
		}
		x.good(indirect("ff", 255, 255, 255*512))
		for i := range 255 {
			if !bytes.Equal(w.init.mem[i*1024:][:512], disk[i*512:][:512]) {
				t.Fatalf("%s: block %d differs", name, i)
			}
		}
		// With 257 pieces its count would wrap to 1, and its table be one that is not there.
		x.send(indirect("01", 257, 1, 512))
		r := x.response()
		if s, err := scsi.ParseSense(r.Sense); err != nil || s.ASC != scsi.ASCInvalidFieldInCDB {
			t.Errorf("%s: a count that has wrapped: %+v, %v", name, r, s)
		}
		// ABORT TASK of what has ended.
		x.send(octets("01 00000000000000 000000000000000a 00000000 0000000000000000 0000 01 00 0000000000000009 0000000000000000"))
		if code, ok := x.response().ResponseCode(); !ok || code != srp.ResponseComplete {
			t.Errorf("%s: an abort: %v", name, code)
		}
	}
}

// Linux: the compact login of the RDMA CM and the long one, identifiers of either class, immediate data at 68, and with
// allow_ext_sg a table of which the IU has the first 12 descriptors. TestLinuxScan has its captured bytes.
func TestFieldLinux(t *testing.T) {
	for _, c := range []struct {
		name, login string
		at          verbs.Address
		immediate   bool
	}{
		{"RDMA CM, immediate data", `
			0000000000000000 0006 80 00 00002044
			0000000000000000 505400fffe123414 0000000000000003 0000000000000004
			0044 000000000000`, verbs.Address{Dst: portAddr}, true},
		{"IB CM, io_class=0xff00, cmd_sg_entries=12, no immediate data", `
			00 00000000000000 0000000000000000 00000114 00000000 0006 00 00 00000000
			505400fffe123414 0000000000000000 0000000000000004 0000000000000003`, ibService, false},
		{"IB CM, cmd_sg_entries=255, a second channel", `
			00 00000000000000 0000000000000000 00001044 00000000 0006 01 00 00000000
			0000000000000000 505400fffe123414 0000000000000003 0000000000000004`, ibService, false},
	} {
		w, disk := fielded(t, target.Config{})
		x := w.newRaw()
		rsp, err := x.connectTo(c.at, octets(c.login))
		if err != nil || (rsp.Flags&srp.ImmediateSupported != 0) != c.immediate {
			t.Fatalf("%s: %+v, %v", c.name, rsp, err)
		}
		head := func(formats, counts, cdb string) []byte {
			return octets("02 00000000 " + formats + counts + "1100000001000000 00000000 0000000000000000 00 00 00 00" + cdb)
		}
		if c.immediate {
			data := pattern(3, make([]byte, 4096))
			iu := append(head("30", "0000", "2a000000002000000800000000000000"), octets("00001000 00000000000000000000000000000000")...)
			x.good(append(iu, data...))
			if !bytes.Equal(disk[32*512:][:4096], data) {
				t.Errorf("%s: immediate data", c.name)
			}
		}
		// 20 descriptors, 12 of them in the IU, all of them in memory.
		var table []byte
		for i := range 20 {
			table = append(table, x.descriptor(i*8192, 1024)...)
		}
		copy(w.init.mem[4<<20:], table)
		iu := append(head("02", "000c", "28000000000000002800000000000000"), x.descriptor(4<<20, len(table))...)
		iu = append(iu, octets("00005000")...)
		x.good(append(iu, table[:12*16]...))
		for i := range 20 {
			if !bytes.Equal(w.init.mem[i*8192:][:1024], disk[i*1024:][:1024]) {
				t.Fatalf("%s: piece %d differs", c.name, i)
			}
		}
		// LUN RESET with its own task tag, then the disconnect that is all it says at its end.
		x.send(octets("01 00000000000000 0000000080000001 00000000 0000000000000000 0000 08 00 ffffffff00000000 0000000000000000"))
		if code, ok := x.response().ResponseCode(); !ok || code != srp.ResponseComplete {
			t.Errorf("%s: a reset: %v", c.name, code)
		}
		w.drive(func() { result(t, x.qp.Disconnect) })
		w.until("the end of the session", func() bool { return len(w.sessions()) == 0 })
	}
}
