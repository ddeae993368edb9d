package srp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"minisrp/srp"
	"minisrp/verbs"
)

// script answers the logins in turn; the last answer stands for all later ones.
func script(answers ...func(req *srp.LoginReq) loginAnswer) func(int, *srp.LoginReq) loginAnswer {
	return func(n int, req *srp.LoginReq) loginAnswer { return answers[min(n, len(answers)-1)](req) }
}

func accept(req *srp.LoginReq) loginAnswer { return granted(req, 8) }

func reject(r srp.RejectReason) func(*srp.LoginReq) loginAnswer {
	return func(*srp.LoginReq) loginAnswer { return loginAnswer{reject: r} }
}

func refuse(r verbs.RejectReason) func(*srp.LoginReq) loginAnswer {
	return func(*srp.LoginReq) loginAnswer { return loginAnswer{cm: r} }
}

// upTo rejects what asks for IUs of more than n bytes.
func upTo(n uint32) func(*srp.LoginReq) loginAnswer {
	return func(req *srp.LoginReq) loginAnswer {
		if req.MaxITIULen > n {
			return loginAnswer{reject: srp.RejectIUTooLarge}
		}
		return accept(req)
	}
}

// asked is what the target was asked for, login by login.
func (tg *target) asked() string {
	var s []string
	for i := range tg.logins {
		r := &tg.logins[i]
		one := fmt.Sprintf("%d %v", r.MaxITIULen, r.BufferFormats)
		if r.Flags&srp.LoginImmediateWanted != 0 {
			one += " imm"
		}
		if r.Flags&srp.LoginChannelMask == srp.LoginMultiChannel {
			one += " multi"
		}
		s = append(s, one)
	}
	return strings.Join(s, ", ")
}

// TestLoginFallsBack: what a target refuses is asked for in a smaller way.
func TestLoginFallsBack(t *testing.T) {
	for name, c := range map[string]struct {
		answer   func(int, *srp.LoginReq) loginAnswer
		asked    string
		segments int
		inIU     int
	}{
		"everything": {script(accept), "8260 direct+indirect imm", 12, 12},
		"no immediate data": {script(upTo(300)),
			"8260 direct+indirect imm, 276 direct+indirect", 12, 12},
		"IUs of 64 bytes": {script(upTo(64)), "8260 direct+indirect imm, 276 direct+indirect, 64 direct+indirect", 1, 0},
		"direct only": {script(reject(srp.RejectUnsupportedFormat), accept),
			"8260 direct+indirect imm, 8260 direct imm", 1, 0},
		"stale twice": {script(refuse(verbs.RejectStale), refuse(verbs.RejectStale), accept),
			"8260 direct+indirect imm, 8260 direct+indirect imm, 8260 direct+indirect imm", 12, 12},
		"everything wrong in turn": {script(refuse(verbs.RejectStale), upTo(300), reject(srp.RejectUnsupportedFormat), upTo(64)),
			"8260 direct+indirect imm, 8260 direct+indirect imm, 276 direct+indirect, 276 direct, 64 direct", 1, 0},
		"short limit in the response": {script(func(req *srp.LoginReq) loginAnswer {
			a := accept(req)
			a.rsp.MaxITIULen = 132
			return a
		}), "8260 direct+indirect imm", 4, 4},
		"only direct in the response": {script(func(req *srp.LoginReq) loginAnswer {
			a := accept(req)
			a.rsp.BufferFormats = srp.BufferDirect
			return a
		}), "8260 direct+indirect imm", 1, 0},
		"long IUs from the target": {script(func(req *srp.LoginReq) loginAnswer {
			a := accept(req)
			a.rsp.MaxTIIULen = 16384
			return a
		}), "8260 direct+indirect imm, 8260 direct+indirect imm", 12, 12},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldConfig{logins: 2})
			w.target.answer = c.answer
			cfg := w.config()
			cfg.ImmediateData = srp.DefaultImmediateData
			if _, err := w.tryLogin(cfg); err != nil {
				t.Fatal(err)
			}
			if got := w.target.asked(); got != c.asked {
				t.Errorf("asked for %s\nwant %s", got, c.asked)
			}
			i := w.sess.Info()
			if i.MaxSegments != c.segments || i.DescriptorsInIU != c.inIU || i.Credits != 8 {
				t.Errorf("%+v", i)
			}
			// What was agreed on works: a command with the most segments, and one more.
			ch, e := w.sess.Channels()[0], w.target.used[len(w.target.used)-1]
			r := newRequest()
			var segs []srp.Segment
			for k := range c.segments + 1 {
				segs = append(segs, w.init.segment(k*10000, 5000))
			}
			w.start(ch, r.with(srp.DataIn, segs[:c.segments]...))
			if iu := e.got[0]; len(iu) > i.MaxITIULen {
				t.Errorf("IU of %d bytes, %d allowed", len(iu), i.MaxITIULen)
			}
			e.send(good(e.command().Tag))
			r.ended(t, 1, srp.Completed)
			if err := w.tryStart(ch, r.with(srp.DataIn, segs...)); err != srp.ErrTooManySegments {
				t.Errorf("one segment more: %v", err)
			}
		})
	}
}

