package target_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"minisrp/scsi"
	"minisrp/scsi/lun"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/srp/target/access"
)

// newUnit makes a unit that is shown nowhere yet.
func (w *world) newUnit(serial string, s lun.Store) *lun.Unit {
	w.t.Helper()
	u, err := lun.NewUnit(w.p, lun.Config{Store: s, Serial: serial})
	if err != nil {
		w.t.Fatal(err)
	}
	w.units = append(w.units, u)
	return u
}

// group makes a group that shows units at LUNs.
func (w *world) group(name string, units map[int]*lun.Unit, who ...string) *target.Group {
	w.t.Helper()
	c := target.GroupConfig{Name: name}
	for _, s := range who {
		c.Initiators = append(c.Initiators, must(access.Parse(s)))
	}
	var g *target.Group
	w.drive(func() {
		var err error
		if g, err = w.port.AddGroup(context.Background(), c); err != nil {
			w.t.Error(err)
			return
		}
		for n, u := range units {
			if err := g.Attach(context.Background(), n, u); err != nil {
				w.t.Error(err)
			}
		}
	})
	return g
}

// as logs in as another initiator.
func (w *world) as(id srp.PortID) *srp.Channel {
	w.t.Helper()
	cfg := w.config()
	cfg.Initiator = id
	return w.login(cfg).Channels()[0]
}

// luns is what REPORT LUNS says.
func (w *world) luns(c *srp.Channel) (all []int) {
	w.t.Helper()
	w.newRequest(0, []byte{0xa0, 0, 0, 0, 0, 0, 0, 0, 16, 0}, srp.DataIn, w.init.segment(0, 4096)).start(c).good()
	list, err := scsi.ParseLUNList(w.init.mem[:4096])
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range list.Len() {
		n, _ := list.At(i).Unit()
		all = append(all, int(n))
	}
	return all
}

