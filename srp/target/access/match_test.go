package access_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"minisrp/srp"
	"minisrp/srp/target/access"
	"minisrp/verbs"
)

var (
	id   = srp.IOClassR16a.PortID(0xd949560e00000001, 0x0002c90300000002)
	rdma = func(a string) verbs.Address {
		return verbs.Address{Src: netip.MustParseAddrPort(a), Dst: netip.MustParseAddrPort("192.0.2.1:5555")}
	}
	ib = verbs.Address{DGID: verbs.GID{0xfe, 0x80, 8: 0, 2, 0xc9, 3, 0, 0, 0, 9}, PKey: 0xffff, ServiceID: 1}
)

// Each spelling names whom it should, and nobody else.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		text, canonical string
		from            verbs.Address
		want            bool
	}{
		{"*", "*", ib, true},
		{"0xd949560e000000010002c90300000002", "0xd949560e000000010002c90300000002", ib, true},
		{"D949560E000000010002C90300000002", "0xd949560e000000010002c90300000002", rdma("192.0.2.20:1"), true},
		{"d949:560e:0000:0001:0002:c903:0000:0002", "d949:560e:0:1:2:c903:0:2", ib, false}, // an IPv6 address
		{"0xd949560e000000010002c90300000003", "0xd949560e000000010002c90300000003", ib, false},
		{"0002:c903:0000:0002", "0002:c903:0000:0002", rdma("192.0.2.20:1"), true},
		{"2:C903:0:2", "0002:c903:0000:0002", ib, true},
		{"0002:c903:0000:0009", "0002:c903:0000:0009", ib, true}, // of the GID
		{"0002:c903:0000:0009", "0002:c903:0000:0009", rdma("192.0.2.20:1"), false},
		{"192.0.2.20", "192.0.2.20", rdma("192.0.2.20:1"), true},
		{"192.0.2.20", "192.0.2.20", rdma("[::ffff:192.0.2.20]:1"), true},
		{"::ffff:192.0.2.20", "192.0.2.20", rdma("192.0.2.20:1"), true},
		{"192.0.2.20", "192.0.2.20", rdma("192.0.2.21:1"), false},
		{"192.0.2.20", "192.0.2.20", ib, false},
		{"192.0.2.99/24", "192.0.2.0/24", rdma("192.0.2.20:1"), true},
		{"192.0.2.0/29", "192.0.2.0/29", rdma("192.0.2.7:1"), true},
		{"192.0.2.0/29", "192.0.2.0/29", rdma("192.0.2.8:1"), false},
		{"0.0.0.0/0", "0.0.0.0/0", rdma("192.0.2.8:1"), true},
		{"0.0.0.0/0", "0.0.0.0/0", rdma("[2001:db8::1]:1"), false},
		{"::/0", "::/0", rdma("192.0.2.8:1"), true},
		{"2001:db8::/32", "2001:db8::/32", rdma("[2001:db8:1::2]:1"), true},
		{"2001:db8::/33", "2001:db8::/33", rdma("[2001:db8:8000::2]:1"), false},
		{"fe80::/10", "fe80::/10", ib, true},
	} {
		m, err := access.Parse(c.text)
		if err != nil || m.String() != c.canonical {
			t.Errorf("%s: %v, %v; want %s", c.text, m, err, c.canonical)
			continue
		}
		if again, err := access.Parse(m.String()); err != nil || again != m {
			t.Errorf("%s read again: %v, %v", m, again, err)
		}
		if got := m.Matches(id, c.from); got != c.want {
			t.Errorf("%s names %v from %v: %v", c.text, id, c.from, got)
		}
		var alloc access.Match
		if n := testing.AllocsPerRun(10, func() { alloc = m; alloc.Matches(id, c.from) }); n != 0 {
			t.Errorf("%s: %v allocations", c.text, n)
		}
	}
}

func TestNamesNobody(t *testing.T) {
	for _, s := range []string{"", "**", "me", "0x12", "1:2:3", "1:2:3:4:5", "1:2:3:12345", "1:2:3:g", "192.0.2", "192.0.2.1/33", "fe80::1%eth0", ":::"} {
		if m, err := access.Parse(s); !errors.Is(err, access.ErrMatch) || !strings.Contains(err.Error(), "want") {
			t.Errorf("%q: %v, %v", s, m, err)
		}
	}
	if (access.Match{}).Matches(id, ib) || access.Any(nil, id, ib) {
		t.Error("nobody is somebody")
	}
}

// What Spellings says names the initiator.
func TestSpellings(t *testing.T) {
	for _, from := range []verbs.Address{ib, rdma("192.0.2.20:1"), rdma("[2001:db8::7]:1"), rdma("[::ffff:192.0.2.20]:1")} {
		for _, s := range access.Spellings(id, from) {
			if m, err := access.Parse(s); err != nil || !m.Matches(id, from) {
				t.Errorf("%s from %v: %v, %v", s, from, m, err)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"*", "192.0.2.0/24", "1:2:3:4", "::1", "0x" + strings.Repeat("1", 32)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := access.Parse(s)
		if err != nil {
			return
		}
		if again, err := access.Parse(m.String()); err != nil || again != m {
			t.Fatalf("%q is %s, read again %s, %v", s, m, again, err)
		}
	})
}

func ExampleParse() {
	m, err := access.Parse("192.0.2.0/24")
	if err != nil {
		panic(err)
	}
	from := verbs.Address{Src: netip.MustParseAddrPort("192.0.2.20:34567"), Dst: netip.MustParseAddrPort("192.0.2.1:5555")}
	fmt.Println(m, m.Matches(srp.IOClassR16a.PortID(0, 2), from))
	// Output: 192.0.2.0/24 true
}
