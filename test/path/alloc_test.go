package path

import (
	"runtime"
	"sync/atomic"
	"testing"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/test/alloc"
	"minisrp/test/rig"
	"minisrp/verbs/dispatch"
)

// load is a number of SRBs that are submitted at once.
type load struct {
	name     string
	write    bool
	segments []uint32 // of memory that does not lie in a row
	config   rig.Config
	depth    int
	done     func() // told of each that has completed; nil: nobody

	// went reports whether the data went the way that the name says.
	went func(s *srp.ChannelStats) bool
}

// TestNoAllocation holds that a request allocates nothing between Submit and Done, for reads and writes, with direct and
// indirect descriptors and with immediate data, on both sides of the fabric.
func TestNoAllocation(t *testing.T) {
	immediate := func(s *srp.ChannelStats) bool { return s.ImmediateOut != 0 }
	asked := func(s *srp.ChannelStats) bool { return s.ImmediateOut == 0 && s.Copied == 0 }
	for _, l := range []load{
		{name: "read direct", segments: []uint32{65536}, went: asked},
		{name: "read indirect", segments: []uint32{4096, 512, 8192, 1024}, went: asked},
		{name: "write direct", write: true, segments: []uint32{65536}, went: asked},
		{name: "write indirect", write: true, segments: []uint32{4096, 16384, 512, 32768}, went: asked},
		{name: "write immediate", write: true, segments: []uint32{4096}, went: immediate},
		{name: "write immediate in pieces", write: true, segments: []uint32{512, 1024, 512}, went: immediate},
		{name: "read through the region's key", segments: []uint32{4096}, config: rig.Config{Protect: srp.ProtectRegion}, went: asked},
		{name: "read bounced", segments: []uint32{4096}, config: rig.Config{Protect: srp.ProtectBounce}, went: func(s *srp.ChannelStats) bool { return s.Copied != 0 }},
	} {
		for _, l.depth = range []int{1, 16} {
			t.Run(l.name, func(t *testing.T) {
				if n := l.allocations(t, 100); n != 0 {
					t.Errorf("%d allocations in 100 turns of %d requests", n, l.depth)
				}
			})
		}
	}
}

// That can fail: what allocates at the completion is seen.
func TestAllocationShows(t *testing.T) {
	var kept []*int
	l := load{segments: []uint32{4096}, depth: 1, done: func() { kept = append(kept[:0], new(int)) }}
	if n := l.allocations(t, 100); n < 100 {
		t.Errorf("%d allocations in 100 requests that make one each", n)
	}
}

// allocations returns how many are made while all are submitted and complete, turns times.
func (l *load) allocations(t *testing.T, turns int) uint64 {
	ram, err := lun.NewRAM(8<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	c := l.config
	c.Stores = []lun.Store{ram}
	r, err := rig.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer closeRig(t, r)
	region, free, err := r.Memory(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	var done atomic.Int64
	srbs := make([]miniport.SRB, l.depth)
	for i := range srbs {
		l.fill(&srbs[i], region)
		srbs[i].Done = func(f *dispatch.Frame, s *miniport.SRB) {
			if s.Status != miniport.StatusSuccess {
				t.Errorf("%s, SCSI %s", s.Status, s.SCSIStatus)
			}
			if l.done != nil {
				l.done()
			}
			done.Add(1)
		}
	}
	u := r.Port.Units()[0]
	var f dispatch.Frame
	n := alloc.Count(turns, func() {
		before := done.Load()
		r.Processor.Raise(&f)
		for i := range srbs {
			u.Submit(&f, &srbs[i])
		}
		f.Lower()
		for done.Load() < before+int64(len(srbs)) { // the processor's goroutine has the rest
			runtime.Gosched()
		}
	})
	if l.went != nil && !l.went(&r.Path.Channels(t.Context())[0].Stats) {
		t.Error("the data went another way")
	}
	return n
}

func (l *load) fill(s *miniport.SRB, region *miniport.Region) {
	s.Direction = miniport.DataIn
	if l.write {
		s.Direction = miniport.DataOut
	}
	off := uint64(0)
	for _, n := range l.segments {
		s.Data = append(s.Data, miniport.Segment{Region: region, Offset: off, Length: n})
		s.Length += n
		off += 2 * uint64(n) // apart, so that they stay pieces
	}
	s.CDBLength = uint8((&scsi.RW{Write: l.write, LBA: 8, Blocks: s.Length / 512}).Put(&s.CDB))
}
