package scsi

import "encoding/binary"

// AppendReserveHeader adds what all PERSISTENT RESERVE IN data but the capabilities begin with (SPC-5 6.16.2): the
// generation, and how many bytes follow.
func AppendReserveHeader(b []byte, generation, length uint32) []byte {
	return appendUint32(appendUint32(b, generation), length)
}

// ParseReserveHeader decodes the header. body is what is there of the bytes that it says follow, all of it if
// whole; it lies in b. Errors: ErrShort.
func ParseReserveHeader(b []byte) (generation uint32, body []byte, whole bool, err error) {
	if len(b) < 8 {
		return 0, nil, false, errReserveData
	}
	n := uint64(binary.BigEndian.Uint32(b[4:]))
	body = b[8:]
	if whole = n <= uint64(len(body)); whole {
		body = body[:n]
	}
	return binary.BigEndian.Uint32(b), body, whole, nil
}

// AppendKey adds a key to READ KEYS data.
func AppendKey(b []byte, key uint64) []byte { return appendUint64(b, key) }

// ParseKeys calls yield with each key in the body of READ KEYS data, until it returns false.
func ParseKeys(body []byte, yield func(key uint64) bool) {
	for ; len(body) >= 8 && yield(binary.BigEndian.Uint64(body)); body = body[8:] {
	}
}

// ReservationLength is the length of a Reservation, in bytes.
const ReservationLength = 16

// Reservation is the body of READ RESERVATION data (SPC-5 6.16.3.2), which is empty where there is none.
type Reservation struct {
	Key   uint64 // of the holder; 0 if all who are registered hold it
	Scope uint8
	Type  ReservationType
}

// Append adds the descriptor to b.
func (r *Reservation) Append(b []byte) []byte {
	return append(appendUint64(b, r.Key), 0, 0, 0, 0, 0, r.Scope<<4|byte(r.Type&0xf), 0, 0)
}

// ParseReservation decodes the body of READ RESERVATION data. Errors: ErrShort.
func ParseReservation(body []byte) (r Reservation, err error) {
	if len(body) < ReservationLength {
		return r, errReserveData
	}
	return Reservation{binary.BigEndian.Uint64(body), body[13] >> 4, ReservationType(body[13] & 0xf)}, nil
}

// FullStatus is one descriptor of READ FULL STATUS data (SPC-5 6.16.5), of an SRP initiator port.
type FullStatus struct {
	Key       uint64
	AllPorts  bool // ALL_TG_PT: registered at all target ports, and Relative means nothing
	Holder    bool // R_HOLDER: Scope and Type are the reservation's
	Scope     uint8
	Type      ReservationType
	Relative  uint16 // RELATIVE TARGET PORT IDENTIFIER
	Initiator [16]byte
}

// FullStatusLength is the length of a FullStatus, in bytes.
const FullStatusLength = 24 + SRPTransportIDLength

// Append adds the descriptor to b.
func (s *FullStatus) Append(b []byte) []byte {
	b = append(appendUint64(b, s.Key), 0, 0, 0, 0, bit(s.AllPorts, 1)|bit(s.Holder, 0), s.Scope<<4|byte(s.Type&0xf), 0, 0, 0, 0)
	return AppendSRPTransportID(appendUint32(appendUint16(b, s.Relative), SRPTransportIDLength), s.Initiator)
}

// NextFullStatus decodes the descriptor that b begins with, and returns what is behind it. Errors: ErrShort, ErrFormat
// for that of another protocol.
func NextFullStatus(b []byte) (s FullStatus, rest []byte, err error) {
	if len(b) < 24 {
		return s, nil, errReserveData
	}
	n := uint64(binary.BigEndian.Uint32(b[20:]))
	if n > uint64(len(b)-24) {
		return s, nil, errReserveData
	}
	s = FullStatus{
		Key: binary.BigEndian.Uint64(b), AllPorts: b[12]&2 != 0, Holder: b[12]&1 != 0,
		Scope: b[13] >> 4, Type: ReservationType(b[13] & 0xf), Relative: binary.BigEndian.Uint16(b[18:]),
	}
	if s.Initiator, _, err = NextTransportID(b[24 : 24+n]); err != nil {
		return FullStatus{}, nil, err
	}
	return s, b[24+n:], nil
}

// ReserveCapabilities is REPORT CAPABILITIES data (SPC-5 6.16.4).
type ReserveCapabilities struct {
	ReplaceLost   bool   // RLR_C
	Compatible    bool   // CRH: RESERVE and RELEASE of SPC-2 do no harm where a persistent reservation allows
	Specified     bool   // SIP_C: SPEC_I_PT
	AllPorts      bool   // ATP_C: ALL_TG_PT
	PersistCan    bool   // PTPL_C: APTPL
	PersistIs     bool   // PTPL_A: reservations outlive a loss of power now
	AllowCommands uint8  // ALLOW COMMANDS, 0 to 7
	Types         uint16 // bit t: type t can be had; 0: TMV is clear, nothing is said
}

// AllReservationTypes is Types with every ReservationType.
const AllReservationTypes uint16 = 1<<WriteExclusive | 1<<ExclusiveAccess | 1<<WriteExclusiveRegistrantsOnly |
	1<<ExclusiveAccessRegistrantsOnly | 1<<WriteExclusiveAllRegistrants | 1<<ExclusiveAccessAllRegistrants

// Append adds the data to b.
func (c *ReserveCapabilities) Append(b []byte) []byte {
	return append(b, 0, 8,
		bit(c.ReplaceLost, 7)|bit(c.Compatible, 4)|bit(c.Specified, 3)|bit(c.AllPorts, 2)|bit(c.PersistCan, 0),
		bit(c.Types != 0, 7)|c.AllowCommands<<4&0x70|bit(c.PersistIs, 0),
		byte(c.Types), byte(c.Types>>8), 0, 0)
}

// ParseReserveCapabilities decodes the data. Errors: ErrShort.
func ParseReserveCapabilities(b []byte) (c ReserveCapabilities, err error) {
	if len(b) < 8 {
		return c, errReserveData
	}
	c = ReserveCapabilities{
		ReplaceLost: b[2]&0x80 != 0, Compatible: b[2]&0x10 != 0, Specified: b[2]&0x08 != 0, AllPorts: b[2]&0x04 != 0,
		PersistCan: b[2]&0x01 != 0, PersistIs: b[3]&0x01 != 0, AllowCommands: b[3] >> 4 & 7,
	}
	if b[3]&0x80 != 0 {
		c.Types = uint16(b[4]) | uint16(b[5])<<8
	}
	return c, nil
}

var errReserveData = shortError("PERSISTENT RESERVE IN data")
