package providertest

import (
	"testing"

	"minisrp/verbs"
)

var windowTests = []test{
	{"a window gives its rights to its range, for each binding, IBA 10.6.7.2", windowBound},
	{"bindings that are refused, IBA 10.6.7.2", windowRefused},
	{"LOCAL_INV makes a key useless, IBA 10.6.5", windowInvalidated},
	{"a window whose region is gone gives nothing, IBA 10.6.7.2", windowWithoutRegion},
}

func windowBound(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	mw := b.Window()
	key := mw.RKey()
	for round := range 300 { // the key byte goes round
		key = verbs.NextKey(key)
		b.Post(b.Bind(1, mw, key, 100+round, 50, verbs.RemoteRead|verbs.RemoteWrite))
		b.Want(b.Sent(1)[0], 1, verbs.BindWindow, verbs.Success)
		a.Mem[0] = byte(round)
		a.Post(a.RDMA(2, verbs.Write, 0, 1, b, 149+round, key), a.RDMA(3, verbs.Read, 10, 50, b, 100+round, key))
		sent := a.Sent(2)
		a.Want(sent[0], 2, verbs.Write, verbs.Success)
		a.Want(sent[1], 3, verbs.Read, verbs.Success)
		if a.Mem[59] != byte(round) {
			t.Fatalf("round %d: read %d", round, a.Mem[59])
		}
		b.Post(Inv(4, key))
		b.Want(b.Sent(1)[0], 4, verbs.LocalInv, verbs.Success)
	}
}

func windowRefused(t *testing.T, plug Plug, o Options) {
	good := func(b *End, mw *verbs.MW) verbs.WR {
		return b.Bind(1, mw, verbs.NextKey(mw.RKey()), 100, 100, verbs.RemoteRead|verbs.RemoteWrite)
	}
	withRegion := func(rights, want verbs.Access) func(b *End, mw *verbs.MW) verbs.WR {
		return func(b *End, mw *verbs.MW) verbs.WR {
			wr := good(b, mw)
			wr.SGE[0].LKey, wr.Access = b.Register(rights).LKey(), want
			return wr
		}
	}
	for name, bind := range map[string]func(b *End, mw *verbs.MW) verbs.WR{
		"bound already": func(b *End, mw *verbs.MW) verbs.WR {
			b.Post(good(b, mw))
			b.Want(b.Sent(1)[0], 1, verbs.BindWindow, verbs.Success)
			wr := good(b, mw)
			wr.Key = verbs.NextKey(wr.Key)
			return wr
		},
		"region without the right to bind": withRegion(verbs.LocalWrite|verbs.RemoteRead|verbs.RemoteWrite, verbs.RemoteRead),
		"remote write without local write": withRegion(verbs.BindMW|verbs.RemoteRead, verbs.RemoteWrite),
		"past the end of the region": func(b *End, mw *verbs.MW) verbs.WR {
			wr := good(b, mw)
			wr.SGE[0] = b.Piece(len(b.Mem)-99, 100)
			return wr
		},
		"region of another domain": func(b *End, mw *verbs.MW) verbs.WR {
			wr := good(b, mw)
			wr.SGE[0].LKey = badMemory["another domain"](b).LKey
			return wr
		},
		"nothing": func(b *End, mw *verbs.MW) verbs.WR {
			wr := good(b, mw)
			wr.SGE[0].Length = 0
			return wr
		},
		"key of another window": func(b *End, mw *verbs.MW) verbs.WR {
			wr := good(b, mw)
			wr.Key = b.Window().RKey()
			return wr
		},
		"unknown window": func(b *End, mw *verbs.MW) verbs.WR {
			wr := good(b, mw)
			wr.MW += 1 << 24
			return wr
		},
		"a region in place of a window": func(b *End, mw *verbs.MW) verbs.WR {
			wr := good(b, mw)
			wr.MW, wr.Key = b.MR.RKey()>>8, b.MR.RKey()
			return wr
		},
		"window of another domain": func(b *End, mw *verbs.MW) verbs.WR {
			pd := b.PD
			b.PD = Do(b.World, b.Dev.CreatePD)
			b.made = append(b.made, b.PD)
			mw = b.Window()
			b.PD = pd
			return good(b, mw)
		},
		"window that is gone": func(b *End, mw *verbs.MW) verbs.WR {
			b.World.Close(mw)
			return good(b, mw)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, b := Pair(t, plug, o)
			b.Post(bind(b, b.Window()))
			b.Want(b.Sent(1)[0], 1, verbs.BindWindow, verbs.MWBindErr)
			b.AwaitEvent(verbs.QPFatal)
		})
	}
}

func windowInvalidated(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	key := window(verbs.RemoteWrite)(b)
	a.Post(a.RDMA(2, verbs.Write, 0, 100, b, 100, key))
	a.Want(a.Sent(1)[0], 2, verbs.Write, verbs.Success)
	b.Post(Inv(3, key))
	b.Want(b.Sent(1)[0], 3, verbs.LocalInv, verbs.Success)
	a.Post(a.RDMA(4, verbs.Write, 0, 1, b, 100, key))
	a.Want(a.Sent(1)[0], 4, verbs.Write, verbs.RemAccessErr)
	bothDead(a, b)
}

func windowWithoutRegion(t *testing.T, plug Plug, o Options) {
	a, b := Pair(t, plug, o)
	mw := b.Window()
	key := verbs.NextKey(mw.RKey())
	mr := b.Register(Everything)
	wr := b.Bind(1, mw, key, 0, 100, verbs.RemoteWrite)
	wr.SGE[0].LKey = mr.LKey()
	b.Post(wr)
	b.Want(b.Sent(1)[0], 1, verbs.BindWindow, verbs.Success)
	b.World.Close(mr)
	// Whatever is registered next does not stand under the window.
	for range 255 {
		b.World.Close(b.Register(Everything))
	}
	b.Register(Everything) // with soft, of the same entry and key byte
	a.Post(a.RDMA(2, verbs.Write, 0, 100, b, 0, key))
	a.Want(a.Sent(1)[0], 2, verbs.Write, verbs.RemAccessErr)
}
