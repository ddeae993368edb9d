package srp_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

func fill(b []byte, seed int) {
	for i := range b {
		b[i] = byte(i*7 + seed)
	}
}

func TestReadUnderAWindow(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	r := newRequest().with(srp.DataIn, w.init.segment(4096, 64<<10))
	w.start(c, r)
	cmd := e.command()
	if cmd.DataIn.Format != srp.DataDirect || cmd.DataOut.Format != srp.DataNone {
		t.Fatalf("buffers %+v, %+v", cmd.DataIn, cmd.DataOut)
	}
	fill(w.target.mem[dataOff:][:64<<10], 1)
	if s := e.rdma(verbs.Write, cmd.DataIn.Desc); s != verbs.Success {
		t.Fatal(s)
	}
	r.ended(t, 0, 0)
	e.send(good(cmd.Tag))
	r.ended(t, 1, srp.Completed)
	if r.Status != 0 || r.Transferred != 64<<10 || !bytes.Equal(w.target.mem[dataOff:][:64<<10], w.init.mem[4096:][:64<<10]) {
		t.Errorf("status %v, %d bytes", r.Status, r.Transferred)
	}
	// The key is of no use any more: the target's access ends its channel.
	if s := e.rdma(verbs.Write, cmd.DataIn.Desc); s != verbs.RemAccessErr {
		t.Errorf("late write: %v", s)
	}
}

// A window gives the right of its direction only, and only to its own length.
func TestWindowsGiveNoMoreThanNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		d    srp.Direction
		op   verbs.Opcode
		grow uint32
	}{
		"read of a data-in buffer":   {srp.DataIn, verbs.Read, 0},
		"write of a data-out buffer": {srp.DataOut, verbs.Write, 0},
		"write past the end":         {srp.DataIn, verbs.Write, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldConfig{})
			ch, e := w.login(w.config())
			r := newRequest().with(c.d, w.init.segment(0, 20000))
			w.start(ch, r)
			cmd := e.command()
			d := cmd.DataIn.Desc
			if c.d == srp.DataOut {
				d = cmd.DataOut.Desc
			}
			d.Len += c.grow
			if s := e.rdma(c.op, d); s != verbs.RemAccessErr {
				t.Errorf("%v", s)
			}
			w.until("the channel is down", func() bool { return len(w.events) > 0 })
			r.ended(t, 1, srp.ChannelDown)
		})
	}
}

func TestWriteUnderWindows(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	fill(w.init.mem, 3)
	r := newRequest().with(srp.DataOut,
		w.init.segment(100, 5000), w.init.segment(9000, 1), w.init.segment(20000, 3000), w.init.segment(23000, 8))
	w.start(c, r)
	cmd := e.command()
	out := &cmd.DataOut
	if out.Format != srp.DataIndirect || !out.Complete() || out.List.Len() != 3 || out.Length != 8009 {
		t.Fatalf("%+v", out)
	}
	want := bytes.Join([][]byte{w.init.mem[100:5100], w.init.mem[9000:9001], w.init.mem[20000:23008]}, nil)
	if got := e.fetch(t, out.List); !bytes.Equal(got, want) {
		t.Error("bytes differ")
	}
	e.send(good(cmd.Tag))
	r.ended(t, 1, srp.Completed)
	if s := statsOf(w, c); s.BytesOut != 8009 || s.ImmediateOut != 0 || s.Copied != 0 {
		t.Errorf("%+v", s)
	}
}

// fetch reads what a list of descriptors names.
func (e *end) fetch(t *testing.T, list srp.DescList) (got []byte) {
	t.Helper()
	for i := range list.Len() {
		if s := e.rdma(verbs.Read, list.At(i)); s != verbs.Success {
			t.Fatal(s)
		}
		got = append(got, e.tg.mem[dataOff:][:list.At(i).Len]...)
	}
	return got
}

func statsOf(w *world, c *srp.Channel) (s srp.ChannelStats) {
	w.at(func(f *dispatch.Frame) { s = c.Stats(f) })
	return s
}

