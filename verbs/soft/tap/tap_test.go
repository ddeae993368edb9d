package tap_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/pcapgo"

	"minisrp/verbs"
	"minisrp/verbs/soft"
	"minisrp/verbs/soft/tap"
)

// read returns the packets of a file.
func read(t *testing.T, file []byte) (infos []gopacket.CaptureInfo, packets [][]byte) {
	t.Helper()
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for {
		p, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return infos, packets
		}
		if err != nil {
			t.Fatal(err)
		}
		infos, packets = append(infos, info), append(packets, p)
	}
}

// decode reads a whole packet by the layouts of annex A17 and IBA 9.2 and 9.3, and
// checks all that it says about itself.
func decode(t *testing.T, p []byte) (d packet) {
	t.Helper()
	u16, u32 := binary.BigEndian.Uint16, binary.BigEndian.Uint32
	ip := p[14:]
	var udp []byte
	switch u16(p[12:]) {
	case 0x0800:
		d.from, d.to, udp = netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:])), ip[20:]
		sum := uint32(0)
		for i := 0; i < 20; i += 2 {
			sum += uint32(u16(ip[i:]))
		}
		if sum = sum>>16 + sum&0xffff; sum != 0xffff || int(u16(ip[2:])) != len(ip) || ip[0] != 0x45 || ip[9] != 17 {
			t.Errorf("IPv4 header %x", ip[:20])
		}
	case 0x86dd:
		d.from, d.to, udp = netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:])), ip[40:]
		sum := uint32(len(udp)) + 17
		for i := 8; i < len(ip); i += 2 {
			sum += uint32(u16(ip[i:]))
		}
		for sum > 0xffff {
			sum = sum>>16 + sum&0xffff
		}
		if sum != 0xffff {
			t.Errorf("UDP checksum %x", udp[6:8])
		}
		if int(u16(ip[4:])) != len(ip)-40 || ip[0]>>4 != 6 || ip[6] != 17 {
			t.Errorf("IPv6 header %x", ip[:40])
		}
	default:
		t.Fatalf("Ethernet type %x", p[12:14])
	}
	d.size = len(udp)
	if u16(udp[2:]) != 4791 || int(u16(udp[4:])) != len(udp) || u16(udp) < 0xc000 {
		t.Errorf("UDP header %x", udp[:8])
	}
	if !tap.CheckICRC(ip) {
		t.Errorf("ICRC of % x", ip)
	}
	bth, rest := udp[8:20], udp[20:len(udp)-4]
	pad := int(bth[1] >> 4 & 3)
	for _, b := range rest[len(rest)-pad:] {
		if b != 0 {
			t.Error("padding is not zero")
		}
	}
	rest = rest[:len(rest)-pad]
	d.opcode, d.qp, d.ack, d.psn = bth[0], u32(bth[4:])&0xffffff, bth[8]>>7 != 0, u32(bth[8:])&0xffffff
	if u16(bth[2:]) != 0xffff || bth[1]&0xf != 0 || bth[4] != 0 || bth[8]&0x7f != 0 {
		t.Errorf("BTH %x", bth)
	}
	switch d.opcode {
	case 0x06, 0x0a, 0x0c: // RETH
		d.va, d.key, d.dmaLen = binary.BigEndian.Uint64(rest), u32(rest[8:]), u32(rest[12:])
		rest = rest[16:]
	case 0x0d, 0x0f, 0x10: // AETH
		if rest[0] != 0x1f {
			t.Errorf("syndrome %#x", rest[0])
		}
		d.msn, rest = u32(rest)&0xffffff, rest[4:]
	case 0x16, 0x17: // IETH
		d.key, rest = u32(rest), rest[4:]
	case 0x64: // DETH
		if u32(rest) != 0x80010000 || u32(rest[4:]) != 1 {
			t.Errorf("DETH %x", rest[:8])
		}
		rest = rest[8:]
	}
	d.payload = rest
	return d
}

