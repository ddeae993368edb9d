package access

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"minisrp/srp"
	"minisrp/verbs"
)

// ErrMatch says that a text names no initiator. The caller corrects it.
var ErrMatch = errors.New("names no initiator")

// kind is what a Match looks at.
type kind uint8

const (
	kindNone kind = iota
	kindAll
	kindID
	kindGUID
	kindAddr
)

// Match names one initiator or several. The zero value names none. Matches can be compared with ==.
type Match struct {
	kind kind
	id   srp.PortID   // kindID
	guid uint64       // kindGUID
	net  netip.Prefix // kindAddr: masked; an IPv4 prefix as such

	// The same as a GID has it: IPv4 as IPv4-mapped.
	gid  verbs.GID
	bits int
}

// All names everybody.
func All() Match { return Match{kind: kindAll} }

// ID names the initiator port with an identifier.
func ID(id srp.PortID) Match { return Match{kind: kindID, id: id} }

// GUID names initiator ports by the second half of their identifier, or of their source GID.
func GUID(guid uint64) Match { return Match{kind: kindGUID, guid: guid} }

// Net names whoever logs in from an address of a prefix.
func Net(p netip.Prefix) Match {
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	m := Match{kind: kindAddr, net: p.Masked(), bits: p.Bits()}
	if m.gid = m.net.Addr().As16(); p.Addr().Is4() {
		m.bits += 96
	}
	return m
}

// Parse reads a Match in one of its spellings. Errors: ErrMatch.
func Parse(s string) (Match, error) {
	if s == "*" {
		return All(), nil
	}
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return Net(netip.PrefixFrom(a, a.BitLen())), nil
	}
	if p, err := netip.ParsePrefix(s); err == nil {
		return Net(p), nil
	}
	if g, ok := parseGUID(s); ok {
		return GUID(g), nil
	}
	if id, err := srp.ParsePortID(s); err == nil {
		return ID(id), nil
	}
	return Match{}, fmt.Errorf("%q %w: want an initiator port identifier of 32 hexadecimal digits, a GUID as in 0002:c903:0000:0002, "+
		"an IP address or prefix, or *", s, ErrMatch)
}

// parseGUID reads four groups of up to four hexadecimal digits.
func parseGUID(s string) (guid uint64, ok bool) {
	groups := strings.Split(s, ":")
	if len(groups) != 4 {
		return 0, false
	}
	for _, g := range groups {
		v, err := strconv.ParseUint(g, 16, 16)
		if err != nil || len(g) > 4 {
			return 0, false
		}
		guid = guid<<16 | v
	}
	return guid, true
}

// String returns what Parse reads.
func (m Match) String() string {
	switch m.kind {
	case kindAll:
		return "*"
	case kindID:
		return m.id.String()
	case kindGUID:
		return GUIDText(m.guid)
	case kindAddr:
		if m.net.IsSingleIP() {
			return m.net.Addr().String()
		}
		return m.net.String()
	}
	return "nobody"
}

// GUIDText spells a GUID as a Match does.
func GUIDText(g uint64) string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", g>>48, g>>32&0xffff, g>>16&0xffff, g&0xffff)
}

// MarshalText returns what String returns.
func (m Match) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText is Parse.
func (m *Match) UnmarshalText(b []byte) (err error) {
	*m, err = Parse(string(b))
	return err
}

// Matches reports whether m names the initiator port with an identifier that logs in from an address, as
// verbs.ConnectRequest.Peer gives it.
func (m Match) Matches(id srp.PortID, from verbs.Address) bool {
	switch m.kind {
	case kindAll:
		return true
	case kindID:
		return m.id == id
	case kindGUID:
		return m.guid == binary.BigEndian.Uint64(id[8:]) || !from.IsRDMA() && m.guid == binary.BigEndian.Uint64(from.DGID[8:])
	case kindAddr:
		gid := from.DGID
		if from.IsRDMA() {
			gid = from.Src.Addr().As16()
		}
		return samePrefix(m.gid, gid, m.bits)
	}
	return false
}

// samePrefix compares the first bits.
func samePrefix(a, b verbs.GID, bits int) bool {
	for i := 0; i < 16 && bits > 0; i, bits = i+1, bits-8 {
		mask := byte(0xff)
		if bits < 8 {
			mask <<= 8 - bits
		}
		if (a[i]^b[i])&mask != 0 {
			return false
		}
	}
	return true
}

// Any reports whether one of the matches names the initiator port.
func Any(ms []Match, id srp.PortID, from verbs.Address) bool {
	for i := range ms {
		if ms[i].Matches(id, from) {
			return true
		}
	}
	return false
}

// Spellings returns the texts that name an initiator port and nothing wider, the narrowest first: what to write in a
// list so that it may log in.
func Spellings(id srp.PortID, from verbs.Address) []string {
	s := []string{id.String(), GUIDText(binary.BigEndian.Uint64(id[8:]))}
	if from.IsRDMA() {
		return append(s, from.Src.Addr().Unmap().String())
	}
	if g := GUIDText(binary.BigEndian.Uint64(from.DGID[8:])); g != s[1] {
		s = append(s, g)
	}
	return s
}
