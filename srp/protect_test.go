package srp_test

import (
	"bytes"
	"testing"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/verbs"
)

// Without memory windows data goes through memory of the channel's own: the target sees none of the caller's.
func TestBounce(t *testing.T) {
	w := newWorld(t, worldConfig{noWindows: true})
	cfg := w.config()
	cfg.ImmediateData, cfg.BounceSize = 512, 8192
	c, e := w.login(cfg)
	if i := w.sess.Info(); i.Protect != srp.ProtectBounce || i.MaxTransfer != 8192 {
		t.Fatalf("%+v", i)
	}
	within := func(d srp.Desc) bool { return d.Addr >= w.init.base && d.Addr < w.init.base+hostMem }

	fill(w.init.mem, 1)
	out := newRequest().with(srp.DataOut, w.init.segment(0, 3000), w.init.segment(5000, 1000))
	w.start(c, out)
	cmd := e.command()
	if cmd.DataOut.Format != srp.DataDirect || cmd.DataOut.Length != 4000 || within(cmd.DataOut.Desc) {
		t.Fatalf("%+v", cmd.DataOut)
	}
	if s := e.rdma(verbs.Read, cmd.DataOut.Desc); s != verbs.Success {
		t.Fatal(s)
	}
	if !bytes.Equal(w.target.mem[dataOff:][:4000], append(bytes.Clone(w.init.mem[:3000]), w.init.mem[5000:6000]...)) {
		t.Error("data-out differs")
	}
	e.send(good(cmd.Tag))
	out.ended(t, 1, srp.Completed)

	// A short read leaves what the target did not send as it was.
	before := bytes.Clone(w.init.mem[:8192])
	in := newRequest().with(srp.DataIn, w.init.segment(100, 1000), w.init.segment(4000, 3000))
	w.start(c, in)
	cmd = e.command()
	fill(w.target.mem[dataOff:][:4000], 77)
	if s := e.rdma(verbs.Write, cmd.DataIn.Desc); s != verbs.Success {
		t.Fatal(s)
	}
	rsp := good(cmd.Tag)
	rsp.Flags, rsp.DataInResidual = srp.DataInUnder, 1500
	e.send(rsp)
	in.ended(t, 1, srp.Completed)
	copy(before[100:], w.target.mem[dataOff:][:1000])
	copy(before[4000:], w.target.mem[dataOff+1000:][:1500])
	if in.Transferred != 2500 || !bytes.Equal(w.init.mem[:8192], before) {
		t.Errorf("%d bytes transferred, or the wrong ones", in.Transferred)
	}
	if s := statsOf(w, c); s.Copied != 4000+2500 {
		t.Errorf("%+v", s)
	}

	// Immediate data needs no copy.
	imm := newRequest().with(srp.DataOut, w.init.segment(10, 200), w.init.segment(400, 300))
	w.start(c, imm)
	if cmd := e.command(); cmd.DataOut.Format != srp.DataImmediate || !bytes.Equal(cmd.ImmediateData[200:], w.init.mem[400:700]) {
		t.Errorf("%+v", cmd.DataOut)
	}
	if err := w.tryStart(c, newRequest().with(srp.DataIn, w.init.segment(0, 8193))); err != srp.ErrTooLong {
		t.Errorf("too long: %v", err)
	}
	bad := newRequest().with(srp.DataIn, w.init.segment(0, 100))
	bad.Segments[0].Mem = nil
	if err := w.tryStart(c, bad); err != srp.ErrInvalidRequest {
		t.Errorf("no memory to copy to: %v", err)
	}
}

// A bounce region has the right of its direction only.
func TestBounceRegionsAreOneWay(t *testing.T) {
	for name, x := range map[string]struct {
		d  srp.Direction
		op verbs.Opcode
	}{"read": {srp.DataIn, verbs.Read}, "write": {srp.DataOut, verbs.Write}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldConfig{})
			cfg := w.config()
			cfg.Protect = srp.ProtectBounce
			c, e := w.login(cfg)
			w.start(c, newRequest().with(x.d, w.init.segment(0, 512)))
			cmd := e.command()
			d := cmd.DataIn.Desc
			if x.d == srp.DataOut {
				d = cmd.DataOut.Desc
			}
			if s := e.rdma(x.op, d); s != verbs.RemAccessErr {
				t.Errorf("%v", s)
			}
			w.until("the channel is down", func() bool { return len(w.events) > 0 })
		})
	}
}

// Under ProtectRegion the target has the region's key.
func TestRegion(t *testing.T) {
	w := newWorld(t, worldConfig{})
	cfg := w.config()
	cfg.Protect = srp.ProtectRegion
	c, e := w.login(cfg)
	fill(w.init.mem, 9)
	r := newRequest().with(srp.DataOut, w.init.segment(0, 100), w.init.segment(200, 100))
	w.start(c, r)
	cmd := e.command()
	if d := cmd.DataOut.List.At(1); d.RKey != w.init.mr.RKey() || d.Addr != w.init.base+200 {
		t.Errorf("%+v", d)
	}
	if got := e.fetch(t, cmd.DataOut.List); !bytes.Equal(got[100:], w.init.mem[200:300]) {
		t.Error("bytes differ")
	}
	e.send(good(cmd.Tag))
	r.ended(t, 1, srp.Completed)
}

