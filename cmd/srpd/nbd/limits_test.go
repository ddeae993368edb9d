package nbd_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
)

// What one client may have does not depend on what others have, and the other way round.
func TestClientLimits(t *testing.T) {
	d := ram(t, nbdtest.Disk(mib))
	cred := newCredentials(t)
	s := serve(t, nbd.Config{
		ConnMemory: 2 * mib, ClientMemory: 5 * mib, MaxClientConns: 3, TLS: nbd.TLSOn, Credentials: cred.load(t, false),
	}, nbd.Export{Name: "x", Backend: d})
	addr := s.listenTCP(t)
	a, b := s.dial(t), s.dial(t)
	a.enter("x", simple)
	b.enter("x", simple)
	c := s.dial(t)
	c.greet(3)
	c.option(7, uint32(1), "x", uint16(0))
	if text := c.wantReply(7, 1<<31+2); !strings.Contains(string(text), "of the client") {
		t.Errorf("beyond the client's memory: %q", text)
	}
	s.dial(t).eof()
	eventually(t, "the fourth is refused", func() bool { return s.Stats().Refused == 1 })
	// Another client.
	o := dialTCP(t, addr)
	o.enter("x", simple)
	// A request that needs more memory than the client may have.
	o.request(0, write, 1, 0, 3*mib)
	o.send(make([]byte, 3*mib))
	o.want(28, 1) // beyond the end comes first
	// TLS takes memory too.
	for range 2 {
		k := dialTCP(t, addr)
		k.greet(3)
		if err := k.startTLS(cred.config(t, false)); err != nil {
			t.Fatal(err)
		}
		k.option(3)
		k.reply(3)
	}
	eventually(t, "the memory of TLS counts", func() bool { return s.Stats().Memory > 6*mib })
	a.request(0, disc, 0, 0, 0)
	a.eof()
	eventually(t, "what one leaves the next can have", func() bool {
		c.option(7, uint32(1), "x", uint16(0))
		for {
			switch kind, _ := c.reply(7); kind {
			case 1:
				return true
			case 3:
			default:
				return false
			}
		}
	})
}

// A long read whose reply has no chunks needs memory of its own, which a client may not have; other requests do not.
func TestClientMemoryOfLargeRequest(t *testing.T) {
	d, other := ram(t, nbdtest.Disk(64*mib)), ram(t, nbdtest.Disk(64*mib))
	s := serve(t, nbd.Config{ConnMemory: 2 * mib, ClientMemory: 4 * mib}, nbd.Export{Backend: d})
	k := s.dial(t)
	k.enter("", simple)
	k.request(0, read, 1, 0, 4*mib)
	k.want(12, 1)
	k.request(0, write, 2, 0, 4*mib, make([]byte, 4*mib))
	k.want(0, 2)
	k.request(0, read, 3, 0, 4096)
	k.wantData(4096, 3)
	// What one client has grown another gets smaller.
	big := serve(t, nbd.Config{ConnMemory: 2 * mib, ClientMemory: 40 * mib}, nbd.Export{Backend: other})
	a := big.dial(t)
	a.enter("", simple)
	a.request(0, read, 1, 0, 4*mib)
	a.wantData(4*mib, 1)
	a.request(0, disc, 0, 0, 0)
	a.eof()
	eventually(t, "it has left", func() bool { return big.Stats().Connections == 0 })
	for range 3 {
		big.dial(t).enter("", simple)
	}
	if m := big.Stats().Memory; m > 40*mib {
		t.Errorf("%d bytes", m)
	}
}

