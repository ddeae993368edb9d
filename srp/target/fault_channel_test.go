package target_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"minisrp/scsi"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/srp/target/access"
	"minisrp/srp/target/fault"
	"minisrp/verbs"
	"minisrp/verbs/dispatch"
)

// The request limit begins low, is raised and lowered by SRP_CRED_REQ, and by credits that do not come back. It stays
// between one and what the port has room for.
func TestFaultCredits(t *testing.T) {
	w := newWorld(t, target.Config{Credits: 16, Faults: must(fault.Parse("credits=2"))}, nil)
	w.attach(0, ram())
	c := w.login(w.config()).Channels()[0]
	w.attentions(c, 0)
	limit := func(want int) {
		t.Helper()
		if n, i := w.credits(c), w.theirs(); n != want || i.Credits != want {
			t.Errorf("the initiator has %d credits, the port counts %d, want %d", n, i.Credits, want)
		}
	}
	limit(2)
	w.do("cred-req=5")
	limit(7)
	w.do("cred-req=100")
	limit(16)
	w.do("cred-req=-6")
	limit(10)
	w.do("withhold=3")
	if n := w.credits(c); n != 10 {
		t.Errorf("%d credits at once", n)
	}
	for range 3 {
		w.read(c, 0).good()
	}
	limit(7)
	w.read(c, 0).good()
	limit(7)
	w.do("cred-req=-100")
	limit(1)
	w.read(c, 0).good()
	w.do("withhold=5")
	w.read(c, 0).good()
	limit(1)
	if s, i := w.stats(c), w.theirs(); s.CreditReqs != 4 || i.Asked != 4 || i.Unasked != 0 {
		t.Errorf("%+v, %+v", s, i)
	}
	// A request in flight while the limit is lowered below what is out.
	w.faults("late=10ms")
	w.do("cred-req=1")
	r := w.read(c, 0)
	w.do("cred-req=-1")
	if n := w.credits(c); n != 0 {
		t.Errorf("%d credits with one request out of one", n)
	}
	w.p.Advance(10 * time.Millisecond)
	r.good()
	limit(1)
}

// Events are reported one at a time: the next when the one before is answered.
func TestFaultAsyncEvent(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	w.attach(0, ram())
	x, _ := w.loggedIn()
	w.do("aer=3f0e")
	w.do("aer=2a09@300")
	w.do("cred-req=-1")
	w.until("a request", func() bool { return len(x.got) > 0 })
	var aer srp.AERReq
	if err := aer.Decode(x.got[0]); err != nil {
		t.Fatal(err)
	}
	if s, err := scsi.ParseSense(aer.Sense); err != nil || s.Key != scsi.KeyUnitAttention || s.ASC != scsi.ASCReportedLUNsChanged ||
		aer.RequestLimitDelta != 0 || aer.LUN != [8]byte{} {
		t.Errorf("%+v, %v, %v", aer, s, err)
	}
	x.command(x.tur(), nil)
	w.until("a response", func() bool { return len(x.got) > 1 })
	if len(x.got) > 2 {
		t.Fatal("a second request before the first was answered")
	}
	answer := func(b []byte, n int, err error) {
		if err != nil {
			t.Fatal(err)
		}
		x.send(b[:n])
	}
	b := make([]byte, 64)
	for _, wrong := range []interface{ Encode([]byte) (int, error) }{&srp.AERRsp{Tag: aer.Tag + 1}, &srp.CredRsp{Tag: aer.Tag}} {
		n, err := wrong.Encode(b)
		answer(b, n, err)
	}
	if len(x.got) > 2 {
		t.Fatal("a wrong answer counts")
	}
	n, err := (&srp.AERRsp{Tag: aer.Tag}).Encode(b)
	answer(b, n, err)
	w.until("the next request", func() bool { return len(x.got) > 2 })
	var cred srp.CredReq
	if err := cred.Decode(x.got[2]); err != nil || cred.RequestLimitDelta != -1 {
		t.Fatalf("%+v, %v", cred, err)
	}
	n, err = (&srp.CredRsp{Tag: cred.Tag}).Encode(b)
	answer(b, n, err)
	w.until("the last request", func() bool { return len(x.got) > 3 })
	if err := aer.Decode(x.got[3]); err != nil || aer.LUN != scsi.FlatLUN(300).Bytes() {
		t.Errorf("%+v, %v", aer, err)
	}
	if i := w.theirs(); i.Asked != 3 || i.Unasked != 2 {
		t.Errorf("%+v", i)
	}
	if x.gone {
		t.Error("the channel is gone")
	}
}