// TestLoginFails: every other reject, and every response that no command could keep to, is an error that says why.
func TestLoginFails(t *testing.T) {
	change := func(fn func(r *srp.LoginRsp)) func(int, *srp.LoginReq) loginAnswer {
		return script(func(req *srp.LoginReq) loginAnswer {
			a := accept(req)
			fn(&a.rsp)
			return a
		})
	}
	for name, c := range map[string]struct {
		answer func(int, *srp.LoginReq) loginAnswer
		want   string
		advice string
		is     error
	}{
		"unable":       {script(reject(srp.RejectUnableEstablish)), "0x00010000", "target's log", nil},
		"resources":    {script(reject(srp.RejectInsufficientResource)), "0x00010001", "enable the port", nil},
		"IU too large": {script(reject(srp.RejectIUTooLarge)), "0x00010002: requested maximum initiator to target IU length too large (asked for IUs of 64 bytes", "max_it_iu_size", nil},
		"nexus":        {script(reject(srp.RejectUnableAssociate)), "0x00010003", "ioc_guid", nil},
		"formats":      {script(reject(srp.RejectUnsupportedFormat)), "0x00010004", "formats", nil},
		"channels":     {script(reject(srp.RejectNoMultiChannel)), "0x00010005", "ch_count=1", nil},
		"limit":        {script(reject(srp.RejectChannelLimit)), "0x00010006", "ch_count", nil},
		"unknown":      {script(reject(0x00020000)), "0x00020000", "log", nil},
		"no resources": {script(refuse(verbs.RejectNoResources)), "CM REJ 3", "ch_count", nil},
		"stale":        {script(refuse(verbs.RejectStale)), "CM REJ 10", "old one", nil},
		"redirect":     {script(refuse(verbs.RejectPortRedirect)), "CM REJ 24", "another of its ports", nil},

		"short IUs":         {change(func(r *srp.LoginRsp) { r.MaxITIULen = 63 }), "initiator to target IU length is 63", "", srp.ErrLoginResponse},
		"short answers":     {change(func(r *srp.LoginRsp) { r.MaxTIIULen = 35 }), "target to initiator IU length is 35", "", srp.ErrLoginResponse},
		"endless answers":   {change(func(r *srp.LoginRsp) { r.MaxTIIULen = 1 << 31 }), "target to initiator IU length", "", srp.ErrLoginResponse},
		"no credit":         {change(func(r *srp.LoginRsp) { r.RequestLimitDelta = 0 }), "request limit is 0", "", srp.ErrLoginResponse},
		"negative credit":   {change(func(r *srp.LoginRsp) { r.RequestLimitDelta = -1 }), "request limit is -1", "", srp.ErrLoginResponse},
		"no direct buffers": {change(func(r *srp.LoginRsp) { r.BufferFormats = srp.BufferIndirect }), "buffer formats is 4", "", srp.ErrLoginResponse},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldConfig{logins: 1})
			w.target.answer = c.answer
			_, err := w.tryLogin(w.config())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v; want %q", err, c.want)
			}
			var r *srp.RejectError
			if errors.As(err, &r) != (c.advice != "") || c.advice != "" && !strings.Contains(r.Advice(), c.advice) {
				t.Errorf("advice of %v", err)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v is not %v", err, c.is)
			}
			if len(w.target.logins) > 8 {
				t.Errorf("%d attempts", len(w.target.logins))
			}
		})
	}
}

func TestLoginAtNobody(t *testing.T) {
	w := newWorld(t, worldConfig{})
	cfg := w.config()
	cfg.Address.Dst = netip.MustParseAddrPort("192.0.2.77:5555")
	if _, err := w.tryLogin(cfg); !errors.Is(err, verbs.ErrNoRoute) || !strings.Contains(err.Error(), "192.0.2.77:5555") {
		t.Errorf("%v", err)
	}
	cfg.Address.Dst = netip.MustParseAddrPort("192.0.2.2:1")
	var r *srp.RejectError
	if _, err := w.tryLogin(cfg); !errors.As(err, &r) || r.CM != verbs.RejectInvalidServe {
		t.Errorf("%v", err)
	}
}