// mad checks a MAD's header and returns the attribute and CM data.
func mad(t *testing.T, b []byte) (attr uint16, cm []byte) {
	t.Helper()
	if len(b) != 256 || !bytes.Equal(b[:8], []byte{1, 7, 2, 3, 0, 0, 0, 0}) || binary.BigEndian.Uint32(b[20:]) != 0 {
		t.Errorf("MAD of %d bytes, %x", len(b), b[:24])
	}
	return binary.BigEndian.Uint16(b[16:]), b[24:]
}

func u24(b []byte) uint32 { return binary.BigEndian.Uint32(append([]byte{0}, b[:3]...)) }

// privateAt is where private data begins in CM data (IBA 12.6); in a REQ of the RDMA
// CM 36 bytes later.
var privateAt = map[uint16]int{0x10: 140 + 36, 0x12: 84, 0x13: 36, 0x14: 8, 0x15: 12, 0x16: 8}

// Each message of a fabric is a packet, or several, by the layouts of the standards,
// with the numbers that the ends have agreed on.
func TestDialogue(t *testing.T) {
	both(t, func(t *testing.T, addr [2]netip.Addr) {
		var d *dialogue
		file := captured(t, tap.Options{}, func(c *tap.Capture) {
			t.Run("", func(t *testing.T) { d = talk(t, c, addr) })
		})
		var psn [2]uint32 // that a and b begin with
		var ids [2]uint32
		infos, packets := read(t, file)
		want := d.want[:min(len(d.want), len(packets))]
		for i, w := range want {
			if infos[i].CaptureLength != infos[i].Length {
				t.Errorf("packet %d is cut", i)
			}
			got := decode(t, packets[i])
			if w.attr == 0 {
				if w.from == addr[0] && w.opcode < 0x0d || w.from == addr[1] && w.opcode >= 0x0d && w.opcode <= 0x10 {
					w.psn += psn[0]
				} else {
					w.psn += psn[1]
				}
				w.psn &= 0xffffff
				same := bytes.Equal(got.payload, w.payload)
				got.payload, w.payload = nil, nil
				if !equal(got, w) || !same {
					t.Errorf("packet %d: %+v; want %+v; payload as it was: %v", i, got, w, same)
				}
				continue
			}
			attr, cm := mad(t, got.payload)
			switch private := cm[privateAt[attr]:]; {
			case attr != w.attr || got.from != w.from || got.to != w.to || got.qp != 1 || got.opcode != 0x64 || got.size != w.size:
				t.Errorf("packet %d: attribute %#x, %+v; want %#x, %+v", i, attr, got, w.attr, w)
			case !bytes.HasPrefix(private, w.private) || len(bytes.TrimRight(private[len(w.private):], "\x00")) != 0:
				t.Errorf("packet %d: private data %x; want %x", i, private, w.private)
			}
			local, remote := binary.BigEndian.Uint32(cm), binary.BigEndian.Uint32(cm[4:])
			switch attr {
			case 0x10:
				checkRequest(t, cm, d, addr)
				psn[1], ids = u24(cm[44:]), [2]uint32{local}
			case 0x12:
				if remote != ids[0] || local != 0 || cm[8] != 0 || binary.BigEndian.Uint16(cm[10:]) != 28 {
					t.Errorf("REJ %x", cm[:12])
				}
			case 0x13:
				if remote != ids[0] || u24(cm[12:]) != d.b.QP.Num() || cm[24] != 2 || cm[25] != 1 || cm[27]>>5 != 5 || cm[35] != 2 {
					t.Errorf("REP %x", cm[:36])
				}
				psn[0], ids[1] = u24(cm[20:]), local
			case 0x14, 0x15:
				if local != ids[0] || remote != ids[1] || attr == 0x15 && u24(cm[8:]) != d.b.QP.Num() {
					t.Errorf("RTU or DREQ %x of %x", cm[:12], ids)
				}
			case 0x16:
				if local != ids[1] || remote != ids[0] {
					t.Errorf("DREP %x of %x", cm[:8], ids)
				}
			}
		}
		if len(packets) != len(d.want) {
			t.Errorf("%d packets; want %d", len(packets), len(d.want))
		}
	})
}