// SRP_T_LOGOUT with its reason, and a disconnection without: what is outstanding ends, also what is held back, and
// nothing is left.
func TestFaultLogout(t *testing.T) {
	for _, c := range []struct {
		text  string
		cause srp.DownCause
		why   srp.LogoutReason
	}{
		{"logout=1", srp.CauseTargetLogout, srp.LogoutInactive},
		{"logout=4", srp.CauseTargetLogout, srp.LogoutMultiChannel},
		{"disconnect", srp.CauseDisconnected, 0},
	} {
		for _, how := range []string{"by a command", "at once"} {
			w, _, ch := faulty(t, "delay=1h,op=0x00; late=1h,op=write; ghost=1h,op=read; "+c.text+",op=0x12")
			rs := []*request{w.newRequest(0, nil, srp.NoData).start(ch), w.write(ch, 0), w.read(ch, 4096)}
			if how == "at once" {
				w.do(c.text)
			} else {
				rs = append(rs, w.newRequest(0, []byte{0x12, 0, 0, 0, 36}, srp.DataIn, w.init.segment(0, 36)).start(ch))
			}
			for _, r := range rs {
				if r.end(); r.Outcome != srp.ChannelDown {
					t.Errorf("%s %s: %v", c.text, how, r.Outcome)
				}
			}
			var why *srp.DownError
			w.at(func(f *dispatch.Frame) { why = ch.Err(f) })
			if w.downs != 1 || why == nil || why.Cause != c.cause || why.Logout != c.why {
				t.Errorf("%s %s: %d ends, %v", c.text, how, w.downs, why)
			}
			w.until("the end of the session", func() bool {
				var who []target.Session
				w.drive(func() { who, _ = w.port.Sessions(context.Background()) })
				return len(who) == 0
			})
			// The next login is another session.
			w.faults("")
			w.attentions(w.login(w.config()).Channels()[0], 0)
		}
	}
}

