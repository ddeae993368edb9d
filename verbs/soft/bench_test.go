package soft_test

import (
	"testing"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	pt "minisrp/verbs/internal/providertest"
)

// BenchmarkRoundTrip is a SEND each way and both completions, on one processor.
func BenchmarkRoundTrip(b *testing.B) {
	x, y := pt.Pair(b, fresh, pt.Options{Manual: true})
	recv := []verbs.RecvWR{{NumSGE: 1, SGE: [verbs.MaxSGE]verbs.SGE{x.Piece(0, 64)}}}
	send := []verbs.WR{pt.WR(1, verbs.Send, x.Piece(100, 64))}
	recvY := []verbs.RecvWR{{NumSGE: 1, SGE: [verbs.MaxSGE]verbs.SGE{y.Piece(0, 64)}}}
	sendY := []verbs.WR{pt.WR(1, verbs.Send, y.Piece(100, 64))}
	f := new(dispatch.Frame)
	var wcs [4]verbs.WC
	b.ReportAllocs()
	for b.Loop() {
		x.P.Raise(f)
		x.QP.PostRecv(f, recv)
		y.QP.PostRecv(f, recvY)
		x.QP.Post(f, send)
		y.QP.Post(f, sendY)
		f.Lower()
		x.P.Raise(f)
		n := x.SCQ.Poll(f, wcs[:]) + x.RCQ.Poll(f, wcs[:]) + y.SCQ.Poll(f, wcs[:]) + y.RCQ.Poll(f, wcs[:])
		f.Lower()
		if n != 4 {
			b.Fatalf("%d completions", n)
		}
	}
}
