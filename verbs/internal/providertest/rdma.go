package providertest

import (
	"bytes"
	"testing"

	"minisrp/verbs"
)

var rdmaTests = []test{
	{"WRITE gathers and READ scatters four pieces at odd offsets, IBA 9.4.3, 9.4.4", rdmaOddPieces},
	{"large WRITE and READ, IBA 9.4.3, 9.4.4", rdmaLarge},
	{"RDMA of nothing checks no key, IBA C9-88", rdmaNothing},
	{"access that the key does not give, IBA 9.7.4.1.5, 11.6.2", rdmaRefused},
	{"access that the QP does not allow, IBA 9.7.4.1.3, 11.6.2", rdmaNotAllowedByQP},
	{"READ into memory that may not be written, IBA 11.6.2", rdmaReadToReadOnly},
	{"what follows a READ by a fence sees what was read, IBA 10.8.3.3", rdmaFence},
	{"WRITE before SEND: the bytes are there when the receive completes, IBA 9.5", rdmaWriteThenSend},
}

func rdmaOddPieces(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	Fill(a.Mem[:64<<10], 3)
	pieces := []verbs.SGE{a.Piece(1, 4097), a.Piece(8191, 3), a.Piece(20001, 1), a.Piece(30003, 12345)}
	var want []byte
	for _, p := range pieces {
		want = append(want, a.Mem[p.Addr-a.Base:][:p.Length]...)
	}
	w := WR(1, verbs.Write, pieces...)
	w.RemoteAddr, w.Key = b.Base+777, b.MR.RKey()
	a.Post(w)
	wc := a.Sent(1)[0]
	a.Want(wc, 1, verbs.Write, verbs.Success)
	if got := b.Mem[777 : 777+len(want)]; !bytes.Equal(got, want) || b.Mem[776] != 0 || b.Mem[777+len(want)] != 0 {
		t.Error("written bytes differ")
	}
	const at = 500001
	into := []verbs.SGE{a.Piece(at, 5), a.Piece(at+1001, 10001), a.Piece(at+20001, 2), a.Piece(at+30001, len(want)-10008)}
	r := WR(2, verbs.Read, into...)
	r.RemoteAddr, r.Key = b.Base+777, b.MR.RKey()
	a.Post(r)
	wc = a.Sent(1)[0]
	a.Want(wc, 2, verbs.Read, verbs.Success)
	if int(wc.ByteLen) != len(want) {
		t.Errorf("%d bytes read; want %d", wc.ByteLen, len(want))
	}
	var got []byte
	for _, p := range into {
		got = append(got, a.Mem[p.Addr-a.Base:][:p.Length]...)
	}
	if !bytes.Equal(got, want) {
		t.Error("read bytes differ")
	}
}

func rdmaLarge(t *testing.T, plug Plug, o Options) {
	o.Memory = 5 << 20
	a, b := Pair(t, plug, o)
	const n = 4<<20 + 4099
	Fill(a.Mem[:n], 9)
	want := bytes.Clone(a.Mem[:n])
	a.Post(a.RDMA(1, verbs.Write, 0, n, b, 1, b.MR.RKey()))
	a.Want(a.Sent(1)[0], 1, verbs.Write, verbs.Success)
	if !bytes.Equal(b.Mem[1:1+n], want) {
		t.Error("written bytes differ")
	}
	clear(a.Mem)
	a.Post(a.RDMA(2, verbs.Read, 3, n, b, 1, b.MR.RKey()))
	a.Want(a.Sent(1)[0], 2, verbs.Read, verbs.Success)
	if !bytes.Equal(a.Mem[3:3+n], want) {
		t.Error("read bytes differ")
	}
}

func rdmaNothing(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	for i, op := range []verbs.Opcode{verbs.Write, verbs.Read} {
		wr := WR(uint64(i), op)
		wr.RemoteAddr, wr.Key = 0xdead, 0xbeefbeef
		a.Post(wr)
		a.Want(a.Sent(1)[0], uint64(i), op, verbs.Success)
	}
	if s := b.QP.State(); s != verbs.RTS {
		t.Errorf("peer's QP %s", s)
	}
}

