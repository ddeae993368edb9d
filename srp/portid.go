package srp

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// PortID is an SRP initiator or target port identifier (SRP r16a annex B): 128 bits that a login
// carries as they are, and that name one end of an I_T nexus. On InfiniBand and RoCE it is made of an identifier
// extension and a GUID, in an order that the IOClass tells.
type PortID [16]byte

// IOClass is the I/O class in a target's device management profile; the login option io_class. It tells which
// revision of SRP the target follows.
type IOClass uint16

const (
	IOClassR16a IOClass = 0x0100 // SRP r16a and the standard: extension first, then GUID
	IOClassR10  IOClass = 0xff00 // SRP r10: GUID first, then extension
)

func (c IOClass) String() string {
	switch c {
	case IOClassR16a:
		return "0x0100 (SRP r16a)"
	case IOClassR10:
		return "0xff00 (SRP r10)"
	}
	return fmt.Sprintf("0x%04x (unknown I/O class)", uint16(c))
}

// PortID puts an identifier extension (id_ext, initiator_ext) and a GUID (ioc_guid; the initiator port's GUID) in
// the order of the class. An unknown class counts as r16a.
func (c IOClass) PortID(ext, guid uint64) PortID {
	if c == IOClassR10 {
		ext, guid = guid, ext
	}
	var p PortID
	binary.BigEndian.PutUint64(p[:8], ext)
	binary.BigEndian.PutUint64(p[8:], guid)
	return p
}

// Split is PortID's inverse.
func (c IOClass) Split(p PortID) (ext, guid uint64) {
	ext, guid = binary.BigEndian.Uint64(p[:8]), binary.BigEndian.Uint64(p[8:])
	if c == IOClassR10 {
		ext, guid = guid, ext
	}
	return ext, guid
}

// String returns 0x and 32 hexadecimal digits, as Linux targets name an initiator in an access control list.
func (p PortID) String() string { return "0x" + hex.EncodeToString(p[:]) }

// MarshalText returns what String returns.
func (p PortID) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParsePortID.
func (p *PortID) UnmarshalText(text []byte) error {
	id, err := ParsePortID(string(text))
	if err != nil {
		return err
	}
	*p = id
	return nil
}

// ParsePortID reads a port identifier of exactly 32 hexadecimal digits, with or without 0x in front, and with or
// without colons between the bytes (as in /sys/class/srp_remote_ports/*/port_id) or groups.
func ParsePortID(s string) (PortID, error) {
	digits := s
	if len(digits) >= 2 && (digits[:2] == "0x" || digits[:2] == "0X") {
		digits = digits[2:]
	}
	var p PortID
	b, err := hex.DecodeString(strings.ReplaceAll(digits, ":", ""))
	if err != nil || len(b) != len(p) {
		return p, fmt.Errorf("srp: port ID %q: want 32 hexadecimal digits, as in 0x%032x or with colons between", s, 1)
	}
	copy(p[:], b)
	return p, nil
}