// With an address of the IB CM the request is the information unit itself.
func TestLoginByIBCM(t *testing.T) {
	w := newWorld(t, worldConfig{})
	const service = 0x123456789abc
	listen := &verbs.ListenAttr{Address: verbs.Address{ServiceID: service}, Processor: w.p, Request: w.target.request}
	var l *verbs.Listener
	w.drive(func() {
		l = result(t, func(op *verbs.Op[*verbs.Listener]) { w.target.dev.Listen(op, listen) })
	})
	defer w.drive(func() { closeObject(t, l) })
	cfg := w.config()
	cfg.Address = verbs.Address{DGID: w.target.dev.Attr().Ports[0].GIDs[0], PKey: 0xffff, ServiceID: service}
	if _, err := w.tryLogin(cfg); err != nil {
		t.Fatal(err)
	}
	if r := w.target.logins[0]; r.Initiator != initiator || r.Target != targetID || r.MaxITIULen != 276 {
		t.Errorf("%+v", r)
	}
}

// The first channel ends older ones of the nexus, the others join it; a target that allows fewer is served with fewer.
func TestChannels(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(int, *srp.LoginReq) loginAnswer
		n      int
		fewer  string
	}{
		"all":              {script(accept), 4, ""},
		"limit":            {script(accept, accept, reject(srp.RejectChannelLimit)), 2, "0x00010006"},
		"no multi-channel": {script(accept, reject(srp.RejectNoMultiChannel)), 1, "0x00010005"},
		"no resources":     {script(accept, accept, accept, reject(srp.RejectInsufficientResource)), 3, "0x00010001"},
		"no connections":   {script(accept, refuse(verbs.RejectNoResources)), 1, "CM REJ 3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldConfig{logins: 4})
			w.target.answer = c.answer
			cfg := w.config()
			cfg.Channels = 4
			s, err := w.tryLogin(cfg)
			if err != nil {
				t.Fatal(err)
			}
			i := s.Info()
			if len(s.Channels()) != c.n || i.Channels != c.n || (i.Fewer == nil) != (c.fewer == "") {
				t.Fatalf("%d channels, %+v", len(s.Channels()), i)
			}
			if i.Fewer != nil && !strings.Contains(i.Fewer.Error(), c.fewer) {
				t.Error(i.Fewer)
			}
			for k, r := range w.target.logins {
				if multi := r.Flags&srp.LoginChannelMask == srp.LoginMultiChannel; multi != (k > 0) {
					t.Errorf("login %d: flags %#x", k, r.Flags)
				}
			}
			// Each has credits and tags of its own; the death of one leaves the others.
			var rs []*request
			for k, ch := range s.Channels() {
				r := newRequest()
				w.start(ch, r)
				rs = append(rs, r)
				if tag := w.target.used[k].command().Tag; tag>>48 != uint64(k) {
					t.Errorf("channel %d: tag %#x", k, tag)
				} else if k > 0 {
					w.target.used[k].send(good(tag))
					r.ended(t, 1, srp.Completed)
				}
			}
			w.at(s.Channels()[0].Fail)
			w.until("the first channel is down", func() bool { return len(w.events) > 0 })
			rs[0].ended(t, 1, srp.ChannelDown)
			for _, ch := range s.Channels()[1:] {
				w.start(ch, newRequest())
			}
		})
	}
}