func TestImmediateDataTravelsInTheIU(t *testing.T) {
	w := newWorld(t, worldConfig{})
	cfg := w.config()
	cfg.ImmediateData = srp.DefaultImmediateData
	c, e := w.login(cfg)
	if r := w.target.logins[0]; r.MaxITIULen != 8260 || r.ImmediateOffset != 68 || w.sess.Info().ImmediateData != 8192 {
		t.Fatalf("%+v, %+v", r, w.sess.Info())
	}
	fill(w.init.mem, 5)
	r := newRequest().with(srp.DataOut, w.init.segment(10, 4096), w.init.segment(8192, 4000), w.init.segment(70000, 96))
	w.start(c, r)
	iu := e.next()
	var cmd srp.Command
	if err := cmd.Decode(iu, 68); err != nil || cmd.DataOut.Format != srp.DataImmediate || len(iu) != 8260 {
		t.Fatalf("%v, %+v, %d bytes", err, cmd.DataOut, len(iu))
	}
	want := bytes.Join([][]byte{w.init.mem[10:4106], w.init.mem[8192:12192], w.init.mem[70000:70096]}, nil)
	if !bytes.Equal(cmd.ImmediateData, want) {
		t.Error("bytes differ")
	}
	e.send(good(cmd.Tag))
	r.ended(t, 1, srp.Completed)

	// One byte or one piece more than goes: by RDMA.
	for _, r := range []*request{
		newRequest().with(srp.DataOut, w.init.segment(0, 8193)),
		newRequest().with(srp.DataOut, w.init.segment(0, 1), w.init.segment(2, 1), w.init.segment(4, 1), w.init.segment(6, 1)),
	} {
		w.start(c, r)
		cmd := e.command()
		if cmd.DataOut.Format == srp.DataImmediate {
			t.Errorf("%d bytes in %d pieces went in the IU", r.Length, len(r.Segments))
		}
		e.send(good(cmd.Tag))
		r.ended(t, 1, srp.Completed)
	}
}

// Without a response to the login's flag there is no immediate data.
func TestImmediateDataNeedsTheTargetsConsent(t *testing.T) {
	w := newWorld(t, worldConfig{})
	cfg := w.config()
	cfg.ImmediateData = 4096
	w.target.answer = func(n int, req *srp.LoginReq) loginAnswer {
		a := granted(req, 8)
		a.rsp.Flags = 0
		return a
	}
	c, e := w.login(cfg)
	w.start(c, newRequest().with(srp.DataOut, w.init.segment(0, 512)))
	if cmd := e.command(); cmd.DataOut.Format != srp.DataDirect || w.sess.Info().ImmediateData != 0 {
		t.Errorf("%+v", cmd.DataOut)
	}
}

func TestCommandFields(t *testing.T) {
	w := newWorld(t, worldConfig{})
	cfg := w.config()
	cfg.MaxCDB = 32
	c, e := w.login(cfg)
	r := newRequest()
	r.LUN = scsi.FlatLUN(300)
	r.Attribute = srp.Ordered
	r.CDB = make([]byte, 32)
	fill(r.CDB, 1)
	w.start(c, r)
	cmd := e.command()
	if cmd.LUN != r.LUN.Bytes() || cmd.Attribute != srp.Ordered || !bytes.Equal(cmd.CDB, r.CDB) || cmd.DataIn.Format != 0 || cmd.DataOut.Format != 0 {
		t.Errorf("%+v", cmd)
	}
	e.send(good(cmd.Tag))
	r.ended(t, 1, srp.Completed)
}