func (w *world) sessions() (who []target.Session) {
	w.t.Helper()
	w.drive(func() {
		var err error
		if who, err = w.port.Sessions(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
	return who
}

var (
	anna  = srp.IOClassR16a.PortID(0, 0xa)
	berta = srp.IOClassR16a.PortID(0, 0xb)
	clara = srp.IOClassR16a.PortID(0, 0xc)
)

// Each initiator sees the units of its group, at the group's LUNs, and nothing else; what two groups show is one unit.
func TestGroups(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	w.attach(3, ram())
	shared, own := w.newUnit("shared", ram()), w.newUnit("own", ram())
	w.group("first", map[int]*lun.Unit{0: shared, 1: own}, anna.String())
	w.group("second", map[int]*lun.Unit{7: shared}, "0000:0000:0000:000b", anna.String())
	a, b, c := w.as(anna), w.as(berta), w.as(clara)
	for _, x := range []struct {
		c    *srp.Channel
		want []int
	}{{a, []int{0, 1}}, {b, []int{7}}, {c, []int{3}}} {
		if got := w.luns(x.c); fmt.Sprint(got) != fmt.Sprint(x.want) {
			t.Errorf("LUNs %v, want %v", got, x.want)
		}
		for n := range uint8(9) {
			r := w.newRequest(n, nil, srp.NoData).start(x.c)
			if bytes.Contains([]byte(fmt.Sprint(x.want)), []byte(fmt.Sprint(n))) {
				r.check(scsi.KeyUnitAttention, scsi.ASCPowerOnReset)
			} else {
				r.check(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported)
			}
		}
	}
	// Data, by either group's LUN, in one memory.
	pattern(1, w.init.mem[:4096])
	w.newRequest(0, rw(true, 8, 4096), srp.DataOut, w.init.segment(0, 4096)).start(a).good()
	w.newRequest(7, rw(false, 8, 4096), srp.DataIn, w.init.segment(8192, 4096)).start(b).good()
	if !bytes.Equal(w.init.mem[:4096], w.init.mem[8192:][:4096]) {
		t.Error("the groups show different units")
	}
	// The list for operators.
	var text []string
	for _, s := range w.sessions() {
		text = append(text, fmt.Sprintf("%s %q %v", s.Initiator, s.Group, s.Units))
		if i := s.Channels[0]; i.Peer.Src.Addr().String() != "192.0.2.1" || i.Credits != target.DefaultCredits || i.MaxIU == 0 || i.Commands == 0 {
			t.Errorf("%+v", i)
		}
	}
	for _, want := range []string{
		anna.String() + ` "first" [{0 shared} {1 own}]`, berta.String() + ` "second" [{7 shared}]`, clara.String() + ` "" [{3 test}]`,
	} {
		if !strings.Contains(strings.Join(text, "\n"), want) {
			t.Errorf("%s is not in %q", want, text)
		}
	}
}

// A unit that a group stops to show stays with the other, whose commands go on.
func TestGroupDetach(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	u, rest := w.newUnit("u", ram()), w.newUnit("rest", ram())
	g := w.group("first", map[int]*lun.Unit{0: u, 1: rest}, anna.String())
	w.group("second", map[int]*lun.Unit{7: u}, berta.String())
	a, b := w.as(anna), w.as(berta)
	w.attentions(a, 0)
	w.attentions(a, 1)
	w.attentions(b, 7)
	w.drive(func() {
		if got, err := g.Detach(context.Background(), 0); err != nil || got != u {
			t.Errorf("%v, %v", got, err)
		}
	})
	w.newRequest(1, nil, srp.NoData).start(a).check(scsi.KeyUnitAttention, scsi.ASCReportedLUNsChanged)
	w.newRequest(0, nil, srp.NoData).start(a).check(scsi.KeyIllegalRequest, scsi.ASCUnitNotSupported)
	w.newRequest(7, rw(false, 0, 4096), srp.DataIn, w.init.segment(0, 4096)).start(b).good() // and has nothing to report
	w.drive(func() {
		if err := g.Attach(context.Background(), 4, u); err != nil {
			t.Error(err)
		}
	})
	w.newRequest(4, nil, srp.NoData).start(a).check(scsi.KeyUnitAttention, scsi.ASCPowerOnReset)
}

// The reasons for which a login is refused when a port is closed to strangers, here and as Linux gives them; and what is
// logged names the initiator in the spellings that would let it in.
func TestClosed(t *testing.T) {
	for _, linux := range []bool{false, true} {
		var log bytes.Buffer
		w := newWorld(t, target.Config{Closed: true, LikeLinux: linux, Log: slog.New(slog.NewTextHandler(&log, nil))}, nil)
		w.group("known", nil, anna.String(), "198.51.100.0/24")
		try := func(change func(r *srp.LoginReq)) srp.RejectReason {
			req := rawLogin()
			req.Initiator = berta
			change(req)
			_, err := w.newRaw().login(req)
			if err == nil {
				return 0
			}
			return rejected(t, err)
		}
		for _, c := range []struct {
			name       string
			change     func(r *srp.LoginReq)
			ours, them srp.RejectReason
		}{
			{"a stranger", func(r *srp.LoginReq) {}, srp.RejectUnableAssociate, srp.RejectChannelLimit},
			{"again", func(r *srp.LoginReq) {}, srp.RejectUnableAssociate, srp.RejectChannelLimit},
			{"IUs too short", func(r *srp.LoginReq) { r.MaxITIULen = 63 }, srp.RejectUnableEstablish, srp.RejectIUTooLarge},
			{"IUs too long", func(r *srp.LoginReq) { r.MaxITIULen = 9000 }, srp.RejectIUTooLarge, srp.RejectIUTooLarge},
			{"another target", func(r *srp.LoginReq) { r.Target[3]++ }, srp.RejectUnableAssociate, srp.RejectUnableAssociate},
			{"unknown formats", func(r *srp.LoginReq) { r.Initiator, r.BufferFormats = anna, 9 }, srp.RejectUnsupportedFormat, 0},
			{"known", func(r *srp.LoginReq) { r.Initiator = anna }, 0, 0},
		} {
			want := c.ours
			if linux {
				want = c.them
			}
			if got := try(c.change); got != want {
				t.Errorf("%s, like Linux %v: %v, want %v", c.name, linux, got, want)
			}
		}
		w.drive(func() {
			if err := w.port.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		text := log.String()
		want := `"allow with"="0x0000000000000000000000000000000b or 0000:0000:0000:000b or 192.0.2.1"`
		if strings.Count(text, want) != 1 || !strings.Contains(text, "there is no unit for it") {
			t.Errorf("%s\nwant one %s, and that the known one has no units", text, want)
		}
	}
}

// The channels of an initiator belong to one group. One that comes from where another is named is refused.
func TestChannelOfOtherGroup(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	w.group("here", nil, "192.0.2.1")
	w.group("there", nil, "192.0.2.3")
	w.loggedIn()
	other := w.newHost("192.0.2.3", hostMem)
	t.Cleanup(func() {
		w.drive(func() {
			result(t, other.mr.Close)
			result(t, other.pd.Close)
			if err := other.dev.Close(context.Background()); err != nil {
				t.Error(err)
			}
			other.a.Close()
		})
	})
	here := w.init
	w.init = other
	x := w.newRaw()
	multi := rawLogin()
	multi.Flags = srp.LoginMultiChannel
	_, err := x.login(multi)
	w.init = here
	if rejected(t, err) != srp.RejectUnableAssociate {
		t.Error(err)
	}
}

func TestGroupNames(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	w.group("a", nil)
	for _, name := range []string{"", "a"} {
		if _, err := w.port.AddGroup(context.Background(), target.GroupConfig{Name: name}); !errors.Is(err, target.ErrConfig) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Every initiator of a unit is told of what happens to it, and each once: the reset of any, a change of capacity, and
// of the LUNs that it sees; and what is new to one is not new to the others (SAM-5 5.14).
func TestAttentionsOfSeveralInitiators(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	u := w.attach(0, ram())
	chans := []*srp.Channel{w.as(anna), w.as(berta)}
	one := func(c *srp.Channel, key scsi.SenseKey, code scsi.ASC) {
		t.Helper()
		w.newRequest(0, nil, srp.NoData).start(c).check(key, code)
		w.newRequest(0, nil, srp.NoData).start(c).good()
	}
	each := func(code scsi.ASC) {
		t.Helper()
		for _, c := range chans {
			one(c, scsi.KeyUnitAttention, code)
		}
	}
	each(scsi.ASCPowerOnReset)
	w.manage(chans[1], srp.LogicalUnitReset, 0, nil).complete()
	each(scsi.ASCTargetReset)
	if err := u.CapacityChanged(); err != nil {
		t.Fatal(err)
	}
	each(scsi.ASCCapacityChanged)
	other := w.attach(5, ram())
	each(scsi.ASCReportedLUNsChanged)
	w.drive(func() {
		if _, err := w.port.Detach(context.Background(), 5); err != nil {
			t.Error(err)
		}
	})
	_ = other
	w.luns(chans[0]) // who looks by himself need not be told
	w.newRequest(0, nil, srp.NoData).start(chans[0]).good()
	one(chans[1], scsi.KeyUnitAttention, scsi.ASCReportedLUNsChanged)
	// Several at once are told one after the other.
	w.manage(chans[0], srp.LogicalUnitReset, 0, nil).complete()
	if err := u.CapacityChanged(); err != nil {
		t.Fatal(err)
	}
	for _, c := range chans {
		w.newRequest(0, nil, srp.NoData).start(c).check(scsi.KeyUnitAttention, scsi.ASCTargetReset)
		one(c, scsi.KeyUnitAttention, scsi.ASCCapacityChanged)
	}
	// A third that logs in meets nothing but its own beginning, and the others do not meet that.
	third := w.as(clara)
	one(third, scsi.KeyUnitAttention, scsi.ASCPowerOnReset)
	for _, c := range chans {
		w.newRequest(0, nil, srp.NoData).start(c).good()
	}
	// One that logs in again is a new nexus.
	chans[0] = w.as(anna)
	one(chans[0], scsi.KeyUnitAttention, scsi.ASCPowerOnReset)
	w.newRequest(0, nil, srp.NoData).start(chans[1]).good()
}

// SINGLE and MULTI, strictly: the first channel is one for all, others come after it, and reserved actions are none
// (SRP r16a 6.2).
func TestStrictChannels(t *testing.T) {
	for _, strict := range []bool{false, true} {
		w := newWorld(t, target.Config{StrictChannels: strict}, nil)
		try := func(action srp.LoginFlags) (*raw, srp.LoginRspFlags, srp.RejectReason) {
			req := rawLogin()
			req.Flags = action
			x := w.newRaw()
			rsp, err := x.login(req)
			if err != nil {
				return x, 0, rejected(t, err)
			}
			return x, rsp.Flags & srp.ChannelsMask, 0
		}
		_, _, reason := try(srp.LoginMultiChannel)
		if want := map[bool]srp.RejectReason{true: srp.RejectUnableAssociate}[strict]; reason != want {
			t.Errorf("strict %v: a first channel of several: %v", strict, reason)
		}
		first, result, reason := try(srp.LoginSingleChannel)
		if want := map[bool]srp.LoginRspFlags{false: srp.ChannelsTerminated}[strict]; reason != 0 || result != want {
			t.Errorf("strict %v: a single channel: %#x, %v", strict, result, reason)
		}
		second, result, reason := try(srp.LoginMultiChannel)
		if reason != 0 || result != srp.ChannelsMaintained {
			t.Errorf("strict %v: another: %#x, %v", strict, result, reason)
		}
		for _, action := range []srp.LoginFlags{2, 3} {
			_, _, reason := try(action)
			if want := map[bool]srp.RejectReason{true: srp.RejectUnableEstablish}[strict]; reason != want {
				t.Errorf("strict %v: action %d: %v", strict, action, reason)
			}
		}
		if !strict {
			continue // those were single ones
		}
		if first.gone || second.gone {
			t.Error("a refused login has ended a channel")
		}
		for _, x := range []*raw{first, second} { // only an initiator whose RTU has arrived is told
			x.carryOut(x.tur())
		}
		if _, result, _ := try(srp.LoginSingleChannel); result != srp.ChannelsTerminated {
			t.Errorf("a single channel ends the others: %#x", result)
		}
		w.until("the end of the others", func() bool {
			return first.gone && second.gone && len(first.got) > 0 && len(second.got) > 0
		})
		for _, x := range []*raw{first, second} {
			var lo srp.TLogout
			if err := lo.Decode(x.got[len(x.got)-1]); err != nil || lo.Reason != srp.LogoutMultiChannel {
				t.Errorf("%+v, %v", lo, err)
			}
		}
	}
}

// SRP_I_LOGOUT ends its channel after what came before it on it is answered; the initiator's others go on, and it is the
// same nexus: there is nothing to report.
func TestInitiatorLogout(t *testing.T) {
	w, _, _ := faulty(t, "")
	x, _ := w.loggedIn()
	y := w.newRaw()
	multi := rawLogin()
	multi.Flags = srp.LoginMultiChannel
	if _, err := y.login(multi); err != nil {
		t.Fatal(err)
	}
	x.carryOut(x.tur())
	w.faults("late=10ms")
	x.command(x.tur(), nil)
	b := make([]byte, srp.LogoutLen)
	if _, err := (&srp.ILogout{Tag: 5}).Encode(b); err != nil {
		t.Fatal(err)
	}
	x.send(b)
	x.command(x.tur(), nil) // after it: not answered
	if x.gone {
		t.Fatal("disconnected before what is outstanding was answered")
	}
	w.p.Advance(10 * 1e6)
	w.until("the end of the channel", func() bool { return x.gone })
	if len(x.got) != 1 {
		t.Errorf("%d responses, want one", len(x.got))
	}
	w.faults("")
	y.command(y.tur(), nil)
	if r := y.response(); r.Status != 0 || y.gone {
		t.Errorf("the other channel: %+v", r)
	}
	// The other channel's objects are taken down by goroutines of their own.
	w.until("one channel is left", func() bool {
		who := w.sessions()
		return len(who) == 1 && len(who[0].Channels) == 1
	})
}