// A channel that is told to go by its initiator answers what it holds back first.
func TestLogoutWaitsForHeld(t *testing.T) {
	w, _, c := faulty(t, "delay=50ms")
	r := w.read(c, 0)
	s := c.Session()
	done := make(chan error, 1)
	go func() { done <- s.Logout(context.Background()) }()
	for range 100 {
		w.p.RunUntilIdle()
	}
	w.p.Advance(50 * time.Millisecond)
	w.drive(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if r.end(); r.Outcome != srp.Completed {
		t.Errorf("%v", r.Outcome)
	}
}

// Logins are refused by the connection manager and for each of SRP's reasons, as often as is said, and only those that
// are meant.
func TestFaultReject(t *testing.T) {
	for reason := srp.RejectUnableEstablish; reason <= srp.RejectChannelLimit; reason++ {
		w := newWorld(t, target.Config{Faults: must(fault.Parse("reject=" + reason.String()[:10] + ",times=1"))}, nil)
		if _, err := w.newRaw().login(rawLogin()); rejected(t, err) != reason {
			t.Errorf("%v: %v", reason, err)
		}
		w.loggedIn()
	}
	w := newWorld(t, target.Config{Faults: must(fault.Parse("stale,skip=1,times=3; redirect,from=" + access.ID(initiator).String() + ",skip=4,times=1"))}, nil)
	other := rawLogin()
	other.Initiator[0]++
	var got []verbs.RejectReason
	for i := range 7 {
		req := rawLogin()
		if i == 0 {
			req = other
		}
		_, err := w.newRaw().login(req)
		var cm *verbs.RejectError
		if errors.As(err, &cm) {
			got = append(got, cm.Reason)
		} else if err != nil {
			t.Error(err)
		} else {
			got = append(got, 0)
		}
	}
	want := []verbs.RejectReason{0, verbs.RejectStale, verbs.RejectStale, verbs.RejectStale, 0, verbs.RejectPortRedirect, 0}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

// Initiators live with small information units: as refused, and as answered.
func TestFaultSmallIU(t *testing.T) {
	for text, most := range map[string]int{"iu-limit=580": 580, "iu-limit=64": 64, "max-iu=100": 100, "max-iu=64": 64} {
		w := newWorld(t, target.Config{Faults: must(fault.Parse(text))}, nil)
		w.attach(0, ram())
		cfg := w.config()
		cfg.ImmediateData = srp.DefaultImmediateData
		s := w.login(cfg)
		if i := s.Info(); i.MaxITIULen > most {
			t.Errorf("%s: information units of %d bytes", text, i.MaxITIULen)
		}
		c := s.Channels()[0]
		w.attentions(c, 0)
		pattern(1, w.init.mem[:4096])
		w.write(c, 0).good()
		w.read(c, 8192).good()
	}
	w := newWorld(t, target.Config{Faults: must(fault.Parse("max-iu=63"))}, nil)
	if _, err := w.tryLogin(w.config()); !errors.Is(err, srp.ErrLoginResponse) {
		t.Errorf("information units of 63 bytes: %v", err)
	}
}

// begin begins to log in. The world runs on meanwhile.
func (x *raw) begin(req *srp.LoginReq) <-chan error {
	b := make([]byte, srp.LoginReqRDMACMLen)
	if _, err := req.EncodeRDMACM(b); err != nil {
		x.w.t.Fatal(err)
	}
	done := make(chan error, 1)
	op := new(verbs.Op[verbs.ConnectReply])
	x.qp.Connect(op, &verbs.ConnectAttr{Address: verbs.Address{Dst: portAddr}, Private: b, ReadsAnswered: 4, RNRRetry: 7, Timeout: time.Minute})
	go func() {
		_, err := op.Wait(context.Background())
		done <- err
	}()
	return done
}

// ended waits for a login that was begun.
func (w *world) ended(done <-chan error) (err error) {
	w.drive(func() { err = <-done })
	return err
}

// A login is answered late. When its initiator has given up, when another of the same initiator follows, and when the
// port is closed, it ends.
func TestFaultLoginDelay(t *testing.T) {
	w := newWorld(t, target.Config{}, nil)
	hold := func(req *srp.LoginReq) <-chan error {
		rs := w.faults("delay=10s,op=login,times=1")
		done := w.newRaw().begin(req)
		w.until("a login to wait", func() bool { return rs.Hits()[0] == 1 })
		w.until("its channel to be built", func() bool {
			d, ok := w.p.NextTimer()
			return ok && d <= 10*time.Second
		})
		return done
	}
	done := hold(rawLogin())
	w.p.Advance(9 * time.Second)
	select {
	case err := <-done:
		t.Fatalf("answered early: %v", err)
	default:
	}
	w.p.Advance(time.Second)
	if err := w.ended(done); err != nil {
		t.Errorf("answered late: %v", err)
	}

	other := rawLogin()
	other.Initiator[0]++
	done = hold(other)
	second := w.newRaw().begin(other)
	if err := w.ended(done); rejected(t, err) != srp.RejectInsufficientResource {
		t.Errorf("another login came: %v", err)
	}
	if err := w.ended(second); err != nil {
		t.Errorf("the other login: %v", err)
	}

	w.faults("delay=2m,op=login")
	other.Initiator[0]++
	done = w.newRaw().begin(other)
	w.until("a login to wait", func() bool {
		w.p.Advance(time.Second)
		return len(done) > 0
	})
	if err := w.ended(done); !errors.Is(err, verbs.ErrTimeout) {
		t.Errorf("nobody answered: %v", err)
	}
	w.p.Advance(2 * time.Minute) // the answer finds nobody
	done = hold(other)
	w.drive(func() {
		if err := w.port.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := w.ended(done); rejected(t, err) != srp.RejectInsufficientResource {
		t.Errorf("the port was closed: %v", err)
	}
}