// TestResults: what a response says comes out of the request.
func TestResults(t *testing.T) {
	sense := bytes.Repeat([]byte{0x70, 0, 5}, 90) // more than is kept
	refused := srp.Response{}
	refused.SetResponseCode(srp.ResponseFieldsInvalid)
	fine := srp.Response{}
	fine.SetResponseCode(srp.ResponseComplete)
	const n = 1000
	for name, c := range map[string]struct {
		d    srp.Direction
		rsp  srp.Response
		want srp.Request
	}{
		"good":                    {srp.DataIn, srp.Response{}, srp.Request{Transferred: n}},
		"no data":                 {srp.NoData, srp.Response{}, srp.Request{}},
		"check condition":         {srp.DataIn, srp.Response{Status: 2, Sense: sense[:18]}, srp.Request{Status: 2, Sense: sense[:18], Transferred: n}},
		"long sense":              {srp.DataIn, srp.Response{Status: 2, Sense: sense[:260]}, srp.Request{Status: 2, Sense: sense[:252], Transferred: n}},
		"data-in under":           {srp.DataIn, srp.Response{Flags: srp.DataInUnder, DataInResidual: 300}, srp.Request{Transferred: 700}},
		"data-in over":            {srp.DataIn, srp.Response{Flags: srp.DataInOver, DataInResidual: 300}, srp.Request{Transferred: n}},
		"data-out under":          {srp.DataOut, srp.Response{Flags: srp.DataOutUnder, DataOutResidual: 1}, srp.Request{Transferred: 999}},
		"residual above the data": {srp.DataIn, srp.Response{Flags: srp.DataInUnder, DataInResidual: n + 1}, srp.Request{}},
		"under-run with sense": {srp.DataIn, srp.Response{Status: 2, Sense: sense[:18], Flags: srp.DataInUnder, DataInResidual: n},
			srp.Request{Status: 2, Sense: sense[:18]}},
		"response code":    {srp.DataIn, refused, srp.Request{Outcome: srp.Refused, Code: srp.ResponseFieldsInvalid}},
		"response code 0":  {srp.DataIn, fine, srp.Request{Transferred: n}},
		"busy":             {srp.NoData, srp.Response{Status: 8}, srp.Request{Status: scsi.StatusBusy}},
		"residual unasked": {srp.DataIn, srp.Response{DataInResidual: 5}, srp.Request{Transferred: n}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldConfig{})
			ch, e := w.login(w.config())
			r := newRequest()
			if c.d != srp.NoData {
				r.with(c.d, w.init.segment(0, n))
			}
			w.start(ch, r)
			c.rsp.Tag, c.rsp.RequestLimitDelta = e.command().Tag, 1
			e.send(&c.rsp)
			r.ended(t, 1, c.want.Outcome)
			if r.Status != c.want.Status || r.Code != c.want.Code || r.Transferred != c.want.Transferred || !bytes.Equal(r.Sense, c.want.Sense) {
				t.Errorf("status %v, code %v, %d bytes, sense %x", r.Status, r.Code, r.Transferred, r.Sense)
			}
			if r.DataInResidual != c.rsp.DataInResidual || r.DataOutResidual != c.rsp.DataOutResidual {
				t.Errorf("residuals %d, %d", r.DataInResidual, r.DataOutResidual)
			}
		})
	}
}

func TestInvalidRequests(t *testing.T) {
	w := newWorld(t, worldConfig{})
	cfg := w.config()
	cfg.DescriptorsInIU, cfg.MaxSegments = 2, 2
	c, e := w.login(cfg)
	seg := w.init.segment
	for name, x := range map[string]struct {
		change func(r *request)
		want   error
	}{
		"no CDB":             {func(r *request) { r.CDB = nil }, srp.ErrInvalidRequest},
		"long CDB":           {func(r *request) { r.CDB = make([]byte, 20) }, srp.ErrInvalidRequest},
		"length and no data": {func(r *request) { r.Length = 1 }, srp.ErrInvalidRequest},
		"data and no length": {func(r *request) { r.with(srp.DataIn, seg(0, 8)).Length = 0 }, srp.ErrInvalidRequest},
		"data both ways":     {func(r *request) { r.with(3, seg(0, 8)) }, srp.ErrInvalidRequest},
		"wrong sum":          {func(r *request) { r.with(srp.DataIn, seg(0, 8)).Length = 9 }, srp.ErrInvalidRequest},
		"empty segment":      {func(r *request) { r.with(srp.DataIn, seg(0, 8), seg(8, 0)) }, srp.ErrInvalidRequest},
		"wrapping segment":   {func(r *request) { r.with(srp.DataIn, srp.Segment{Addr: 1<<64 - 4, Length: 8}) }, srp.ErrInvalidRequest},
		"three pieces":       {func(r *request) { r.with(srp.DataIn, seg(0, 8), seg(16, 8), seg(32, 8)) }, srp.ErrTooManySegments},
	} {
		r := newRequest()
		x.change(r)
		if err := w.tryStart(c, r); err != x.want {
			t.Errorf("%s: %v", name, err)
		}
		r.ended(t, 0, 0)
	}
	r := newRequest()
	w.start(c, r)
	if err := w.tryStart(c, r); err != srp.ErrInvalidRequest {
		t.Errorf("started twice: %v", err)
	}
	e.send(good(e.command().Tag))
	r.ended(t, 1, srp.Completed)
	if len(e.got) != 0 {
		t.Error("an invalid request was sent")
	}
}

