package soft_test

import (
	"testing"

	"minisrp/verbs"
	pt "minisrp/verbs/internal/providertest"
)

// uselessKeys name no window that is bound in the domain of b's QP.
var uselessKeys = map[string]func(b *pt.End, w uint32) uint32{
	"unknown":         func(b *pt.End, w uint32) uint32 { return w + 0x700 },
	"index 0":         func(b *pt.End, w uint32) uint32 { return 0x55 },
	"far beyond":      func(b *pt.End, w uint32) uint32 { return 0xfffffff0 },
	"other key byte":  func(b *pt.End, w uint32) uint32 { return verbs.NextKey(w) },
	"of a region":     func(b *pt.End, w uint32) uint32 { return b.MR.RKey() },
	"of a free place": func(b *pt.End, w uint32) uint32 { mr := b.Register(pt.Everything); b.World.Close(mr); return mr.RKey() },
	"never bound":     func(b *pt.End, w uint32) uint32 { return b.Window().RKey() },
}

func bound(b *pt.End) uint32 {
	mw := b.Window()
	key := verbs.NextKey(mw.RKey())
	b.Post(b.Bind(1, mw, key, 0, 100, verbs.RemoteWrite))
	b.Want(b.Sent(1)[0], 1, verbs.BindWindow, verbs.Success)
	return key
}

// LOCAL_INV of what is no bound window of the domain fails, and ends nothing
// (IBA 10.6.5, 11.4.1.1).
func TestLocalInvOfAUselessKey(t *testing.T) {
	for name, key := range uselessKeys {
		t.Run(name, func(t *testing.T) {
			a, b := pt.Pair(t, fresh, pt.Options{Manual: true})
			good := bound(b)
			b.Post(pt.Inv(2, key(b, good)))
			b.Want(b.Sent(1)[0], 2, verbs.LocalInv, verbs.LocQPOpErr)
			b.AwaitEvent(verbs.QPFatal)
			pt.Another(a, b)
			// The region's key gives what it gave before.
			a.Post(a.RDMA(3, verbs.Write, 0, 1, b, 0, b.MR.RKey()))
			a.Want(a.Sent(1)[0], 3, verbs.Write, verbs.Success)
		})
	}
}

// A SEND that shall invalidate such a key takes both ends to Error: the receiver's
// completion says that its memory was reached by nothing it asked for (IBA 9.4.1.1,
// 9.9.3).
func TestSendInvOfAUselessKey(t *testing.T) {
	for name, key := range uselessKeys {
		t.Run(name, func(t *testing.T) {
			a, b := pt.Pair(t, fresh, pt.Options{Manual: true})
			good := bound(b)
			b.Recv(2, b.Piece(500, 10))
			b.Recv(3, b.Piece(500, 10))
			send := pt.WR(4, verbs.SendInv, a.Piece(0, 1))
			send.Key = key(b, good)
			a.Post(send)
			a.Want(a.Sent(1)[0], 4, verbs.SendInv, verbs.RemOpErr)
			got := b.Received(2)
			b.Want(got[0], 2, verbs.Recv, verbs.LocAccessErr)
			b.Want(got[1], 3, verbs.Recv, verbs.WRFlushErr)
			if got[0].Invalidated {
				t.Error("a receive that failed says that a key was invalidated")
			}
			a.AwaitEvent(verbs.QPFatal)
			b.AwaitEvent(verbs.QPFatal)
		})
	}
}

// A message of more than 2^31 bytes does not leave (IBA 9.7.2).
func TestMessageTooLong(t *testing.T) {
	a, b := pt.Pair(t, fresh, pt.Options{Manual: true, Memory: 1 << 20})
	g := a.Piece(0, 1<<20)
	g.Length = 1<<31 + 1
	a.Post(pt.WR(1, verbs.Send, g))
	a.Want(a.Sent(1)[0], 1, verbs.Send, verbs.LocProtErr) // the region is shorter
	if s := b.QP.State(); s != verbs.RTS {
		t.Errorf("peer's QP %s", s)
	}
}
