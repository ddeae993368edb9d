package path

import (
	"flag"
	"runtime"
	"sync/atomic"
	"testing"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/test/rig"
	"minisrp/verbs/dispatch"
)

// chainLength is short in ordinary runs; `go test ./test/path -run Chain -chain
// 10000000` is the long one.
var chainLength = flag.Int("chain", 300_000, "requests in TestChain")

// TestChain holds that a chain of requests, each started from the completion of the one
// before, runs at constant stack and heap: completions never nest.
func TestChain(t *testing.T) {
	ctx := t.Context()
	r, err := rig.New(ctx, rig.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeRig(t, r)
	region, free, err := r.Memory(ctx, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer free()

	length := *chainLength
	if testing.Short() {
		length = min(length, 20_000)
	}
	var stackHigh, stackLow uintptr
	left, nested := length, 0
	finished := make(chan struct{})
	s := &miniport.SRB{Direction: miniport.DataIn, Length: 4096, Data: []miniport.Segment{{Region: region, Length: 4096}}}
	u := r.Port.Units()[0]
	start := func(f *dispatch.Frame) {
		s.CDBLength = uint8((&scsi.RW{LBA: uint64(left%1000) * 8, Blocks: 8}).Put(&s.CDB))
		u.Submit(f, s)
	}
	s.Done = func(f *dispatch.Frame, s *miniport.SRB) {
		if nested++; nested != 1 {
			t.Fatal("a completion inside a completion")
		}
		at := stackPointer()
		if stackLow == 0 || at < stackLow {
			stackLow = at
		}
		stackHigh = max(stackHigh, at)
		if s.Status != miniport.StatusSuccess {
			t.Errorf("%s with %d left", s.Status, left)
			left = 1
		}
		if left--; left > 0 {
			start(f)
		} else {
			close(finished)
		}
		nested--
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	// All of it runs on one goroutine, the processor's, so that stack addresses compare.
	var kick dispatch.DPC
	kick.Init(r.Processor, start)
	kick.Post()
	<-finished
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > uint64(length)/100+2000 {
		t.Errorf("%d allocations in %d requests", n, length)
	}
	if after.HeapAlloc > before.HeapAlloc+(8<<20) {
		t.Errorf("the heap grew from %d to %d bytes", before.HeapAlloc, after.HeapAlloc)
	}
	if d := stackHigh - stackLow; d > 16<<10 {
		t.Errorf("the stack moved by %d bytes", d)
	}
	t.Logf("%d requests: %d allocations in the process, heap %d → %d bytes, stack within %d bytes",
		length, after.Mallocs-before.Mallocs, before.HeapAlloc, after.HeapAlloc, stackHigh-stackLow)
	if dispatch.Twin {
		times := r.Processor.Times()
		t.Logf("at Dispatch: %s", times.String())
	}
}

// TestNoAllocation holds that a request allocates nothing between Submit and Done, for
// reads and writes, with direct and indirect descriptors and with immediate data, on
// both sides of the fabric.
func TestNoAllocation(t *testing.T) {
	ram := func() []lun.Store {
		s, err := lun.NewRAM(8<<20, 512)
		if err != nil {
			t.Fatal(err)
		}
		return []lun.Store{s}
	}
	for _, c := range []struct {
		name     string
		write    bool
		segments []uint32
		config   rig.Config
	}{
		{"read direct", false, []uint32{65536}, rig.Config{}},
		{"read indirect", false, []uint32{4096, 512, 8192, 1024}, rig.Config{}},
		{"write direct", true, []uint32{65536}, rig.Config{}},
		{"write indirect", true, []uint32{4096, 16384, 512, 32768}, rig.Config{}},
		{"write immediate", true, []uint32{4096}, rig.Config{}},
		{"read through the region's key", false, []uint32{4096}, rig.Config{Protect: srp.ProtectRegion}},
		{"read bounced", false, []uint32{4096}, rig.Config{Protect: srp.ProtectBounce}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Stores = ram()
			r, err := rig.New(t.Context(), c.config)
			if err != nil {
				t.Fatal(err)
			}
			defer closeRig(t, r)
			region, free, err := r.Memory(t.Context(), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			defer free()
			s := &miniport.SRB{Direction: miniport.DataIn}
			if c.write {
				s.Direction = miniport.DataOut
			}
			off := uint64(0)
			for _, n := range c.segments {
				s.Data = append(s.Data, miniport.Segment{Region: region, Offset: off, Length: n})
				s.Length += n
				off += 2 * uint64(n) // apart, so that they stay pieces
			}
			s.CDBLength = uint8((&scsi.RW{Write: c.write, LBA: 8, Blocks: s.Length / 512}).Put(&s.CDB))
			var done atomic.Int64
			s.Done = func(f *dispatch.Frame, s *miniport.SRB) {
				if done.Add(1); s.Status != miniport.StatusSuccess {
					t.Errorf("%s, SCSI %s", s.Status, s.SCSIStatus)
				}
			}
			u := r.Port.Units()[0]
			var f dispatch.Frame
			one := func() {
				before := done.Load()
				r.Processor.Raise(&f)
				u.Submit(&f, s)
				f.Lower()
				for done.Load() == before { // the processor's goroutine had it
					runtime.Gosched()
				}
			}
			if n := testing.AllocsPerRun(500, one); n != 0 {
				t.Errorf("%v allocations a request", n)
			}
		})
	}
}

func closeRig(t *testing.T, r *rig.Rig) {
	t.Helper()
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
