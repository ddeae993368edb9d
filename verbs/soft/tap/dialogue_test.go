package tap_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	pt "minisrp/verbs/internal/providertest"
	"minisrp/verbs/soft"
	"minisrp/verbs/soft/tap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dialogue is two ends whose every message goes to a tap, and what is to be seen.
type dialogue struct {
	*pt.World
	a, b    *pt.End
	service verbs.Address
	want    []packet
	psn     [2]uint32 // next of a and of b
}

// packet is what a decoder must find; fields that do not apply are zero.
type packet struct {
	from, to netip.Addr
	opcode   uint8
	qp       uint32
	psn      uint32 // not of MADs
	ack      bool
	va       uint64
	key      uint32
	dmaLen   uint32
	msn      uint32
	payload  []byte // of a MAD: not compared
	attr     uint16 // of a MAD
	private  []byte // of a MAD, without trailing zeros
	size     int    // UDP length
}

var addresses = map[string][2]netip.Addr{
	"IPv4": {pt.Addr(0), pt.Addr(1)},
	"IPv6": {netip.MustParseAddr("2001:db8::a"), netip.MustParseAddr("2001:db8:1::b")},
}

// newDialogue makes two ends, not connected. t may be a sub-test of the tap's owner.
func newDialogue(t *testing.T, c soft.Tap, addr [2]netip.Addr) *dialogue {
	t.Helper()
	fb := soft.New(soft.Config{Tap: c})
	d := &dialogue{World: pt.NewWorld(t, 2, true)}
	ends := [2]*pt.End{}
	for i := range ends {
		h, err := fb.Plug(soft.HCAConfig{Name: string(rune('a' + i)), GUID: verbs.GUID(0x020000fffe000001 + i), Addr: addr[i]})
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = pt.NewEnd(d.World, i, h, pt.Options{Manual: true, Two: true})
	}
	d.a, d.b = ends[0], ends[1]
	d.service = verbs.Address{Dst: netip.AddrPortFrom(addr[1], 5555)}
	return d
}

// connect connects a to b, whose listener answers as fn does.
func (d *dialogue) connect(private []byte, fn func(r *verbs.ConnectRequest)) error {
	d.T.Helper()
	var got *verbs.ConnectRequest
	l := pt.Do(d.World, func(op *verbs.Op[*verbs.Listener]) {
		d.b.Dev.Listen(op, &verbs.ListenAttr{Address: d.service, Processor: d.b.P, Request: func(f *dispatch.Frame, l *verbs.Listener, r *verbs.ConnectRequest) {
			got = r
		}})
	})
	defer d.World.Close(l)
	var op verbs.Op[verbs.ConnectReply]
	d.a.QP.Connect(&op, &verbs.ConnectAttr{
		Address: d.service, Private: private, RetryCount: 7, RNRRetry: 6, ReadsAnswered: 4, ReadsIssued: 3,
	})
	for deadline := time.Now().Add(pt.Patience); got == nil; d.Settle() {
		if time.Now().After(deadline) {
			d.T.Fatal("no request came")
		}
	}
	fn(got)
	_, err := pt.Result(d.World, &op)
	return err
}

// accept connects with private data of both sides.
func (d *dialogue) accept(private, reply []byte) {
	d.T.Helper()
	if err := d.connect(private, func(r *verbs.ConnectRequest) {
		pt.Do(d.World, func(op *verbs.Op[verbs.None]) {
			d.b.QP.Accept(op, &verbs.AcceptAttr{Request: r, Private: reply, RNRRetry: 5, ReadsAnswered: 2, ReadsIssued: 1})
		})
	}); err != nil {
		d.T.Fatal(err)
	}
}

func addrOf(e *pt.End, d *dialogue, addr [2]netip.Addr) (from, to netip.Addr) {
	if e == d.a {
		return addr[0], addr[1]
	}
	return addr[1], addr[0]
}

const mtu = 4096

// said notes the packets of a request that an end has sent.
func (d *dialogue) said(addr [2]netip.Addr, e *pt.End, wr verbs.WR, data []byte, msn uint32) {
	peer, i := d.b, 0
	if e == d.b {
		peer, i = d.a, 1
	}
	from, to := addrOf(e, d, addr)
	count := max(1, (len(data)+mtu-1)/mtu)
	ops := map[verbs.Opcode][4]uint8{ // first, middle, last, only
		verbs.Send: {0, 1, 2, 4}, verbs.SendInv: {0, 1, 0x16, 0x17}, verbs.Write: {6, 7, 8, 0xa}, verbs.Read: {0xd, 0xe, 0xf, 0x10},
	}[wr.Op]
	psn := d.psn[i]
	if wr.Op == verbs.Read {
		d.want = append(d.want, packet{
			from: from, to: to, opcode: 0xc, qp: peer.QP.Num(), psn: psn, ack: true,
			va: wr.RemoteAddr, key: wr.Key, dmaLen: uint32(len(data)), size: 8 + 12 + 16 + 4,
		})
		from, to, peer = to, from, e
	}
	for n := range count {
		first, last := n == 0, n == count-1
		body := data[n*mtu : min(len(data), (n+1)*mtu)]
		p := packet{from: from, to: to, qp: peer.QP.Num(), psn: psn & 0xffffff, payload: body, size: 8 + 12 + (len(body)+3)&^3 + 4}
		psn++
		p.ack = last && wr.Op != verbs.Read
		switch {
		case first && last:
			p.opcode = ops[3]
		case first:
			p.opcode = ops[0]
		case last:
			p.opcode = ops[2]
		default:
			p.opcode = ops[1]
		}
		switch {
		case wr.Op == verbs.Write && first:
			p.va, p.key, p.dmaLen = wr.RemoteAddr, wr.Key, uint32(len(data))
			p.size += 16
		case wr.Op == verbs.SendInv && last:
			p.key = wr.Key
			p.size += 4
		case wr.Op == verbs.Read && (first || last):
			p.msn = msn
			p.size += 4
		}
		d.want = append(d.want, p)
	}
	d.psn[i] = psn
}

