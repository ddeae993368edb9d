package scsi

import "encoding/binary"

// CodeSet says how a designator is coded (SPC-5 7.7.6.1).
type CodeSet uint8

const (
	CodeBinary CodeSet = 1
	CodeASCII  CodeSet = 2
	CodeUTF8   CodeSet = 3
)

// Association says what a designator names.
type Association uint8

const (
	NamesUnit   Association = 0 // the logical unit
	NamesPort   Association = 1 // the target port that the command came through
	NamesTarget Association = 2 // the SCSI target device
)

// DesignatorType says what kind of name a designator is (SPC-5 7.7.6).
type DesignatorType uint8

const (
	DesignatorVendor       DesignatorType = 0x0
	DesignatorT10          DesignatorType = 0x1 // T10 vendor identification, then what the vendor likes
	DesignatorEUI64        DesignatorType = 0x2 // 8, 12 or 16 bytes
	DesignatorNAA          DesignatorType = 0x3 // 8 or 16 bytes
	DesignatorRelativePort DesignatorType = 0x4
	DesignatorPortGroup    DesignatorType = 0x5
	DesignatorUnitGroup    DesignatorType = 0x6
	DesignatorMD5          DesignatorType = 0x7
	DesignatorName         DesignatorType = 0x8 // SCSI name string
	DesignatorProtocolPort DesignatorType = 0x9
	DesignatorUUID         DesignatorType = 0xa
)

// ProtocolSRP is the PROTOCOL IDENTIFIER of SRP in designators (SPC-5 7.6.1).
const ProtocolSRP uint8 = 0x4

// Designator is one designation descriptor of the device identification page (83h).
type Designator struct {
	Type        DesignatorType
	CodeSet     CodeSet
	Association Association
	HasProtocol bool  // PIV: Protocol means something
	Protocol    uint8 // PROTOCOL IDENTIFIER, 0–15
	ID          []byte
}

// Append adds the descriptor to b; an ID above 255 bytes is cut there.
func (d *Designator) Append(b []byte) []byte {
	id := d.ID[:min(len(d.ID), 255)]
	b = append(b, d.Protocol<<4|byte(d.CodeSet)&0x0f,
		bit(d.HasProtocol, 7)|byte(d.Association)&3<<4|byte(d.Type)&0x0f, 0, byte(len(id)))
	return append(b, id...)
}

// NextDesignator takes the first descriptor off the body of a device identification page, in place, and
// returns it with the rest. ok is false at the end, or when the descriptor there is cut.
func NextDesignator(body []byte) (d Designator, rest []byte, ok bool) {
	if len(body) < 4 {
		return d, nil, false
	}
	n := 4 + int(body[3])
	if n > len(body) {
		return d, nil, false
	}
	return Designator{
		Type:        DesignatorType(body[1] & 0x0f),
		CodeSet:     CodeSet(body[0] & 0x0f),
		Association: Association(body[1] >> 4 & 3),
		HasProtocol: body[1]&0x80 != 0,
		Protocol:    body[0] >> 4,
		ID:          body[4:n],
	}, body[n:], true
}

// Number returns the number in a relative target port, target port group or logical unit group
// designator, and false for any other type or a wrong length.
func (d *Designator) Number() (n uint16, ok bool) {
	switch d.Type {
	case DesignatorRelativePort, DesignatorPortGroup, DesignatorUnitGroup:
		if len(d.ID) == 4 {
			return binary.BigEndian.Uint16(d.ID[2:4]), true
		}
	}
	return 0, false
}

// AppendNumberDesignator adds a relative target port (RELATIVE TARGET PORT IDENTIFIER, from 1), target
// port group or logical unit group designator to b. The two of ports carry protocol, such as ProtocolSRP.
func AppendNumberDesignator(b []byte, typ DesignatorType, protocol uint8, n uint16) []byte {
	d := Designator{Type: typ, CodeSet: CodeBinary, ID: []byte{0, 0, byte(n >> 8), byte(n)}}
	if typ != DesignatorUnitGroup {
		d.Association, d.HasProtocol, d.Protocol = NamesPort, true, protocol
	}
	return d.Append(b)
}

// AppendT10Designator adds a T10 vendor identification designator of the logical unit to b: vendor, padded
// to 8 bytes, then specific, which must make it unique for that vendor.
func AppendT10Designator(b []byte, vendor, specific string) []byte {
	specific = specific[:min(len(specific), 255-8)]
	var v [8]byte
	fillText(v[:], vendor)
	b = append(b, byte(CodeASCII), byte(DesignatorT10), 0, byte(8+len(specific)))
	b = append(b, v[:]...)
	return append(b, specific...)
}

// AppendNameDesignator adds a SCSI name string designator to b, padded with zeros to a multiple of four as
// the standard wants. A name above 247 bytes is cut there. The name of a port or target carries protocol,
// such as ProtocolSRP.
func AppendNameDesignator(b []byte, a Association, protocol uint8, name string) []byte {
	var id [248]byte
	n := copy(id[:247], name)
	d := Designator{Type: DesignatorName, CodeSet: CodeUTF8, Association: a, ID: id[:(n+4)&^3]}
	if a != NamesUnit {
		d.HasProtocol, d.Protocol = true, protocol
	}
	return d.Append(b)
}

// NAA3 returns a locally assigned NAA name: the low 60 bits of id behind the digit 3. Nobody but the
// administrator keeps such names apart.
func NAA3(id uint64) (b [8]byte) {
	binary.BigEndian.PutUint64(b[:], 3<<60|id&(1<<60-1))
	return b
}

// NAA5 returns an IEEE registered NAA name of the company oui (24 bits): the low 36 bits of id.
func NAA5(oui uint32, id uint64) (b [8]byte) {
	binary.BigEndian.PutUint64(b[:], 5<<60|uint64(oui&0xffffff)<<36|id&(1<<36-1))
	return b
}

// NAA6 returns an IEEE registered extended NAA name of the company oui (24 bits): the low 36 bits of id,
// and 64 bits more.
func NAA6(oui uint32, id, extension uint64) (b [16]byte) {
	binary.BigEndian.PutUint64(b[:8], 6<<60|uint64(oui&0xffffff)<<36|id&(1<<36-1))
	binary.BigEndian.PutUint64(b[8:], extension)
	return b
}