// The target reads by RDMA what of a table is not in the IU.
func TestExternalTable(t *testing.T) {
	w := newWorld(t, worldConfig{})
	cfg := w.config()
	cfg.DescriptorsInIU, cfg.MaxSegments, cfg.AllowExternalTable = 3, 300, true
	c, e := w.login(cfg)
	var segs []srp.Segment
	var want []byte
	fill(w.init.mem, 4)
	for i := range 300 {
		segs = append(segs, w.init.segment(i*1000, 10+i))
		want = append(want, w.init.mem[i*1000:][:10+i]...)
	}
	r := newRequest().with(srp.DataOut, segs...)
	for range 3 { // keys differ from round to round
		w.start(c, r)
		cmd := e.command()
		out := &cmd.DataOut
		if out.Format != srp.DataIndirect || out.Complete() || out.List.Len() != 3 || out.TableLen() != 300 || int(out.Length) != len(want) {
			t.Fatalf("%+v", out)
		}
		if s := e.rdma(verbs.Read, out.Desc); s != verbs.Success {
			t.Fatal(s)
		}
		table := srp.DescList(bytes.Clone(w.target.mem[dataOff:][:300*srp.DescLen]))
		if !bytes.Equal(table[:3*srp.DescLen], out.List) {
			t.Error("table and list differ")
		}
		if got := e.fetch(t, table); !bytes.Equal(got, want) {
			t.Error("bytes differ")
		}
		e.send(good(cmd.Tag))
	}
	r.ended(t, 3, srp.Completed)
}

// TestCommandsAreIbSrps: in a session that was agreed on as in a capture, the same commands make the same information
// units as ib_srp, but for tags, addresses and keys; and the captured responses end them.
func TestCommandsAreIbSrps(t *testing.T) {
	for number, cfgs := range map[string]func(c *srp.SessionConfig){
		"04": func(c *srp.SessionConfig) {}, // a write of 4 KiB in the IU
		"06": func(c *srp.SessionConfig) {}, // a write of 64 KiB
		"07": func(c *srp.SessionConfig) {}, // a read of 64 KiB
		"08": func(c *srp.SessionConfig) {}, // check condition
		"25": func(c *srp.SessionConfig) { c.ImmediateData = 0 },
	} {
		t.Run(number, func(t *testing.T) {
			w := newWorld(t, worldConfig{})
			w.grant(128)
			cfg := w.config()
			cfg.ImmediateData = srp.DefaultImmediateData
			cfgs(cfg)
			c, e := w.login(cfg)
			answers := map[uint64]srp.Response{}
			for _, r := range responses(t, number) {
				answers[r.Tag] = r
			}
			seen := 0
			for _, want := range commands(t, number) {
				if want.DataIn.Format == srp.DataIndirect || want.DataOut.Format == srp.DataIndirect {
					continue // ib_srp's own division of memory
				}
				rsp, ok := answers[want.Tag]
				if !ok {
					continue
				}
				seen++
				r := newRequest()
				r.CDB, r.Attribute = bytes.Clone(want.CDB), want.Attribute
				r.LUN = scsi.LUNFromBytes(want.LUN)
				switch {
				case want.DataIn.Length > 0:
					r.with(srp.DataIn, w.init.segment(0, int(want.DataIn.Length)))
				case want.DataOut.Length > 0:
					copy(w.init.mem, want.ImmediateData)
					r.with(srp.DataOut, w.init.segment(0, int(want.DataOut.Length)))
				}
				w.start(c, r)
				got := e.command()
				if plain(got) != plain(&want.Command) || !bytes.Equal(got.CDB, want.CDB) || !bytes.Equal(got.ImmediateData, want.ImmediateData) {
					t.Errorf("got  %+v\nwant %+v", got, want.Command)
				}
				rsp.Tag = got.Tag
				e.send(&rsp)
				r.ended(t, 1, srp.Completed)
				if uint8(r.Status) != rsp.Status || !bytes.Equal(r.Sense, rsp.Sense) {
					t.Errorf("status %v, sense %x", r.Status, r.Sense)
				}
			}
			if seen == 0 {
				t.Error("no commands")
			}
		})
	}
}

// shape is what of a command does not depend on tags, addresses and keys.
type shape struct {
	notification srp.SolicitedNotification
	lun          [8]byte
	attribute    srp.TaskAttribute
	out, in      srp.DataFormat
	outLen       uint32
	inLen        uint32
}

func plain(c *srp.Command) shape {
	return shape{c.Notification, c.LUN, c.Attribute, c.DataOut.Format, c.DataIn.Format, c.DataOut.Length, c.DataIn.Length}
}