// Under a full queue of the most segments no queue overflows, round after round.
func TestQueuesHoldTheMost(t *testing.T) {
	w := newWorld(t, worldConfig{})
	cfg := w.config()
	cfg.QueueSize, cfg.DescriptorsInIU = 7, 5
	c, e := w.login(cfg)
	var segs []srp.Segment
	for i := range 5 {
		segs = append(segs, w.init.segment(i*8192, 4096))
	}
	rs := make([]*request, 7)
	for i := range rs {
		rs[i] = newRequest().with(srp.DataOut, segs...)
	}
	for round := range 300 {
		for i, r := range rs {
			if i%3 == 2 {
				r.with(srp.NoData)
				r.Segments = nil
			}
			w.start(c, r)
		}
		for range rs {
			e.send(good(e.command().Tag))
		}
		for _, r := range rs {
			r.ended(t, round+1, srp.Completed)
		}
	}
	if len(w.events) != 0 {
		t.Error(w.events)
	}
}

// TestProtocolViolations: what a target must not send ends the channel with a reason, without reading past what came.
func TestProtocolViolations(t *testing.T) {
	rsp := func(change func(b []byte)) func(tag uint64) []byte {
		return func(tag uint64) []byte {
			b := make([]byte, 64)
			n, _ := good(tag).Encode(b)
			change(b)
			return b[:n]
		}
	}
	for name, c := range map[string]struct {
		iu   func(tag uint64) []byte
		want string
	}{
		"sense longer than the IU": {rsp(func(b []byte) { b[18], b[31] = 2, 1 }), "sense data list length"},
		"sense of 4 GiB":           {rsp(func(b []byte) { b[18], b[28], b[29], b[30], b[31] = 2, 255, 255, 255, 255 }), "sense data list length"},
		"response data too long":   {rsp(func(b []byte) { b[18], b[35] = 1, 4 }), "response data list length"},
		"short response":           {func(uint64) []byte { return append([]byte{0xc1}, make([]byte, 34)...) }, "length received"},
		"short credit request":     {func(uint64) []byte { return append([]byte{0x81}, make([]byte, 14)...) }, "length received"},
		"short event":              {func(uint64) []byte { return append([]byte{0x82}, make([]byte, 34)...) }, "length received"},
		"event's sense":            {func(uint64) []byte { b := append([]byte{0x82}, make([]byte, 35)...); b[31] = 1; return b }, "sense data list length"},
		"one byte":                 {func(uint64) []byte { return []byte{0xc1} }, "length received"},
		"nothing":                  {func(uint64) []byte { return nil }, "length received"},
		"too long":                 {func(uint64) []byte { return make([]byte, 4000) }, "RECV failed: local length"},
		"request limit": {func(uint64) []byte {
			return []byte{0x81, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0}
		}, "request limit"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldConfig{})
			ch, e := w.login(w.config())
			r := newRequest().with(srp.DataIn, w.init.segment(0, 512))
			w.start(ch, r)
			e.sendRaw(c.iu(e.command().Tag))
			w.until("the channel is down", func() bool { return len(w.events) > 0 })
			if len(w.events) != 1 || !strings.Contains(w.events[0], c.want) {
				t.Errorf("events %q, want %q", w.events, c.want)
			}
			r.ended(t, 1, srp.ChannelDown)
			if err := w.tryStart(ch, newRequest()); err != srp.ErrDown {
				t.Errorf("start on a dead channel: %v", err)
			}
			w.at(func(f *dispatch.Frame) {
				if err := ch.Err(f); err == nil || !errors.Is(err, srp.ErrDown) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// An information unit that no target sends on a channel is counted, and its receive used again.
func TestUnknownIUsAreCounted(t *testing.T) {
	w := newWorld(t, worldConfig{})
	c, e := w.login(w.config())
	for range 100 {
		e.sendRaw(append([]byte{0x77}, make([]byte, 15)...))
	}
	r := newRequest()
	w.start(c, r)
	e.send(good(e.command().Tag))
	r.ended(t, 1, srp.Completed)
	if s := statsOf(w, c); s.UnknownIUs != 100 {
		t.Errorf("%+v", s)
	}
}