func equal(a, b packet) bool {
	return a.from == b.from && a.to == b.to && a.opcode == b.opcode && a.qp == b.qp && a.psn == b.psn && a.ack == b.ack &&
		a.va == b.va && a.key == b.key && a.dmaLen == b.dmaLen && a.msn == b.msn && a.size == b.size
}

// checkRequest checks a REQ of the RDMA CM (IBA 12.6.5, annex A11).
func checkRequest(t *testing.T, cm []byte, d *dialogue, addr [2]netip.Addr) {
	t.Helper()
	from, to := addr[0].As16(), addr[1].As16()
	for what, ok := range map[string]bool{
		"service ID":     binary.BigEndian.Uint64(cm[8:]) == 0x0106<<16|5555,
		"GUID":           binary.BigEndian.Uint64(cm[16:]) == 0x020000fffe000001,
		"QPN":            u24(cm[32:]) == d.a.QP.Num(),
		"READs":          cm[35] == 4 && cm[39] == 3,
		"transport":      cm[43]>>1&3 == 0,
		"retry counts":   cm[47]&7 == 7 && cm[50]&7 == 6,
		"P_Key, MTU":     binary.BigEndian.Uint16(cm[48:]) == 0xffff && cm[50]>>4 == 5,
		"LIDs":           binary.BigEndian.Uint32(cm[52:]) == 0xffffffff,
		"GIDs":           bytes.Equal(cm[56:72], from[:]) && bytes.Equal(cm[72:88], to[:]),
		"alternate path": len(bytes.Trim(cm[96:140], "\x00")) == 0,
	} {
		if !ok {
			t.Errorf("REQ: %s: %x", what, cm[:140])
		}
	}
	h := cm[140:]
	version := byte(6)
	if addr[0].Is4() {
		version = 4
		copy(from[:12], make([]byte, 12)) // not mapped: zeros before it
		copy(to[:12], make([]byte, 12))
	}
	if h[0] != 0 || h[1] != version<<4 || !bytes.Equal(h[4:20], from[:]) || !bytes.Equal(h[20:36], to[:]) {
		t.Errorf("REQ: IP header %x", h[:36])
	}
}

// The IB CM's REQ has no IP header.
func TestRequestOfTheIBCM(t *testing.T) {
	addr := addresses["IPv4"]
	file := captured(t, tap.Options{}, func(c *tap.Capture) {
		t.Run("", func(t *testing.T) {
			d := newDialogue(t, c, addr)
			d.service = verbs.Address{DGID: soft.GIDOf(addr[1]), ServiceID: 0x0002c903000e0b72}
			d.accept([]byte("login"), nil)
		})
	})
	_, packets := read(t, file)
	got := decode(t, packets[0])
	attr, cm := mad(t, got.payload)
	if attr != 0x10 || got.to != addr[1] || binary.BigEndian.Uint64(cm[8:]) != 0x0002c903000e0b72 || !bytes.HasPrefix(cm[140:], []byte("login\x00")) {
		t.Errorf("%+v", got)
	}
}

// What goes beyond the snap length is told by length alone.
func TestSnap(t *testing.T) {
	addr := addresses["IPv4"]
	const snap = 5000
	file := captured(t, tap.Options{Snap: snap}, func(c *tap.Capture) {
		t.Run("", func(t *testing.T) { talk(t, c, addr) })
	})
	infos, packets := read(t, file)
	cut := 0
	for i, info := range infos {
		if info.CaptureLength == info.Length {
			decode(t, packets[i])
			continue
		}
		cut++
		if len(packets[i]) < 14+20+8+12 {
			t.Errorf("packet %d is cut into its headers: %d bytes", i, len(packets[i]))
		}
	}
	// READ of 12,289: packets 2 to 4; WRITEs of 10,000 and 8,192: 2 and 3, 2; SEND: 2 and 3.
	if cut != 8 {
		t.Errorf("%d packets cut; want 8", cut)
	}
}

