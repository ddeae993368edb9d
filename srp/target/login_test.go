package target_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/scsi/luntest"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// Each reason to refuse a login is given for what it says (SRP r16a 6.4).
func TestLoginRejected(t *testing.T) {
	w := newWorld(t, target.Config{ChannelsPerNexus: 2, MaxChannels: 3, MaxIU: 4000}, nil)
	enable := func(on bool) func() { return func() { w.port.SetEnabled(on) } }
	for _, c := range []struct {
		name   string
		before func()
		change func(r *srp.LoginReq)
		want   srp.RejectReason
	}{
		{"IUs too short", nil, func(r *srp.LoginReq) { r.MaxITIULen = 63 }, srp.RejectUnableEstablish},
		{"IUs too long", nil, func(r *srp.LoginReq) { r.MaxITIULen = 4001 }, srp.RejectIUTooLarge},
		{"disabled", enable(false), func(r *srp.LoginReq) {}, srp.RejectInsufficientResource},
		{"other port", enable(true), func(r *srp.LoginReq) { r.Target[0]++ }, srp.RejectUnableAssociate},
		{"unknown format", nil, func(r *srp.LoginReq) { r.BufferFormats |= 1 }, srp.RejectUnsupportedFormat},
		{"no format", nil, func(r *srp.LoginReq) { r.BufferFormats = 0 }, srp.RejectUnsupportedFormat},
	} {
		if c.before != nil {
			c.before()
		}
		req := rawLogin()
		c.change(req)
		_, err := w.newRaw().login(req)
		if got := rejected(t, err); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if _, err := w.newRaw().connect([]byte("hello")); rejected(t, err) != srp.RejectUnableEstablish {
		t.Errorf("rubbish: %v", err)
	}
	multi := rawLogin()
	multi.Flags = srp.LoginMultiChannel
	for i := range 2 {
		if rsp, err := w.newRaw().login(multi); err != nil || rsp.Flags&srp.ImmediateSupported != 0 ||
			rsp.Flags&srp.ChannelsMask != []srp.LoginRspFlags{srp.ChannelsNone, srp.ChannelsMaintained}[i] {
			t.Errorf("channel %d: flags %#x, %v", i, rsp.Flags, err)
		}
	}
	if _, err := w.newRaw().login(multi); rejected(t, err) != srp.RejectChannelLimit {
		t.Errorf("third of two channels: %v", err)
	}
	other := rawLogin()
	other.Initiator[15]++
	if _, err := w.newRaw().login(other); err != nil {
		t.Errorf("another initiator: %v", err)
	}
	other.Initiator[15]++
	if _, err := w.newRaw().login(other); rejected(t, err) != srp.RejectInsufficientResource {
		t.Errorf("fourth of three channels: %v", err)
	}
}

func TestNoMultiChannel(t *testing.T) {
	w := newWorld(t, target.Config{ChannelsPerNexus: 1}, nil)
	w.loggedIn()
	multi := rawLogin()
	multi.Flags = srp.LoginMultiChannel
	if _, err := w.newRaw().login(multi); rejected(t, err) != srp.RejectNoMultiChannel {
		t.Error(err)
	}
	cfg := w.config()
	cfg.Channels, cfg.Initiator = 4, srp.IOClassR16a.PortID(9, 9)
	if s := w.login(cfg); len(s.Channels()) != 1 {
		t.Errorf("%d channels", len(s.Channels()))
	}
}

// The login response says what the port takes.
func TestLoginResponse(t *testing.T) {
	w := newWorld(t, target.Config{Credits: 5, MaxIU: 3000}, nil)
	_, rsp := w.loggedIn()
	if rsp.Tag != 7 || rsp.RequestLimitDelta != 5 || rsp.MaxITIULen != 3000 || rsp.MaxTIIULen < 54 ||
		rsp.BufferFormats != srp.BufferDirect|srp.BufferIndirect || rsp.Flags != srp.ImmediateSupported {
		t.Errorf("%+v", rsp)
	}
	for _, off := range []uint16{47, 3001} {
		req := rawLogin()
		req.ImmediateOffset, req.Initiator[0] = off, 1
		if rsp, err := w.newRaw().login(req); err != nil || rsp.Flags&srp.ImmediateSupported != 0 {
			t.Errorf("immediate data at %d: flags %#x, %v", off, rsp.Flags, err)
		}
	}
}

// All channels of a session carry commands, and the port says who is there.
func TestChannels(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	w.attach(0, ram())
	cfg := w.config()
	cfg.Channels = 3
	s := w.login(cfg)
	if len(s.Channels()) != 3 {
		t.Fatalf("%d channels: %v", len(s.Channels()), s.Info().Fewer)
	}
	w.attentions(s.Channels()[0], 0)
	for i, c := range s.Channels() {
		pattern(i, w.init.mem[:4096])
		w.newRequest(0, rw(true, uint64(8*i), 4096), srp.DataOut, w.init.segment(0, 4096)).start(c).good()
	}
	for i := range s.Channels() {
		w.newRequest(0, rw(false, uint64(8*i), 4096), srp.DataIn, w.init.segment(8192, 4096)).start(s.Channels()[2-i]).good()
		if !bytes.Equal(w.init.mem[8192:][:4096], pattern(i, make([]byte, 4096))) {
			t.Errorf("what channel %d wrote differs", i)
		}
	}
	w.drive(func() {
		who, err := w.port.Sessions(context.Background())
		if err != nil || len(who) != 1 || who[0].Initiator != initiator || len(who[0].Channels) != 3 {
			t.Fatalf("%+v, %v", who, err)
		}
		for _, c := range who[0].Channels {
			if c.BytesOut != 4096 || c.BytesIn != 4096 || c.Commands < 2 || c.Credits != target.DefaultCredits {
				t.Errorf("%+v", c)
			}
		}
	})
	w.logout(s)
	w.until("the end of the session", func() bool {
		var who []target.Session
		w.drive(func() { who, _ = w.port.Sessions(context.Background()) })
		return len(who) == 0
	})
}

// A login for a single channel ends the initiator's others, and is answered when nothing of them is left: a write that
// was sent before does not land after it.
func TestSingleChannelLoginEndsOthers(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	gate := luntest.Pause(ram())
	w.attach(0, gate)
	old := w.login(w.config())
	c := old.Channels()[0]
	w.attentions(c, 0)
	gate.Shut()
	stale := w.newRequest(0, rw(true, 0, 4096), srp.DataOut, w.init.segment(0, 4096)).start(c)
	<-gate.Arrived()

	cfg := w.config()
	cfg.LoginTimeout = 20 * time.Second
	type answer struct {
		s   *srp.Session
		err error
	}
	done := make(chan answer, 1)
	go func() {
		s, err := srp.Login(context.Background(), cfg)
		done <- answer{s, err}
	}()
	w.until("the end of the old channel", func() bool { return w.downs > 0 })
	stale.end()
	if stale.Outcome != srp.ChannelDown {
		t.Errorf("a command of the old channel: %v", stale.Outcome)
	}
	logout := false
	for _, e := range w.events {
		logout = logout || e.Kind == srp.EventTargetLogout && e.Logout == srp.LogoutMultiChannel
	}
	if !logout {
		t.Errorf("no SRP_T_LOGOUT: %+v", w.events)
	}
	for range 100 {
		w.p.RunUntilIdle()
	}
	select {
	case a := <-done:
		t.Fatalf("the login was answered while the old channel's write was with the store: %v", a.err)
	default:
	}
	gate.Open()
	var a answer
	w.drive(func() { a = <-done })
	if a.err != nil {
		t.Fatal(a.err)
	}
	w.t.Cleanup(func() { w.logout(a.s) })
	c = a.s.Channels()[0]
	r := w.newRequest(0, nil, srp.NoData).start(c) // a new nexus
	r.check(scsi.KeyUnitAttention, scsi.ASCPowerOnReset)
	pattern(2, w.init.mem[:4096])
	w.newRequest(0, rw(true, 0, 4096), srp.DataOut, w.init.segment(0, 4096)).start(c).good()
	w.newRequest(0, rw(false, 0, 4096), srp.DataIn, w.init.segment(8192, 4096)).start(c).good()
	if !bytes.Equal(w.init.mem[:4096], w.init.mem[8192:][:4096]) {
		t.Error("the old write has come through")
	}
}

// Close tells initiators to go. What they have outstanding ends, and nothing is left.
func TestCloseTellsInitiators(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	gate := luntest.Pause(ram())
	w.attach(0, gate)
	c := w.login(w.config()).Channels()[0]
	w.attentions(c, 0)
	gate.Shut()
	r := w.newRequest(0, rw(true, 0, 4096), srp.DataOut, w.init.segment(0, 4096)).start(c)
	<-gate.Arrived()
	w.drive(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if err := w.port.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close with a write in the store: %v", err)
		}
	})
	gate.Open()
	w.drive(func() {
		if err := w.port.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := w.port.Listen(context.Background(), verbs.Address{Dst: portAddr}); !errors.Is(err, target.ErrClosed) {
			t.Errorf("Listen after Close: %v", err)
		}
	})
	r.end()
	if r.Outcome != srp.ChannelDown || w.downs != 1 {
		t.Errorf("outcome %v, %d ends of the channel", r.Outcome, w.downs)
	}
}

