package path

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minisrp/scsi/disk"
	"minisrp/srp"
	"minisrp/srp/target"
	"minisrp/srp/target/access"
	"minisrp/srp/target/fault"
	"minisrp/test/rig"
	"minisrp/verbs"
)

// withFaults is a rig whose target has faults from the beginning.
func withFaults(t *testing.T, text string) rig.Config {
	return rig.Config{Target: func(c *target.Config) { c.Faults = rules(t, text) }}
}

// act does something to the channels of the target.
func (b *bed) act(text string) {
	b.t.Helper()
	a, err := fault.ParseAction(text)
	if err != nil {
		b.t.Fatal(err)
	}
	if n, err := b.Target.Do(b.t.Context(), access.All(), a); err != nil || n == 0 {
		b.t.Fatalf("%s: done to %d channels, %v", text, n, err)
	}
	synctest.Wait()
}

// A login that is refused, or not answered, ends with an error that says why and what to do; one that is refused for a
// while, or answered late, succeeds.
func TestFaultyLogin(t *testing.T) {
	for _, c := range []struct {
		faults   string
		from, to time.Duration
		want     error  // nil: logged in
		advice   string // of a RejectError
	}{
		{"stale,times=3", 0, time.Second, nil, ""},
		{"stale", 0, time.Second, &verbs.RejectError{Reason: verbs.RejectStale}, "old one"},
		{"redirect", 0, time.Second, &verbs.RejectError{Reason: verbs.RejectPortRedirect}, "log in there"},
		{"cm-reject=3", 0, time.Second, &verbs.RejectError{Reason: verbs.RejectNoResources}, "lower ch_count"},
		{"reject=0x00010003", 0, time.Second, &verbs.RejectError{Reason: verbs.RejectConsumer}, "compare id_ext"},
		{"reject=0x00010001,times=1", 0, time.Second, &verbs.RejectError{Reason: verbs.RejectConsumer}, "try again later"},
		{"reject=0x00010002,times=2", 0, time.Second, nil, ""}, // asks for less each time
		{"reject=0x00010004,times=1", 0, time.Second, nil, ""},
		{"delay=3s,op=login", 3 * time.Second, 3 * time.Second, nil, ""},
		{"delay=1h,op=login,times=1", time.Second, 2 * time.Minute, verbs.ErrTimeout, ""},
		{"max-iu=10", 0, time.Second, srp.ErrLoginResponse, ""},
	} {
		t.Run(c.faults, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				r, err := rig.New(t.Context(), withFaults(t, c.faults))
				took := time.Since(begun)
				if err == nil {
					closeRig(t, r)
				}
				if took < c.from || took > c.to {
					t.Errorf("took %v, want %v to %v", took, c.from, c.to)
				}
				var cm, wantCM *verbs.RejectError
				var rej *srp.RejectError
				switch {
				case errors.As(c.want, &wantCM):
					if !errors.As(err, &cm) || cm.Reason != wantCM.Reason || !errors.As(err, &rej) || !strings.Contains(rej.Advice(), c.advice) {
						t.Errorf("%v, want %v with %q", err, c.want, c.advice)
					}
				case !errors.Is(err, c.want) || c.want == nil && err != nil:
					t.Errorf("%v, want %v", err, c.want)
				}
			})
		})
	}
}

// While a target refuses to take its initiator back, I/O is held: for a while, to go on when it does; after that it
// fails, cleanly, until the target is back.
func TestFaultyReconnect(t *testing.T) {
	for _, how := range []string{"reject=0x00010001", "stale", "cm-reject=8", "redirect"} {
		t.Run(how, func(t *testing.T) {
			inBed(t, rig.Config{}, func(b *bed) {
				b.faults("disconnect,times=1; " + how + ",times=6")
				took, err := b.took(b.request(disk.Write))
				if err != nil || took == 0 {
					t.Errorf("refused six times: took %v, %v", took, err)
				}
				b.whole()
				b.faults("logout=0,times=1; " + how)
				took, err = b.took(b.request(disk.Read))
				if !errors.Is(err, disk.ErrGone) || took < 30*time.Second || took > 3*time.Minute {
					t.Errorf("refused for ever: took %v, %v", took, err)
				}
				if took, err := b.took(b.request(disk.Read)); !errors.Is(err, disk.ErrGone) || took != 0 {
					t.Errorf("after that: took %v, %v", took, err)
				}
				b.faults("")
				after(3 * time.Minute)
				b.whole()
			})
		})
	}
}

