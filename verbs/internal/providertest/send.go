package providertest

import (
	"bytes"
	"testing"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

var sendTests = []test{
	{"SEND gathers and scatters, IBA 9.4.1", sendGathers},
	{"SEND of nothing takes a receive, IBA 9.4.1", sendNothing},
	{"messages arrive and complete in order, IBA 9.5, 10.8.3.3", sendInOrder},
	{"a message that no receive has room for, IBA 11.6.2", sendTooLong},
	{"a receive whose memory cannot be written, IBA 11.6.2", sendToBadReceive},
	{"SEND from memory that the key does not give, IBA 11.6.2", sendFromBadMemory},
	{"SEND with invalidate ends the key before the receive completes, IBA 9.4.1.1", sendInvalidates},
	{"a message waits for a receive as long as the retry count says, IBA 9.7.5.2.8", sendWaits},
}

func sendGathers(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	Fill(a.Mem[:1000], 1)
	b.Recv(9, b.Piece(1, 100), b.Piece(5000, 1), b.Piece(6003, 2000), b.Piece(0, 0))
	a.Post(WR(1, verbs.Send, a.Piece(0, 599), a.Piece(599, 1), a.Piece(0, 0), a.Piece(600, 400)))
	a.Want(a.Sent(1)[0], 1, verbs.Send, verbs.Success)
	wc := b.Received(1)[0]
	b.Want(wc, 9, verbs.Recv, verbs.Success)
	if wc.ByteLen != 1000 || wc.Invalidated {
		t.Errorf("%+v", wc)
	}
	got := append(append(append([]byte{}, b.Mem[1:101]...), b.Mem[5000]), b.Mem[6003:6902]...)
	if !bytes.Equal(got, a.Mem[:1000]) {
		t.Error("bytes differ")
	}
	if b.Mem[0] != 0 || b.Mem[101] != 0 || b.Mem[6902] != 0 {
		t.Error("bytes beside the receive were written")
	}
}

func sendNothing(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	b.Recv(5)
	b.Recv(6, b.Piece(0, 10))
	a.Post(WR(1, verbs.Send), WR(2, verbs.Send, verbs.SGE{}))
	for i, wc := range b.Received(2) {
		b.Want(wc, uint64(5+i), verbs.Recv, verbs.Success)
		if wc.ByteLen != 0 {
			t.Errorf("%d bytes", wc.ByteLen)
		}
	}
	a.Sent(2)
}

func sendInOrder(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	const rounds, batch = 50, 10
	for r := range rounds {
		for i := range batch {
			b.Recv(uint64(r*batch+i), b.Piece(i*16, 16))
		}
		wrs := make([]verbs.WR, batch)
		for i := range wrs {
			a.Mem[i] = byte(r + i)
			wrs[i] = WR(uint64(r*batch+i), verbs.Send, a.Piece(i, 1))
		}
		a.Post(wrs...)
		for i, wc := range b.Received(batch) {
			b.Want(wc, uint64(r*batch+i), verbs.Recv, verbs.Success)
			if b.Mem[i*16] != byte(r+i) {
				t.Fatalf("message %d in receive %d", b.Mem[i*16], r+i)
			}
		}
		for i, wc := range a.Sent(batch) {
			a.Want(wc, uint64(r*batch+i), verbs.Send, verbs.Success)
		}
	}
}

func sendTooLong(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	b.Recv(1, b.Piece(0, 99))
	b.Recv(2, b.Piece(0, 1000))
	a.Post(WR(7, verbs.Send, a.Piece(0, 100)), WR(8, verbs.Send, a.Piece(0, 1)))
	sent, got := a.Sent(2), b.Received(2)
	a.Want(sent[0], 7, verbs.Send, verbs.RemInvReqErr)
	a.Want(sent[1], 8, verbs.Send, verbs.WRFlushErr)
	b.Want(got[0], 1, verbs.Recv, verbs.LocLenErr)
	b.Want(got[1], 2, verbs.Recv, verbs.WRFlushErr)
	bothDead(a, b)
}

func sendToBadReceive(t *testing.T, plug Plug, o Options) {
	for name, sge := range map[string]func(b *End) verbs.SGE{
		"unknown key":            func(b *End) verbs.SGE { g := b.Piece(0, 10); g.LKey ^= 0xff00; return g },
		"wrong key byte":         func(b *End) verbs.SGE { g := b.Piece(0, 10); g.LKey ^= 1; return g },
		"beyond the region":      func(b *End) verbs.SGE { return b.Piece(len(b.Mem)-5, 10) },
		"region without writing": func(b *End) verbs.SGE { g := b.Piece(0, 10); g.LKey = b.Register(verbs.RemoteRead).LKey(); return g },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := Pair(t, plug, o)
			b.Recv(1, sge(b))
			a.Post(WR(7, verbs.Send, a.Piece(0, 5)))
			a.Want(a.Sent(1)[0], 7, verbs.Send, verbs.RemOpErr)
			b.Want(b.Received(1)[0], 1, verbs.Recv, verbs.LocProtErr)
			bothDead(a, b)
		})
	}
}