// A target that does not answer holds a login no longer than the caller wants.
func TestLoginEnds(t *testing.T) {
	mute := func(int, *srp.LoginReq) loginAnswer { return loginAnswer{mute: true} }
	t.Run("by its timeout", func(t *testing.T) {
		w := newWorld(t, worldConfig{})
		w.target.answer = mute
		cfg := w.config()
		cfg.LoginTimeout = 20 * time.Millisecond
		if _, err := w.tryLogin(cfg); !errors.Is(err, verbs.ErrTimeout) || !strings.Contains(err.Error(), "20ms") {
			t.Errorf("%v", err)
		}
	})
	t.Run("by its context", func(t *testing.T) {
		w := newWorld(t, worldConfig{})
		ctx, cancel := context.WithCancel(context.Background())
		w.target.answer = func(int, *srp.LoginReq) loginAnswer { cancel(); return loginAnswer{mute: true} }
		var err error
		w.drive(func() { _, err = srp.Login(ctx, w.config()) })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	t.Run("with the channels it has", func(t *testing.T) {
		w := newWorld(t, worldConfig{logins: 2})
		w.target.answer = script(accept, func(*srp.LoginReq) loginAnswer { return loginAnswer{mute: true} })
		cfg := w.config()
		cfg.Channels, cfg.LoginTimeout = 2, 100*time.Millisecond
		s, err := w.tryLogin(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Channels()) != 1 || !errors.Is(s.Info().Fewer, context.DeadlineExceeded) && !errors.Is(s.Info().Fewer, verbs.ErrTimeout) {
			t.Errorf("%d channels, %v", len(s.Channels()), s.Info().Fewer)
		}
	})
}

func TestInvalidConfigs(t *testing.T) {
	w := newWorld(t, worldConfig{})
	for name, change := range map[string]func(c *srp.SessionConfig){
		"no device":    func(c *srp.SessionConfig) { c.Device = nil },
		"no PD":        func(c *srp.SessionConfig) { c.PD = nil },
		"another's PD": func(c *srp.SessionConfig) { c.PD = w.target.pd },
		"no processor": func(c *srp.SessionConfig) { c.Processors = nil },
		"channels":     func(c *srp.SessionConfig) { c.Channels = srp.MaxChannels + 1 },
		"queue":        func(c *srp.SessionConfig) { c.QueueSize = -1 },
		"descriptors":  func(c *srp.SessionConfig) { c.DescriptorsInIU = 256 },
		"segments":     func(c *srp.SessionConfig) { c.MaxSegments, c.AllowExternalTable = 2049, true },
		"immediate":    func(c *srp.SessionConfig) { c.ImmediateData = -1 },
		"IU size":      func(c *srp.SessionConfig) { c.MaxIUSize = 63 },
		"CDB":          func(c *srp.SessionConfig) { c.MaxCDB = 36 },
		"odd CDB":      func(c *srp.SessionConfig) { c.MaxCDB = 18 },
		"protection":   func(c *srp.SessionConfig) { c.Protect = 3 },
		"bounce":       func(c *srp.SessionConfig) { c.BounceSize = 1 },
		"retries":      func(c *srp.SessionConfig) { c.RetryCount = 8 },
		"timeout":      func(c *srp.SessionConfig) { c.LoginTimeout = -1 },
	} {
		cfg := w.config()
		change(cfg)
		if _, err := srp.Login(context.Background(), cfg); !errors.Is(err, srp.ErrInvalidConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(w.target.logins) != 0 {
		t.Error("logged in")
	}
}

// A device's queues bound what is outstanding.
func TestQueueSizeFitsTheDevice(t *testing.T) {
	w := newWorld(t, worldConfig{})
	cfg := w.config()
	cfg.QueueSize, cfg.MaxSegments, cfg.AllowExternalTable = 100, 1000, true
	if _, err := w.tryLogin(cfg); err != nil {
		t.Fatal(err)
	}
	if n := w.sess.Info().QueueSize; n < 8 || n > 16 {
		t.Errorf("%d commands with 1000 windows each in queues of %d", n, w.init.dev.Attr().MaxWR)
	}
}

// TestLoginIsIbSrps: the request is ib_srp's own, byte for byte.
func TestLoginIsIbSrps(t *testing.T) {
	for _, number := range []string{"01", "24", "28"} {
		var captured []byte
		for _, iu := range capture(t, number) {
			if iu.where == "REQ" {
				captured = iu.data
				break
			}
		}
		var want srp.LoginReq
		if err := want.DecodeRDMACM(captured); err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, worldConfig{})
		cfg := w.config()
		cfg.Initiator, cfg.Target = want.Initiator, want.Target
		switch number {
		case "01":
			cfg.ImmediateData = srp.DefaultImmediateData
		case "28":
			cfg.DescriptorsInIU = 255
			if want.Flags&srp.LoginImmediateWanted != 0 {
				cfg.ImmediateData = srp.DefaultImmediateData
			}
		}
		if _, err := w.tryLogin(cfg); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, srp.LoginReqRDMACMLen)
		w.target.logins[0].EncodeRDMACM(got)
		if !bytes.Equal(got, captured[:len(got)]) {
			t.Errorf("capture %s:\ngot  %x\nwant %x", number, got, captured[:len(got)])
		}
	}
}