// A target that does not answer logins any more.
func TestFaultySilence(t *testing.T) {
	inBed(t, rig.Config{}, func(b *bed) {
		b.faults("disconnect,times=1; delay=1h,op=login")
		took, err := b.took(b.request(disk.Read))
		if !errors.Is(err, disk.ErrGone) || took < 30*time.Second || took > 3*time.Minute {
			t.Errorf("took %v, %v", took, err)
		}
		b.faults("")
		after(3 * time.Minute)
		b.whole()
	})
}

// A target that loses credits with its responses until none is left: nothing can be sent any more, not even an abort.
// The session is made anew, and has new ones.
func TestFaultCreditsRunOut(t *testing.T) {
	inBed(t, withFaults(t, "credits=3"), func(b *bed) {
		b.faults("lose,leak,times=3")
		if took, err := b.took(b.request(disk.Read)); !errors.Is(err, disk.ErrTimeout) || took > 3*time.Minute {
			t.Errorf("took %v, %v", took, err)
		}
		b.whole()
		if b.Path.Logins() != 2 {
			t.Errorf("%d logins", b.Path.Logins())
		}
	})
}

// Sessions are logged out and disconnected while nothing is under way: they come back by themselves.
func TestFaultIdleLogout(t *testing.T) {
	for _, text := range []string{"logout=0", "logout=1", "disconnect"} {
		inBed(t, rig.Config{}, func(b *bed) {
			b.act(text)
			after(time.Second)
			if b.Path.Logins() != 2 || b.Path.State().String() != "up" {
				t.Errorf("%s: %d logins, %s", text, b.Path.Logins(), b.Path.State())
			}
			if took, err := b.took(b.request(disk.Read)); err != nil || took != 0 {
				t.Errorf("%s: took %v, %v", text, took, err)
			}
			b.whole()
		})
	}
}

// Whatever a target does with credits and information units, and whatever goes wrong by chance: what a disk holds is
// what it was told to hold, and every request succeeds in the end.
func TestFaultsByChance(t *testing.T) {
	commands := "seed=5; delay=20ms,p=0.1; late=20ms,p=0.1; lose,p=0.02; duplicate,p=0.1; status=busy,p=0.05; " +
		"status=task-set-full,p=0.05; sense=6/2900,p=0.05; residual=512,p=0.03; ghost=40s,p=0.02; sense=b/4b00,p=0.02"
	for name, c := range map[string]struct {
		login, faults string
		protect       srp.Protect
	}{
		"credits":   {login: "credits=2", faults: "seed=3; cred-req=7,p=0.2; cred-req=-5,p=0.2; withhold=3,p=0.2; aer=2a09,p=0.1"},
		"one":       {login: "credits=1", faults: "cred-req=1,p=0.1; cred-req=-1,p=0.1"},
		"64 bytes":  {login: "iu-limit=64"},
		"80 bytes":  {login: "iu-limit=80"},
		"960 bytes": {login: "iu-limit=960"},
		"answer":    {login: "max-iu=100"},
		"commands":  {faults: commands},
		"bounce":    {faults: commands, protect: srp.ProtectBounce},
		"region":    {faults: commands, protect: srp.ProtectRegion},
		"sessions": {faults: "seed=7; disconnect,p=0.02; logout=1,p=0.02; delay=50ms,p=0.1; stale,p=0.3; reject=0x00010001,p=0.3; " +
			"delay=1s,op=login,p=0.3; credits=2,p=0.5; lose,op=abort,p=0.3; late=31s,p=0.02,stubborn"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := withFaults(t, c.login)
			cfg.Protect = c.protect
			inBed(t, cfg, func(b *bed) {
				var hits uint64
				rs := b.faults(c.login + ";" + c.faults)
				compare(b.t, b.Rig, bedSize)
				for _, n := range rs.Hits() {
					hits += n
				}
				if c.faults != "" && hits == 0 {
					t.Error("nothing went wrong")
				}
				t.Logf("%s: hits %v, %d logins", rs, rs.Hits(), b.Path.Logins())
				b.whole()
			})
		})
	}
}