func sendFromBadMemory(t *testing.T, plug Plug, o Options) {
	for name, sge := range badMemory {
		t.Run(name, func(t *testing.T) {
			a, b := Pair(t, plug, o)
			b.Recv(1, b.Piece(0, 100))
			a.Post(WR(7, verbs.Send, a.Piece(0, 1), sge(a)))
			a.Want(a.Sent(1)[0], 7, verbs.Send, verbs.LocProtErr)
			a.AwaitEvent(verbs.QPFatal)
			if s := a.QP.State(); s != verbs.Error {
				t.Errorf("QP %s", s)
			}
			// The peer has seen nothing of it.
			if s := b.QP.State(); s != verbs.RTS {
				t.Errorf("peer's QP %s", s)
			}
			b.Idle()
		})
	}
}

// badMemory are pieces that a request must not name.
var badMemory = map[string]func(e *End) verbs.SGE{
	"unknown key":       func(e *End) verbs.SGE { g := e.Piece(0, 10); g.LKey += 0x5500; return g },
	"index far beyond":  func(e *End) verbs.SGE { g := e.Piece(0, 10); g.LKey = 0xffffff00; return g },
	"no key":            func(e *End) verbs.SGE { g := e.Piece(0, 10); g.LKey = 0; return g },
	"wrong key byte":    func(e *End) verbs.SGE { g := e.Piece(0, 10); g.LKey ^= 0x80; return g },
	"before the region": func(e *End) verbs.SGE { return e.Piece(-1, 10) },
	"past the end":      func(e *End) verbs.SGE { return e.Piece(len(e.Mem)-9, 10) },
	"length that wraps": func(e *End) verbs.SGE { return e.Piece(1, -1) },
	"address that wraps": func(e *End) verbs.SGE {
		return verbs.SGE{Addr: ^uint64(0) - 2, Length: 8, LKey: e.MR.LKey()}
	},
	"another domain": func(e *End) verbs.SGE {
		pd := e.PD
		e.PD = Do(e.World, e.Dev.CreatePD)
		e.made = append(e.made, e.PD)
		g := e.Piece(0, 10)
		g.LKey = e.Register(Everything).LKey()
		e.PD = pd
		return g
	},
	"a region that is gone": func(e *End) verbs.SGE {
		mr := e.Register(Everything)
		e.World.Close(mr)
		g := e.Piece(0, 10)
		g.LKey = mr.LKey()
		return g
	},
}

// bothDead demands that both QPs went to Error by themselves, and told so.
func bothDead(a, b *End) {
	a.T.Helper()
	for _, e := range []*End{a, b} {
		e.AwaitEvent(verbs.QPFatal)
		if s := e.QP.State(); s != verbs.Error {
			e.T.Errorf("QP %s after a fatal error", s)
		}
	}
}

func sendInvalidates(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	mw := b.Window()
	key := verbs.NextKey(mw.RKey())
	b.Post(b.Bind(1, mw, key, 0, 100, verbs.RemoteWrite))
	b.Want(b.Sent(1)[0], 1, verbs.BindWindow, verbs.Success)
	b.Recv(2, b.Piece(500, 100))
	b.Recv(3, b.Piece(500, 100))
	send := WR(6, verbs.SendInv, a.Piece(0, 3))
	send.Key = key
	a.Post(a.RDMA(5, verbs.Write, 0, 100, b, 0, key), send)
	wc := b.Received(1)[0]
	b.Want(wc, 2, verbs.Recv, verbs.Success)
	if !wc.Invalidated || wc.InvKey != key || wc.ByteLen != 3 {
		t.Errorf("%+v; want key %#x invalidated", wc, key)
	}
	for i, wc := range a.Sent(2) {
		a.Want(wc, uint64(5+i), []verbs.Opcode{verbs.Write, verbs.SendInv}[i], verbs.Success)
	}
	// It is quiet: it can be bound again at once.
	b.Post(b.Bind(4, mw, verbs.NextKey(key), 0, 100, verbs.RemoteWrite))
	b.Want(b.Sent(1)[0], 4, verbs.BindWindow, verbs.Success)
	a.Post(a.RDMA(7, verbs.Write, 0, 1, b, 0, key))
	a.Want(a.Sent(1)[0], 7, verbs.Write, verbs.RemAccessErr)
}

func sendWaits(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	a.Mem[0] = 42
	a.Post(WR(1, verbs.Send, a.Piece(0, 1)), a.RDMA(2, verbs.Write, 0, 1, b, 100, b.MR.RKey()))
	past := false
	b.At(func(*dispatch.Frame) { past = b.Mem[100] != 0 })
	if past {
		t.Error("a request went past one that waits")
	}
	b.Recv(5, b.Piece(0, 10))
	b.Want(b.Received(1)[0], 5, verbs.Recv, verbs.Success)
	sent := a.Sent(2)
	a.Want(sent[0], 1, verbs.Send, verbs.Success)
	a.Want(sent[1], 2, verbs.Write, verbs.Success)
	if b.Mem[0] != 42 || b.Mem[100] != 42 {
		t.Error("bytes did not arrive")
	}
}
