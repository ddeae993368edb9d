package soft_test

import (
	"sync/atomic"
	"testing"

	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// stall stops RDMA WRITEs before their second step.
type stall struct{ on atomic.Bool }

func (s *stall) Step(f *dispatch.Frame, qpn uint32, op verbs.Opcode, moved uint64) bool {
	return s.on.Load() && op == verbs.Write && moved > 0
}

// A responder whose QP goes to Error while a peer's RDMA WRITE stands still in
// mid-copy: after its receives have been flushed, nothing of its memory is written.
func TestErrorEndsAStalledCopy(t *testing.T) {
	forBoth(t, func(t *testing.T, two bool) {
		s := &stall{}
		s.on.Store(true)
		fb, a, b := pair(t, setup{rnr: 7, two: two, config: soft.Config{Fault: s}})
		for i := range 200000 {
			a.mem[i] = 0xaa
		}
		b.recv(7, 900000, 16)
		a.post(verbs.WR{ID: 1, Op: verbs.Write, Key: b.mr.RKey(), RemoteAddr: b.base, NumSGE: 1, SGE: [4]verbs.SGE{a.sge(0, 200000)}})
		b.at(func(*dispatch.Frame) {}) // the first step has been made
		var op verbs.Op[verbs.None]
		b.qp.Modify(&op, verbs.Error)
		wait(t, &op)
		if wc := b.completions(1)[0]; wc.ID != 7 || wc.Status != verbs.WRFlushErr {
			t.Fatalf("%+v", wc)
		}
		snapshot := append([]byte(nil), b.mem[:200000]...)
		s.on.Store(false)
		fb.Resume()
		if wc := a.completions(1)[0]; wc.Status != verbs.RetryExcErr {
			t.Errorf("the writer learns %s", wc.Status)
		}
		b.at(func(*dispatch.Frame) {})
		for i := range snapshot {
			if b.mem[i] != snapshot[i] {
				t.Fatalf("byte %d was written after the flush", i)
			}
		}
	})
}