func TestAccess(t *testing.T) {
	addr := netip.MustParseAddr
	unix := nbd.Client{Unix: true, UID: 1000, PID: 7}
	tcp := nbd.Client{UID: -1, Addr: addr("192.0.2.7")}
	for _, c := range []struct {
		rules  string
		client nbd.Client
		want   bool
	}{
		{"", unix, true}, {"", tcp, true},
		{"unix", unix, true}, {"unix", tcp, false},
		{"uid=1000", unix, true}, {"uid=1001", unix, false}, {"uid=1000", tcp, false},
		{"uid=0", nbd.Client{Unix: true, UID: -1}, false},
		{"net=192.0.2.0/24", tcp, true}, {"net=192.0.2.99/24", tcp, true}, {"net=192.0.2.7", tcp, true},
		{"net=198.51.100.0/24", tcp, false}, {"net=0.0.0.0/0", unix, false},
		{"net=198.51.100.0/24 net=192.0.2.0/24", tcp, true},
		{"net=2001:db8::/32", nbd.Client{Addr: addr("2001:db8::1")}, true},
		{"net=fe80::/10", nbd.Client{Addr: addr("fe80::1%eth0")}, true},
		{"net=::ffff:192.0.2.7", tcp, true},
		{"tls", tcp, false}, {"tls", nbd.Client{TLS: true}, true},
		{"tls=a", nbd.Client{TLS: true}, false}, {"tls=a", nbd.Client{TLS: true, Name: "a"}, true},
		{"net=192.0.2.0/24,tls=a", nbd.Client{TLS: true, Name: "a", Addr: addr("198.51.100.1")}, false},
		{"net=192.0.2.0/24,tls=a", nbd.Client{TLS: true, Name: "a", Addr: addr("192.0.2.1")}, true},
		{"unix,tls", unix, false},
	} {
		a, err := nbd.ParseAccess(strings.Fields(c.rules))
		if err != nil || a.Allows(c.client) != c.want {
			t.Errorf("%q, %v: %t, %v", c.rules, c.client, a.Allows(c.client), err)
		}
		if a.String() != c.rules {
			t.Errorf("%q is %q", c.rules, a.String())
		}
	}
	for _, bad := range []string{"", "uid", "uid=x", "uid=-1", "net=", "net=192.0.2.0/99", "net=host", "tls=", "unix=1", "unix,net=192.0.2.1", "gid=3"} {
		if _, err := nbd.ParseAccess([]string{bad}); err == nil || !strings.Contains(err.Error(), "access rule") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// An export that a client may not use does not exist for it.
func TestAccessHides(t *testing.T) {
	only := func(rule string) nbd.Access {
		a, err := nbd.ParseAccess([]string{rule})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	s := serve(t, nbd.Config{},
		nbd.Export{Name: "all", Backend: ram(t, nbdtest.Disk(mib))},
		nbd.Export{Name: "net", Backend: ram(t, nbdtest.Disk(mib)), Access: only("net=127.0.0.0/8")},
		nbd.Export{Name: "unix", Backend: ram(t, nbdtest.Disk(mib)), Access: only("unix")})
	addr := s.listenTCP(t)
	for _, c := range []struct {
		k    *client
		sees []string
		not  string
	}{{s.dial(t), []string{"all", "unix"}, "net"}, {dialTCP(t, addr), []string{"all", "net"}, "unix"}} {
		k := c.k
		k.greet(3)
		k.option(3)
		for _, name := range c.sees {
			if d := k.wantReply(3, 2); string(d[4:]) != name {
				t.Errorf("LIST gives %q, want %q", d[4:], name)
			}
		}
		k.wantReply(3, 1)
		for _, opt := range []uint32{6, 7} {
			k.option(opt, uint32(len(c.not)), c.not, uint16(0))
			k.wantReply(opt, 1<<31+6)
		}
		k.agree(structured)
		k.option(9, uint32(len(c.not)), c.not, uint32(0))
		k.wantReply(9, 1<<31+6)
		k.start(c.sees[1])
	}
}

// A connection with nothing to do for long enough is ended; one whose request takes long is not.
func TestIdle(t *testing.T) {
	d := ram(t, nbdtest.Disk(mib), nbdtest.Async())
	s := serve(t, nbd.Config{IdleTimeout: 60 * time.Millisecond}, nbd.Export{Backend: d})
	idle, busy := s.dial(t), s.dial(t)
	start := time.Now() // not later than the client is idle
	idle.enter("", simple)
	busy.enter("", simple)
	d.Hold()
	busy.request(0, read, 1, 0, 512)
	idle.eof()
	if took := time.Since(start); took < 50*time.Millisecond {
		t.Errorf("ended after %v", took)
	}
	eventually(t, "it is logged", func() bool { return strings.Contains(s.log.String(), "idle") })
	d.Release()
	busy.wantData(512, 1)
	busy.eof()
}

// A disk that has another size: clients that come see it, those that are there are told by errors only.
func TestResize(t *testing.T) {
	info := nbdtest.Disk(mib)
	d := ram(t, info)
	s := serve(t, nbd.Config{}, nbd.Export{Name: "x", Backend: d}, nbd.Export{Name: "alias", Backend: d})
	old := s.dial(t)
	old.enter("x", structured)
	small := info
	small.Size = mib / 2
	d.SetInfo(small)
	eventually(t, "a client has been told otherwise", func() bool { return s.Changed(d) == 1 })
	if size, _ := s.dial(t).enter("alias", simple); size != mib/2 {
		t.Errorf("a new client sees %d bytes", size)
	}
	old.request(0, read, 1, mib/2, 512)
	old.want(22, 1)
	old.request(0, write, 2, mib/2, 512, make([]byte, 512))
	old.want(28, 2)
	old.request(0, read, 3, 0, 512)
	old.wantData(512, 3)
	// Larger than it was: what an old client was told is still its limit.
	d.SetInfo(info)
	eventually(t, "the other has been told otherwise", func() bool { return s.Changed(d) == 1 })
	old.request(0, read, 4, mib/2, 512)
	old.wantData(512, 4)
	// No capacity at all: there is nothing to enter.
	none := info
	none.Size = 0
	d.SetInfo(none)
	k := s.dial(t)
	k.greet(3)
	k.option(7, uint32(1), "x", uint16(0))
	if text := k.wantReply(7, 1<<31+2); !strings.Contains(string(text), "capacity of 0") {
		t.Errorf("%q", text)
	}
	e := s.dial(t)
	e.greet(3)
	e.option(1, "x")
	e.eof()
	d.SetInfo(info)
}
