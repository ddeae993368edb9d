package target_test

import (
	"bytes"
	"context"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs/dispatch"
)

// channelInfo returns what the only channel has done.
func (w *world) channelInfo() (i target.ChannelInfo) {
	w.drive(func() {
		who, err := w.port.Sessions(context.Background())
		if err != nil || len(who) != 1 || len(who[0].Channels) != 1 {
			w.t.Fatalf("%+v, %v", who, err)
		}
		i = who[0].Channels[0]
	})
	return i
}

// With memory for hardly more than one transfer of the largest size, all of many get through.
func TestTransfersWaitForMemory(t *testing.T) {
	w := newWorld(t, target.Config{Buffers: 8<<20 + 128<<10}, nil)
	w.attach(0, luntest.Count(ram()))
	cfg := w.config()
	cfg.AllowExternalTable, cfg.MaxSegments, cfg.DescriptorsInIU = true, 64, 1
	c := w.login(cfg).Channels()[0]
	w.attentions(c, 0)
	pattern(1, w.init.mem[:16<<20])
	want := bytes.Clone(w.init.mem[:16<<20])
	for _, write := range []bool{true, false} {
		if !write {
			clear(w.init.mem[:16<<20])
		}
		d := srp.DataIn
		if write {
			d = srp.DataOut
		}
		var rs []*request
		for at := 0; at < 16<<20; {
			n := []int{lun.MaxTransfer, 1 << 20, 256 << 10}[len(rs)%3]
			n = min(n, 16<<20-at)
			segs := w.init.cut(0, 0, 1)[:0]
			for off := at; off < at+n; off += n / 4 {
				segs = append(segs, w.init.segment(off, n/4))
			}
			rs = append(rs, w.newRequest(0, rw(write, uint64(at/testBlock), n), d, segs...).start(c))
			at += n
		}
		for _, r := range rs {
			r.good()
		}
	}
	if !bytes.Equal(want, w.init.mem[:16<<20]) {
		t.Error("what was read differs from what was written")
	}
	if i := w.channelInfo(); i.WaitedForMemory == 0 {
		t.Errorf("no transfer had to wait: %+v", i)
	}
}

// A transfer aborted while it waits for memory is let go at once.
func TestAbortWhileWaitingForMemory(t *testing.T) {
	w := newWorld(t, target.Config{Buffers: 8<<20 + 128<<10}, nil)
	gate := luntest.Pause(ram())
	w.attach(0, gate)
	c := w.login(w.config()).Channels()[0]
	w.attentions(c, 0)
	gate.Shut()
	first := w.newRequest(0, rw(true, 0, lun.MaxTransfer), srp.DataOut, w.init.segment(0, lun.MaxTransfer)).start(c)
	<-gate.Arrived()
	second := w.newRequest(0, rw(true, 0, 1<<20), srp.DataOut, w.init.segment(0, 1<<20)).start(c)
	third := w.newRequest(0, rw(true, 1<<14, 64<<10), srp.DataOut, w.init.segment(0, 64<<10)).start(c)
	w.manage(c, srp.AbortTask, 0, second).complete()
	w.abandon(c, second)
	gate.Open()
	first.good()
	third.good()
}

// A transfer in more pieces than the send queue has places gets through, beside others.
func TestTransfersWaitForQueue(t *testing.T) {
	for name, store := range map[string]func() lun.Store{"ram": ram, "by worker": func() lun.Store { return luntest.Count(ram()) }} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, target.Config{Credits: 4}, nil)
			w.attach(0, store())
			cfg := w.config()
			cfg.AllowExternalTable, cfg.MaxSegments, cfg.DescriptorsInIU = true, 512, 8
			c := w.login(cfg).Channels()[0]
			w.attentions(c, 0)
			const n, size = 512, 512 * 512
			for _, write := range []bool{true, false} {
				d, at := srp.DataIn, 16<<20
				if write {
					d, at = srp.DataOut, 0
				}
				var rs []*request
				for i := range 3 {
					segs := w.init.cut(at+i<<20, size, n)
					if write {
						for j, s := range segs {
							pattern(1000*i+j, s.Mem)
						}
					}
					rs = append(rs, w.newRequest(0, rw(write, uint64(1024*i), size), d, segs...).start(c))
				}
				for _, r := range rs {
					r.good()
				}
			}
			for i := range 3 {
				if !bytes.Equal(flat(w.init.cut(i<<20, size, n)), flat(w.init.cut(16<<20+i<<20, size, n))) {
					t.Errorf("transfer %d differs", i)
				}
			}
			if i := w.channelInfo(); i.WaitedForQueue == 0 {
				t.Errorf("no transfer had to wait: %+v", i)
			}
		})
	}
}