func rdmaRefused(t *testing.T, plug Plug, o Options) {
	type access struct {
		op  verbs.Opcode
		off int
		n   int
		key func(b *End) uint32
	}
	region := func(b *End) uint32 { return b.MR.RKey() }
	with := func(rights verbs.Access) func(b *End) uint32 {
		return func(b *End) uint32 { return b.Register(rights).RKey() }
	}
	end := 1 << 20
	for name, x := range map[string]access{
		"one byte past the end":        {verbs.Write, end - 9, 10, region},
		"one byte past the end, read":  {verbs.Read, end - 9, 10, region},
		"before the region":            {verbs.Write, -1, 10, region},
		"far beyond the region":        {verbs.Read, end + 1<<40, 1, region},
		"unknown key":                  {verbs.Write, 0, 1, func(b *End) uint32 { return b.MR.RKey() + 0x7700 }},
		"index far beyond":             {verbs.Read, 0, 1, func(b *End) uint32 { return 0xffffffff }},
		"wrong key byte":               {verbs.Write, 0, 1, func(b *End) uint32 { return b.MR.RKey() ^ 1 }},
		"region without remote write":  {verbs.Write, 0, 1, with(verbs.LocalWrite | verbs.RemoteRead | verbs.BindMW)},
		"region without remote read":   {verbs.Read, 0, 1, with(verbs.LocalWrite | verbs.RemoteWrite | verbs.BindMW)},
		"region of another domain":     {verbs.Read, 0, 1, func(b *End) uint32 { return badMemory["another domain"](b).LKey }},
		"region that is gone":          {verbs.Write, 0, 1, func(b *End) uint32 { return badMemory["a region that is gone"](b).LKey }},
		"window that was never bound":  {verbs.Write, 0, 1, func(b *End) uint32 { return b.Window().RKey() }},
		"before the window":            {verbs.Write, 99, 10, window(verbs.RemoteWrite)},
		"past the end of the window":   {verbs.Read, 190, 11, window(verbs.RemoteRead)},
		"window without remote read":   {verbs.Read, 100, 10, window(verbs.RemoteWrite)},
		"window without remote write":  {verbs.Write, 100, 10, window(verbs.RemoteRead)},
		"old key of a window":          {verbs.Write, 100, 10, func(b *End) uint32 { k := window(verbs.RemoteWrite)(b); return k&^0xff | (k-1)&0xff }},
		"window of another connection": {verbs.Write, 100, 10, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := Pair(t, plug, o)
			key := uint32(0)
			if x.key == nil {
				key = window(verbs.RemoteWrite)(b) // for the first pair
				Another(a, b)
			} else {
				key = x.key(b)
			}
			b.Recv(3, b.Piece(0, 10))
			before := bytes.Clone(b.Mem)
			a.Post(a.RDMA(1, x.op, 0, x.n, b, x.off, key), WR(2, verbs.Send, a.Piece(0, 1)))
			sent := a.Sent(2)
			a.Want(sent[0], 1, x.op, verbs.RemAccessErr)
			a.Want(sent[1], 2, verbs.Send, verbs.WRFlushErr)
			b.Want(b.Received(1)[0], 3, verbs.Recv, verbs.WRFlushErr)
			bothDead(a, b)
			if !bytes.Equal(before, b.Mem) {
				t.Error("bytes were written")
			}
		})
	}
}

// window binds a window to bytes 100 to 199 of an end and returns its key.
func window(rights verbs.Access) func(b *End) uint32 {
	return func(b *End) uint32 {
		b.T.Helper()
		mw := b.Window()
		key := verbs.NextKey(mw.RKey())
		b.Post(b.Bind(1000, mw, key, 100, 100, rights))
		b.Want(b.Sent(1)[0], 1000, verbs.BindWindow, verbs.Success)
		return key
	}
}

func rdmaNotAllowedByQP(t *testing.T, plug Plug, o Options) {
	for name, x := range map[string]struct {
		op     verbs.Opcode
		rights verbs.Access
	}{
		"write":            {verbs.Write, verbs.RemoteRead},
		"read":             {verbs.Read, verbs.RemoteWrite},
		"write of nothing": {verbs.Write, NoAccess},
		"read of nothing":  {verbs.Read, NoAccess},
	} {
		t.Run(name, func(t *testing.T) {
			o.QPAccess = x.rights
			a, b := Pair(t, plug, o)
			n := 10
			if x.rights == NoAccess {
				n = 0
			}
			a.Post(a.RDMA(1, x.op, 0, n, b, 0, b.MR.RKey()))
			a.Want(a.Sent(1)[0], 1, x.op, verbs.RemInvReqErr)
			bothDead(a, b)
		})
	}
}

func rdmaReadToReadOnly(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	wr := a.RDMA(1, verbs.Read, 0, 10, b, 0, b.MR.RKey())
	wr.SGE[0].LKey = a.Register(verbs.RemoteRead).LKey()
	a.Post(wr)
	a.Want(a.Sent(1)[0], 1, verbs.Read, verbs.LocProtErr)
	if s := b.QP.State(); s != verbs.RTS {
		t.Errorf("peer's QP %s", s)
	}
}

func rdmaFence(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	Fill(b.Mem[:200000], 5)
	b.Recv(3, b.Piece(300000, 200000))
	send := WR(2, verbs.Send, a.Piece(0, 200000))
	send.Flags |= verbs.Fence
	a.Post(a.RDMA(1, verbs.Read, 0, 200000, b, 0, b.MR.RKey()), send)
	b.Want(b.Received(1)[0], 3, verbs.Recv, verbs.Success)
	if !bytes.Equal(b.Mem[:200000], b.Mem[300000:500000]) {
		t.Error("the SEND did not carry what the READ before its fence read")
	}
	a.Sent(2)
}

func rdmaWriteThenSend(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	for round := range 20 {
		Fill(a.Mem[:300000], byte(round))
		b.Recv(1, b.Piece(500000, 10))
		w := a.RDMA(1, verbs.Write, 0, 300000, b, 0, b.MR.RKey())
		w.Flags = 0
		a.Post(w, WR(2, verbs.Send, a.Piece(0, 1)))
		b.Received(1)
		if !bytes.Equal(a.Mem[:300000], b.Mem[:300000]) {
			t.Fatalf("round %d: the receive completed before the bytes were there", round)
		}
		a.Want(a.Sent(1)[0], 2, verbs.Send, verbs.Success)
	}
}
