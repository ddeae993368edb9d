package path

import (
	"bytes"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minisrp/miniport"
	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/test/rig"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// pending is an SRB that was submitted.
type pending struct {
	s    *miniport.SRB
	done chan struct{}
}

// submit starts a read or write of 64 KiB at block 64.
func submit(r *rig.Rig, region *miniport.Region, write bool, timeout time.Duration) *pending {
	p := &pending{s: &miniport.SRB{Direction: miniport.DataIn, Length: 64 << 10, Timeout: timeout}, done: make(chan struct{})}
	if write {
		p.s.Direction = miniport.DataOut
	}
	p.s.Data = []miniport.Segment{{Region: region, Length: p.s.Length}}
	p.s.CDBLength = uint8((&scsi.RW{Write: write, LBA: 64, Blocks: p.s.Length / 512}).Put(&p.s.CDB))
	p.s.Done = func(*dispatch.Frame, *miniport.SRB) { close(p.done) }
	u := r.Port.Units()[0]
	var f dispatch.Frame
	r.Processor.Raise(&f)
	u.Submit(&f, p.s)
	f.Lower()
	return p
}

func (p *pending) completed() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// after lets d pass in the bubble and everything that follows from it happen.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// A target that executes late: the write is in the store's hands when it is aborted. The
// abort is answered only after it has ended, and no byte of the store changes once the
// request has completed.
func TestLateWriteNotAfterAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ram, err := lun.NewRAM(1<<20, 512)
		if err != nil {
			t.Fatal(err)
		}
		gate := luntest.Pause(ram)
		r, err := rig.New(t.Context(), rig.Config{Stores: []lun.Store{gate}})
		if err != nil {
			t.Fatal(err)
		}
		defer closeRig(t, r)
		region, free, err := r.Memory(t.Context(), 64<<10)
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		fill(region.Bytes(), 0xaa)
		gate.Shut()
		p := submit(r, region, true, 2*time.Second)
		<-gate.Arrived()
		after(4 * time.Second) // its deadline, and into the abort's 5 s
		if p.completed() {
			t.Fatal("completed while the target is executing it")
		}
		gate.Open()
		<-p.done
		if p.s.Status != miniport.StatusTimeout && p.s.Status != miniport.StatusSuccess {
			t.Errorf("%s", p.s.Status)
		}
		snapshot := contents(t, ram)
		fill(region.Bytes(), 0xbb) // the memory is the submitter's again
		after(time.Minute)
		if !bytes.Equal(contents(t, ram), snapshot) {
			t.Error("the store changed after the request had completed")
		}
		if c := r.Port.Units()[0].Counters(); c.Aborts != 1 || c.Resets != 0 {
			t.Errorf("%+v: want one abort and no reset", c)
		}
	})
}

// The store never ends its write: every step of the ladder has its deadline, and the
// request completes when its channel has been flushed; after that nothing of its memory
// is read, so that the late write cannot see what the submitter puts there next.
func TestStoreThatHangsClimbsTheLadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ram, err := lun.NewRAM(1<<20, 512)
		if err != nil {
			t.Fatal(err)
		}
		gate := luntest.Pause(ram)
		r, err := rig.New(t.Context(), rig.Config{Stores: []lun.Store{gate}})
		if err != nil {
			t.Fatal(err)
		}
		defer closeRig(t, r)
		region, free, err := r.Memory(t.Context(), 64<<10)
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		fill(region.Bytes(), 0xaa)
		gate.Shut()
		begun := time.Now()
		p := submit(r, region, true, 2*time.Second)
		<-gate.Arrived()
		<-p.done
		took := time.Since(begun)
		if p.s.Status != miniport.StatusTimeout {
			t.Errorf("%s", p.s.Status)
		}
		if took < 17*time.Second || took > 40*time.Second {
			t.Errorf("completed after %v: want past the abort's 5 s and the unit reset's 10 s, within the target reset's 15 s", took)
		}
		fill(region.Bytes(), 0xbb)
		gate.Open()
		after(time.Minute)
		b := contents(t, ram)
		if bytes.IndexByte(b, 0xbb) >= 0 {
			t.Error("the late write has read memory after its request had completed")
		}
	})
}

// stall holds the target's RDMA WRITEs in mid-copy.
type stall struct{ on atomic.Bool }

func (s *stall) Step(f *dispatch.Frame, qpn uint32, op verbs.Opcode, moved uint64) bool {
	return s.on.Load() && op == verbs.Write
}

// A responder that stands still in mid-copy holds its command back, through every step
// of recovery, until access to the memory has become impossible; nothing is written
// afterwards.
func TestStalledCopyHoldsItsCommandBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stall{}
		r, err := rig.New(t.Context(), rig.Config{Fabric: soft.Config{Fault: s}})
		if err != nil {
			t.Fatal(err)
		}
		defer closeRig(t, r)
		region, free, err := r.Memory(t.Context(), 64<<10)
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		fill(region.Bytes(), 0xcc)
		s.on.Store(true)
		p := submit(r, region, false, 2*time.Second)
		after(4 * time.Second)
		if p.completed() {
			t.Fatal("completed while its copy stands still")
		}
		<-p.done
		if p.s.Status != miniport.StatusTimeout {
			t.Errorf("%s", p.s.Status)
		}
		fill(region.Bytes(), 0xdd)
		s.on.Store(false)
		r.Fabric.Resume()
		after(time.Minute)
		for i, v := range region.Bytes() {
			if v != 0xdd {
				t.Fatalf("byte %d was written after the request had completed", i)
			}
		}
		// The session was made anew, and the unit works.
		var last miniport.Status
		for range 3 { // the unit reports the reset first
			again := submit(r, region, false, 2*time.Second)
			<-again.done
			if last = again.s.Status; last == miniport.StatusSuccess {
				break
			}
		}
		if last != miniport.StatusSuccess {
			t.Errorf("after recovery: %s", last)
		}
	})
}

// contents reads a whole store.
func contents(t *testing.T, s lun.Store) []byte {
	t.Helper()
	b := make([]byte, s.Info().Size)
	if err := s.Read(t.Context(), [][]byte{b}, 0); err != nil {
		t.Fatal(err)
	}
	return b
}
