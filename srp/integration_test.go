package srp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp"
	srptarget "minisrp/srp/target"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
	"minisrp/verbs/soft"
)

// TestAgainstTheTarget moves data to a disk of this module's target port and back, by every way of protecting memory
// and of describing it, over channels on two processors.
func TestAgainstTheTarget(t *testing.T) {
	for _, protect := range []srp.Protect{srp.ProtectIO, srp.ProtectBounce, srp.ProtectRegion} {
		t.Run(fmt.Sprint(uint8(protect)), func(t *testing.T) { againstTheTarget(t, protect) })
	}
}

const diskBlock = 512

func againstTheTarget(t *testing.T, protect srp.Protect) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ps := []*dispatch.Processor{dispatch.New("a"), dispatch.New("b")}
	defer ps[0].Close()
	defer ps[1].Close()
	w := &world{t: t, p: ps[0], fabric: soft.New(soft.Config{})}
	ours := w.newHost("192.0.2.1", false)
	defer ours.close()
	hca, err := w.fabric.Plug(soft.HCAConfig{Name: "target", Addr: netip.MustParseAddr("192.0.2.2")})
	check(err)
	theirs := verbs.Open(hca, ps[1], nil)
	defer func() { check(theirs.Close(ctx)) }()
	port, err := srptarget.New(ctx, srptarget.Config{Device: theirs, Processor: ps[1], ID: targetID})
	check(err)
	store, err := lun.NewRAM(4<<20, diskBlock)
	check(err)
	unit, err := lun.NewUnit(ps[1], lun.Config{Store: store, Serial: "integration"})
	check(err)
	defer func() { check(unit.Close(ctx)) }()
	defer func() { check(port.Close(ctx)) }()
	check(port.Attach(ctx, 0, unit))
	check(port.Listen(ctx, verbs.Address{Dst: targetAddr}))

	s, err := srp.Login(ctx, &srp.SessionConfig{
		Device: ours.dev, PD: ours.pd, Address: verbs.Address{Dst: targetAddr}, Initiator: initiator, Target: targetID,
		Channels: 2, Processors: ps, QueueSize: 16, DescriptorsInIU: 4, MaxSegments: 40, AllowExternalTable: true,
		ImmediateData: srp.DefaultImmediateData, Protect: protect,
	})
	check(err)
	defer func() { check(s.Logout(ctx)) }()
	if i := s.Info(); i.Channels != 2 || i.ImmediateData != 8192 || i.MaxSegments != 40 || i.Protect != protect {
		t.Fatalf("%+v", i)
	}

	for i, c := range s.Channels() {
		d := &driver{t: t, c: c}
		d.dpc.Init(c.Processor(), d.run)
		// A unit attention for the new nexus may come first.
		d.do(newRequest().cdb(0x00))
		for k, pieces := range [][]int{
			{512}, {4096}, {8192}, {65536}, {100, 412}, {1000, 1000, 1000, 1000, 96}, nil,
		} {
			if pieces == nil { // more than there are descriptors in the IU
				for n := range 32 {
					pieces = append(pieces, 100+n*10)
				}
				pieces = append(pieces, 2, 6144-3200-4960+512*4-2)
			}
			total := 0
			var from, to []srp.Segment
			for n, size := range pieces {
				from = append(from, ours.segment(total+n*3, size))
				to = append(to, ours.segment(1<<20+total+n*7, size))
				total += size
			}
			if total%diskBlock != 0 {
				t.Fatalf("%d bytes are no blocks", total)
			}
			fill(ours.mem[:total+1000], i*31+k)
			clear(ours.mem[1<<20:][:total+1000])
			lba := i*2048 + k*256
			write, read := newRequest().with(srp.DataOut, from...).rw(0x2a, lba), newRequest().with(srp.DataIn, to...).rw(0x28, lba)
			d.good(write)
			d.good(read)
			for n := range from {
				if !bytes.Equal(from[n].Mem, to[n].Mem) {
					t.Errorf("channel %d, %d bytes in %d pieces: piece %d differs", i, total, len(pieces), n)
					break
				}
			}
		}
		// A read past the end, and one of a unit that is not there.
		over := d.do(newRequest().with(srp.DataIn, ours.segment(0, 512)).rw(0x28, 8192))
		if over.Status != scsi.StatusCheckCondition || len(over.Sense) < 14 || over.Sense[2]&15 != 5 || over.Sense[12] != 0x21 {
			t.Errorf("past the end: %v, sense % x", over.Status, over.Sense)
		}
		none := newRequest().with(srp.DataIn, ours.segment(0, 512)).rw(0x28, 0)
		none.LUN = scsi.PeripheralLUN(9)
		if d.do(none); none.Status != scsi.StatusCheckCondition || none.Sense[12] != 0x25 {
			t.Errorf("no such unit: %v, sense % x", none.Status, none.Sense)
		}
		// More asked for than there is: residual.
		inquiry := newRequest().with(srp.DataIn, ours.segment(0, 255)).cdb(0x12, 0, 0, 0, 255, 0)
		if d.good(inquiry); inquiry.Transferred < 36 || inquiry.Transferred == 255 || inquiry.Flags&srp.DataInUnder == 0 {
			t.Errorf("INQUIRY: %d bytes, flags %#x", inquiry.Transferred, inquiry.Flags)
		}
		reset := newTask(srp.LogicalUnitReset)
		if d.manage(reset); reset.Outcome != srp.Completed || reset.Code != srp.ResponseComplete {
			t.Errorf("LUN reset: %v, %v", reset.Outcome, reset.Code)
		}
	}
}

func (r *request) cdb(b ...byte) *request {
	r.CDB = append(b, make([]byte, 16)...)[:max(6, len(b))]
	return r
}

// rw makes r a READ(10) or WRITE(10).
func (r *request) rw(op byte, lba int) *request {
	r.CDB = make([]byte, 10)
	r.CDB[0] = op
	binary.BigEndian.PutUint32(r.CDB[2:], uint32(lba))
	binary.BigEndian.PutUint16(r.CDB[7:], uint16((r.Length+diskBlock-1)/diskBlock))
	return r
}

// driver does one thing at a time on a channel, and waits for it.
type driver struct {
	t    *testing.T
	c    *srp.Channel
	dpc  dispatch.DPC
	r    *request
	task *task
	done chan error
}

func (d *driver) run(f *dispatch.Frame) {
	var err error
	if d.r != nil {
		err = d.c.Start(f, &d.r.Request)
	} else {
		err = d.c.Manage(f, &d.task.TaskRequest)
	}
	if err != nil {
		d.done <- err
	}
}

func (d *driver) wait() {
	d.t.Helper()
	d.dpc.Post()
	select {
	case err := <-d.done:
		if err != nil {
			d.t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		d.t.Fatal("nothing came of it")
	}
}

func (d *driver) do(r *request) *request {
	d.t.Helper()
	d.r, d.done = r, make(chan error, 1)
	r.Done = func(f *dispatch.Frame, _ *srp.Request) { d.done <- nil }
	d.wait()
	return r
}

func (d *driver) good(r *request) {
	d.t.Helper()
	if d.do(r); r.Outcome != srp.Completed || r.Status != scsi.StatusGood {
		d.t.Errorf("%v, %v, sense % x", r.Outcome, r.Status, r.Sense)
	}
}

func (d *driver) manage(t *task) {
	d.t.Helper()
	d.r, d.task, d.done = nil, t, make(chan error, 1)
	t.Done = func(f *dispatch.Frame, _ *srp.TaskRequest) { d.done <- nil }
	d.wait()
}