// A channel that ends while its commands are everywhere leaves nothing.
func TestChannelEndsUnderLoad(t *testing.T) {
	for round := range 8 {
		w := newWorld(t, target.Config{Credits: 32, Buffers: 9 << 20}, nil)
		w.attach(0, ram())
		gate := luntest.Pause(ram())
		w.attach(1, gate)
		cfg := w.config()
		cfg.AllowExternalTable, cfg.MaxSegments, cfg.DescriptorsInIU = true, 200, 2
		c := w.login(cfg).Channels()[0]
		w.attentions(c, 0)
		w.attentions(c, 1)
		gate.Shut()
		var rs []*request
		w.at(func(f *dispatch.Frame) {
			lba := uint64(0) // each command has blocks of its own
			for i := range 24 {
				size := []int{4096, 512 << 10, 512 * 200, 1 << 20}[(i+round)%4]
				d, segs := srp.DataOut, w.init.cut(0, size, []int{1, 1, 200, 3}[(i+round)%4])
				if i%3 == 0 {
					d = srp.DataIn
				}
				r := w.newRequest(uint8(i+round)%2, rw(d == srp.DataOut, lba, size), d, segs...)
				lba += uint64(size / testBlock)
				if i%7 == 6 {
					r.Attribute = srp.Ordered
				}
				if err := c.Start(f, &r.Request); err != nil {
					t.Fatal(err)
				}
				rs = append(rs, r)
			}
			if round%2 == 0 {
				c.Fail(f)
			}
		})
		if round%2 == 1 {
			w.at(c.Fail)
		}
		gate.Open()
		for _, r := range rs {
			r.end()
		}
	}
}

// Nothing is allocated for a command from the initiator's Start to its Done, through the target and its RDMA.
func TestNoAllocation(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	w.attach(0, ram())
	w.attach(1, must(lun.NewNull(testSize, testBlock)))
	cfg := w.config()
	cfg.ImmediateData = srp.DefaultImmediateData
	c := w.login(cfg).Channels()[0]
	w.attentions(c, 0)
	w.attentions(c, 1)
	for name, r := range map[string]*request{
		"read":            w.newRequest(0, rw(false, 0, 4096), srp.DataIn, w.init.segment(0, 4096)),
		"read null":       w.newRequest(1, rw(false, 0, 65536), srp.DataIn, w.init.segment(0, 65536)),
		"write":           w.newRequest(0, rw(true, 0, 65536), srp.DataOut, w.init.cut(0, 65536, 3)...),
		"write immediate": w.newRequest(0, rw(true, 0, 4096), srp.DataOut, w.init.segment(0, 4096)),
		"inquiry":         w.newRequest(0, []byte{byte(scsi.OpInquiry), 0, 0, 0, 96}, srp.DataIn, w.init.segment(0, 96)),
	} {
		f := new(dispatch.Frame)
		step := func() {
			r.done = 0
			w.p.Raise(f)
			if err := c.Start(f, &r.Request); err != nil {
				t.Fatal(err)
			}
			f.Lower()
			if r.done != 1 {
				t.Fatalf("%s: ended %d times", name, r.done)
			}
		}
		step()
		r.good()
		if n := testing.AllocsPerRun(300, step); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkRead4K(b *testing.B) {
	w := newWorld(b, target.Config{}, nil)
	w.attach(0, ram())
	c := w.login(w.config()).Channels()[0]
	w.attentions(c, 0)
	r := w.newRequest(0, rw(false, 0, 4096), srp.DataIn, w.init.segment(0, 4096))
	f := new(dispatch.Frame)
	b.ReportAllocs()
	for b.Loop() {
		r.done = 0
		w.p.Raise(f)
		if err := c.Start(f, &r.Request); err != nil {
			b.Fatal(err)
		}
		f.Lower()
		if r.done != 1 {
			b.Fatal("not done")
		}
	}
}