// managed notes a MAD.
func (d *dialogue) managed(from, to netip.Addr, attr uint16, private []byte) {
	d.want = append(d.want, packet{from: from, to: to, opcode: 0x64, qp: 1, attr: attr, private: private, size: 8 + 280})
}

// talk makes a dialogue with everything that a tap can see, and notes it. psns are
// filled in by the reader, from the REQ and the REP.
func talk(t *testing.T, c soft.Tap, addr [2]netip.Addr) *dialogue {
	t.Helper()
	d := newDialogue(t, c, addr)
	hello, no := bytes.Repeat([]byte{0x11}, 56), bytes.Repeat([]byte{0xc2}, 32)
	if err := d.connect(hello, func(r *verbs.ConnectRequest) { r.Reject(verbs.RejectConsumer, no) }); err == nil {
		t.Fatal("connected in spite of a reject")
	}
	d.managed(addr[0], addr[1], 0x10, hello)
	d.managed(addr[1], addr[0], 0x12, no)
	welcome := bytes.Repeat([]byte{0xc0}, 52)
	d.accept(hello, welcome)
	d.managed(addr[0], addr[1], 0x10, hello)
	d.managed(addr[1], addr[0], 0x13, welcome)
	d.managed(addr[0], addr[1], 0x14, nil)
	a, b := d.a, d.b
	pt.Fill(a.Mem, 1)
	pt.Fill(b.Mem, 2)
	mw := a.Window()
	key := verbs.NextKey(mw.RKey())
	a.Post(a.Bind(1, mw, key, 100000, 50000, verbs.RemoteRead|verbs.RemoteWrite))
	a.Sent(1)
	msn := [2]uint32{}
	say := func(e, peer *pt.End, wr verbs.WR, data []byte) {
		t.Helper()
		data = bytes.Clone(data)
		if wr.Op == verbs.Send || wr.Op == verbs.SendInv {
			peer.Recv(1, peer.Piece(300000, 20000))
		}
		e.Post(wr)
		e.Want(e.Sent(1)[0], wr.ID, wr.Op, verbs.Success)
		if wr.Op == verbs.Send || wr.Op == verbs.SendInv {
			peer.Received(1)
		}
		i := 0
		if e == b {
			i = 1
		}
		msn[i]++
		d.said(addr, e, wr, data, msn[i])
	}
	say(a, b, pt.WR(1, verbs.Send, a.Piece(0, 68)), a.Mem[:68]) // a command
	for n := range 4 {                                          // each padding
		say(a, b, pt.WR(1, verbs.Send, a.Piece(7, n)), a.Mem[7:7+n])
	}
	say(b, a, b.RDMA(2, verbs.Read, 0, 5000, a, 100000, key), a.Mem[100000:105000])
	say(b, a, b.RDMA(3, verbs.Read, 0, 4096, a, 100000, key), a.Mem[100000:104096])
	say(b, a, b.RDMA(4, verbs.Read, 0, 12289, a, 100000, key), a.Mem[100000:112289])
	say(b, a, b.RDMA(5, verbs.Write, 1, 10000, a, 120000, key), b.Mem[1:10001])
	say(b, a, b.RDMA(6, verbs.Write, 1, 8192, a, 120000, key), b.Mem[1:8193])
	say(b, a, b.RDMA(7, verbs.Write, 1, 512, a, 120000, key), b.Mem[1:513])
	zero := pt.WR(8, verbs.Write)
	say(b, a, zero, nil)
	wr := pt.WR(9, verbs.Send, b.Piece(0, 3), b.Piece(5, 9000)) // more than one packet
	say(b, a, wr, append(bytes.Clone(b.Mem[:3]), b.Mem[5:9005]...))
	wr = pt.WR(10, verbs.SendInv, b.Piece(0, 36)) // a response
	wr.Key = key
	say(b, a, wr, b.Mem[:36])
	pt.Do(d.World, a.QP.Disconnect)
	b.AwaitEvent(verbs.Disconnected)
	d.managed(addr[0], addr[1], 0x15, nil)
	d.managed(addr[1], addr[0], 0x16, nil)
	return d
}

// both runs a test over IPv4 and IPv6.
func both(t *testing.T, fn func(t *testing.T, addr [2]netip.Addr)) {
	for name, addr := range addresses {
		t.Run(name, func(t *testing.T) { fn(t, addr) })
	}
}

// captured lets fn talk to a capture, and returns the file.
func captured(t *testing.T, o tap.Options, fn func(c *tap.Capture)) []byte {
	t.Helper()
	var file bytes.Buffer
	c, err := tap.New(&file, o)
	if err != nil {
		t.Fatal(err)
	}
	fn(c)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if n := c.Dropped(); n != 0 {
		t.Errorf("%d messages dropped", n)
	}
	return file.Bytes()
}