// A capture ends before its file has more than it may, with a whole packet, and that is told once and is no drop.
func TestSize(t *testing.T) {
	told := 0
	file := captured(t, tap.Options{Size: tap.MinSize, Full: func() { told++ }}, func(c *tap.Capture) {
		t.Run("", func(t *testing.T) {
			d := newDialogue(t, c, addresses["IPv4"])
			d.accept(nil, nil)
			for i := range 100 {
				d.a.Post(d.a.RDMA(uint64(i), verbs.Write, 0, 1000, d.b, 0, d.b.MR.RKey()))
				d.a.Want(d.a.Sent(1)[0], uint64(i), verbs.Write, verbs.Success)
			}
		})
		if n := c.Dropped(); n != 0 {
			t.Errorf("%d drops", n)
		}
	})
	_, packets := read(t, file)
	for _, p := range packets {
		decode(t, p)
	}
	if n := len(file); n > tap.MinSize || n < tap.MinSize-8<<10 || told != 1 || len(packets) > 60 {
		t.Errorf("%d bytes, %d packets, told %d times", n, len(packets), told)
	}
	if c, err := tap.New(io.Discard, tap.Options{Size: tap.MinSize - 1}); err == nil {
		c.Close()
		t.Error("a size below the least was taken")
	}
}

// slow is a file that takes its time.
type slow struct {
	bytes.Buffer
	goOn chan struct{}
}

func (s *slow) Write(b []byte) (int, error) {
	<-s.goOn
	return s.Buffer.Write(b)
}

// A capture that the file holds up drops, counts what it drops in itself and in the
// file, and holds nobody up.
func TestDrops(t *testing.T) {
	s := &slow{goOn: make(chan struct{}, 1)}
	s.goOn <- struct{}{} // the header
	c, err := tap.New(s, tap.Options{Ring: 64 << 10, Snap: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	const n = 1000
	t.Run("", func(t *testing.T) {
		d := newDialogue(t, c, addresses["IPv4"])
		d.accept(nil, nil)
		for i := range n {
			d.a.Post(d.a.RDMA(uint64(i), verbs.Write, 0, 1000, d.b, 0, d.b.MR.RKey()))
			d.a.Want(d.a.Sent(1)[0], uint64(i), verbs.Write, verbs.Success)
		}
	})
	close(s.goOn)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	got, dropped := c.Messages(), c.Dropped()
	if dropped == 0 || got+dropped != n+5 { // REQ, REP, RTU, DREQ, DREP
		t.Errorf("%d messages kept and %d dropped of %d", got, dropped, n+5)
	}
	r, err := pcapgo.NewNgReader(bytes.NewReader(s.Bytes()), pcapgo.NgReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	packets := uint64(0)
	for {
		if _, _, err := r.ReadPacketData(); err != nil {
			break
		}
		packets++
	}
	i, err := r.Interface(0)
	if err != nil || i.Statistics.PacketsDropped != dropped || packets != got {
		t.Errorf("the file tells of %d packets dropped and has %d; want %d and %d; %v", i.Statistics.PacketsDropped, packets, dropped, got, err)
	}
}

// full is a file without room.
type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// An error of the file ends the capture, and nothing else.
func TestWriteError(t *testing.T) {
	c, err := tap.New(&full{left: 1000}, tap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("", func(t *testing.T) { talk(t, c, addresses["IPv4"]) })
	if err := c.Close(); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
	if _, err := tap.New(&full{}, tap.Options{}); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
	for _, o := range []tap.Options{{Ring: 1}, {Ring: 1 << 40}, {Snap: -1}, {Ring: 64 << 10, Snap: 17 << 10}} {
		if c, err := tap.New(io.Discard, o); err == nil {
			c.Close()
			t.Errorf("%+v was taken", o)
		}
	}
}

// Create makes a file that only its owner reads.
func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcapng")
	c, err := tap.Create(path, tap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("", func(t *testing.T) { newDialogue(t, c, addresses["IPv4"]).accept(nil, nil) })
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	b, _ := os.ReadFile(path)
	if _, packets := read(t, b); len(packets) != 5 {
		t.Errorf("%d packets", len(packets))
	}
	if _, err := tap.Create(filepath.Join(path, "y"), tap.Options{}); err == nil {
		t.Error("created below a file")
	}
}
