package nbd

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Access says which clients an export is for. To others it does not exist. The zero value is for everybody.
//
// Ownership: a value, not changed after ParseAccess.
type Access struct {
	rules []rule
}

// rule lets those clients in for whom all its parts hold.
type rule struct {
	text string
	unix bool
	uid  int // -1: any
	net  netip.Prefix
	tls  bool
	name string // with tls; "": any
}

// ParseAccess reads rules, each of which lets some clients in; none lets everybody in. A rule is one of
//
//	uid=1000              a user of this machine, over a unix socket
//	unix                  anybody over a unix socket
//	net=192.0.2.0/24      an address or network, over TCP
//	tls                   over TLS
//	tls=NAME              over TLS, with a verified certificate of that common name, or a pre-shared key of that identity
//
// or several of them joined by commas, which must all hold: net=192.0.2.0/24,tls=backup.
func ParseAccess(rules []string) (Access, error) {
	var a Access
	for _, text := range rules {
		r := rule{text: text, uid: -1}
		for _, part := range strings.Split(text, ",") {
			if err := r.add(strings.TrimSpace(part)); err != nil {
				return Access{}, fmt.Errorf("access rule %q: %w", text, err)
			}
		}
		a.rules = append(a.rules, r)
	}
	return a, nil
}

// add reads a part of a rule.
func (r *rule) add(part string) (err error) {
	key, value, given := strings.Cut(part, "=")
	switch {
	case key == "unix" && !given:
		r.unix = true
	case key == "uid":
		r.unix = true
		if r.uid, err = strconv.Atoi(value); err != nil || r.uid < 0 {
			return fmt.Errorf("uid is %q, want a number", value)
		}
	case key == "net":
		if a, err := netip.ParseAddr(value); err == nil {
			r.net = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen())
		} else if r.net, err = netip.ParsePrefix(value); err != nil {
			return fmt.Errorf("net is %q, want an address or ADDRESS/BITS", value)
		}
		r.net = r.net.Masked()
	case key == "tls" && !given:
		r.tls = true
	case key == "tls" && value != "":
		r.tls, r.name = true, value
	default:
		return fmt.Errorf("%q is none of uid=, unix, net=, tls, tls=", part)
	}
	if r.unix && r.net.IsValid() {
		return fmt.Errorf("no client has an address and comes over a unix socket")
	}
	return nil
}

// Allows reports whether a client may know of the export.
func (a Access) Allows(c Client) bool {
	return len(a.rules) == 0 || slices.ContainsFunc(a.rules, func(r rule) bool { return r.holds(c) })
}

func (r *rule) holds(c Client) bool {
	switch {
	case r.unix && !c.Unix, r.uid >= 0 && r.uid != c.UID:
		return false
	case r.net.IsValid() && (c.Unix || !r.net.Contains(c.Addr.WithZone(""))):
		return false
	case r.tls && !c.TLS, r.name != "" && r.name != c.Name:
		return false
	}
	return true
}

// String returns the rules as ParseAccess reads them.
func (a Access) String() string {
	var all []string
	for _, r := range a.rules {
		all = append(all, r.text)
	}
	return strings.Join(all, " ")
}
