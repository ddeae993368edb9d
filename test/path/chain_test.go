package path

import (
	"flag"
	"runtime"
	"testing"

	"minisrp/miniport"
	"minisrp/scsi"
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

func closeRig(t *testing.T, r *rig.Rig) {
	t.Helper()
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