// Detach waits for the unit's tasks. Initiators see it gone at once.
func TestDetachWaits(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	gate := luntest.Pause(ram())
	u := w.attach(0, gate)
	c := w.login(w.config()).Channels()[0]
	w.attentions(c, 0)
	gate.Shut()
	r := w.newRequest(0, rw(true, 0, 4096), srp.DataOut, w.init.segment(0, 4096)).start(c)
	<-gate.Arrived()
	w.drive(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if _, err := w.port.Detach(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Detach with a write in the store: %v", err)
		}
	})
	w.newRequest(0, nil, srp.NoData).start(c).check(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported)
	gate.Open()
	r.good()
	w.drive(func() {
		if got, err := w.port.Detach(context.Background(), 0); err != nil || got != u {
			t.Errorf("%v, %v", got, err)
		}
		if _, err := w.port.Detach(context.Background(), 0); !errors.Is(err, lun.ErrLUN) {
			t.Errorf("a second time: %v", err)
		}
		if err := w.port.Attach(context.Background(), 0, u); err != nil {
			t.Errorf("attached again: %v", err)
		}
	})
	w.attentions(c, 0)
}

func TestConfigRefused(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	for _, c := range []target.Config{
		{}, {Device: w.dev}, {Credits: -1}, {Credits: target.MaxCredits + 1}, {MaxIU: 63}, {MaxIU: 1 << 20}, {Buffers: 1 << 20},
		{Formats: 8}, {MaxChannels: -1}, {ChannelsPerNexus: -1},
	} {
		if c.Device == nil && (c.Credits != 0 || c.MaxIU != 0 || c.Buffers != 0 || c.Formats != 0 || c.MaxChannels != 0 || c.ChannelsPerNexus != 0) {
			c.Device, c.Processor = w.dev, w.p
		}
		if _, err := target.New(context.Background(), c); !errors.Is(err, target.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	w.drive(func() {
		if err := w.port.Listen(context.Background(), verbs.Address{Dst: portAddr}); !errors.Is(err, verbs.ErrInUse) {
			t.Errorf("an address twice: %v", err)
		}
		u := must(lun.NewUnit(w.p, lun.Config{Store: ram(), Serial: "x"}))
		defer u.Close(context.Background())
		for _, n := range []int{-1, lun.MaxUnits} {
			if err := w.port.Attach(context.Background(), n, u); !errors.Is(err, lun.ErrLUN) {
				t.Errorf("LUN %d: %v", n, err)
			}
		}
		other := must(lun.NewUnit(dispatch.NewManual("other"), lun.Config{Store: ram(), Serial: "x"}))
		defer other.Close(context.Background())
		if err := w.port.Attach(context.Background(), 0, other); !errors.Is(err, lun.ErrConfig) {
			t.Errorf("a unit of another processor: %v", err)
		}
	})
}
