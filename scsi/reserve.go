package scsi

import "encoding/binary"

// Service actions of PERSISTENT RESERVE IN (SPC-5 6.16).
const (
	SAReadKeys           uint16 = 0x00
	SAReadReservation    uint16 = 0x01
	SAReportCapabilities uint16 = 0x02
	SAReadFullStatus     uint16 = 0x03
)

// Service actions of PERSISTENT RESERVE OUT (SPC-5 6.17).
const (
	SARegister        uint16 = 0x00
	SAReserve         uint16 = 0x01
	SARelease         uint16 = 0x02
	SAClear           uint16 = 0x03
	SAPreempt         uint16 = 0x04
	SAPreemptAbort    uint16 = 0x05
	SARegisterIgnore  uint16 = 0x06 // REGISTER AND IGNORE EXISTING KEY
	SARegisterMove    uint16 = 0x07
	SAReplaceLost     uint16 = 0x08 // REPLACE LOST RESERVATION
	lastReserveIn            = SAReadFullStatus
	lastReserveOut           = SAReplaceLost
	reserveListLength        = 24
)

// ReservationType is the TYPE of a persistent reservation (SPC-5 6.16.3.4). The zero value means none here; the
// standard keeps it for an obsolete type.
type ReservationType uint8

const (
	WriteExclusive                 ReservationType = 0x1
	ExclusiveAccess                ReservationType = 0x3
	WriteExclusiveRegistrantsOnly  ReservationType = 0x5
	ExclusiveAccessRegistrantsOnly ReservationType = 0x6
	WriteExclusiveAllRegistrants   ReservationType = 0x7
	ExclusiveAccessAllRegistrants  ReservationType = 0x8
)

// Valid reports whether the type is one that can be reserved.
func (t ReservationType) Valid() bool {
	return t < 16 && 1<<t&(1<<WriteExclusive|1<<ExclusiveAccess|1<<WriteExclusiveRegistrantsOnly|
		1<<ExclusiveAccessRegistrantsOnly|1<<WriteExclusiveAllRegistrants|1<<ExclusiveAccessAllRegistrants) != 0
}

// WritesOnly reports whether others may read.
func (t ReservationType) WritesOnly() bool {
	return t == WriteExclusive || t == WriteExclusiveRegistrantsOnly || t == WriteExclusiveAllRegistrants
}

// Registrants reports whether who is registered is not shut out.
func (t ReservationType) Registrants() bool {
	return t >= WriteExclusiveRegistrantsOnly && t <= ExclusiveAccessAllRegistrants
}

// AllHold reports whether everybody who is registered holds the reservation.
func (t ReservationType) AllHold() bool {
	return t == WriteExclusiveAllRegistrants || t == ExclusiveAccessAllRegistrants
}

// String returns the standard's name, or "reservation type 0xNN".
func (t ReservationType) String() string {
	switch t {
	case WriteExclusive:
		return "write exclusive"
	case ExclusiveAccess:
		return "exclusive access"
	case WriteExclusiveRegistrantsOnly:
		return "write exclusive, registrants only"
	case ExclusiveAccessRegistrantsOnly:
		return "exclusive access, registrants only"
	case WriteExclusiveAllRegistrants:
		return "write exclusive, all registrants"
	case ExclusiveAccessAllRegistrants:
		return "exclusive access, all registrants"
	}
	return "reservation type 0x" + hex2(uint8(t))
}

// PutUnitReserve writes RESERVE or RELEASE of SPC-2, of 6 or 10 bytes as op says, for the whole unit and the sender
// itself, and returns its length.
func PutUnitReserve(cdb *CDB, op Opcode) int {
	*cdb = CDB{0: byte(op)}
	n, _ := CDBLength(cdb[:])
	return n
}

// ReserveIn is the PERSISTENT RESERVE IN command (SPC-5 6.16).
type ReserveIn struct {
	Action           uint16 // SAReadKeys and those behind it
	AllocationLength uint16
}

// Put writes the command and returns its length.
func (c *ReserveIn) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpPersistReserveIn), 1: byte(c.Action & 0x1f)}
	binary.BigEndian.PutUint16(cdb[7:9], c.AllocationLength)
	return 10
}

// ParseReserveIn decodes a PERSISTENT RESERVE IN CDB. Errors: ErrShort, ErrFormat.
func ParseReserveIn(cdb []byte) (c ReserveIn, err error) {
	if err := checkCDB(cdb, OpPersistReserveIn, 10); err != nil {
		return c, err
	}
	return ReserveIn{uint16(cdb[1] & 0x1f), binary.BigEndian.Uint16(cdb[7:9])}, nil
}

// ReserveOut is the PERSISTENT RESERVE OUT command (SPC-5 6.17). Its parameter list is a ReserveList or, for REGISTER
// AND MOVE, a MoveList.
type ReserveOut struct {
	Action              uint16          // SARegister and those behind it
	Scope               uint8           // 0: the logical unit, the only one there is
	Type                ReservationType // for what makes, takes or gives back a reservation
	ParameterListLength uint32
}

// Put writes the command and returns its length.
func (c *ReserveOut) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpPersistReserveOut), 1: byte(c.Action & 0x1f), 2: c.Scope<<4 | byte(c.Type&0xf)}
	binary.BigEndian.PutUint32(cdb[5:9], c.ParameterListLength)
	return 10
}

// ParseReserveOut decodes a PERSISTENT RESERVE OUT CDB. Errors: ErrShort, ErrFormat.
func ParseReserveOut(cdb []byte) (c ReserveOut, err error) {
	if err := checkCDB(cdb, OpPersistReserveOut, 10); err != nil {
		return c, err
	}
	return ReserveOut{
		uint16(cdb[1] & 0x1f), cdb[2] >> 4, ReservationType(cdb[2] & 0xf), binary.BigEndian.Uint32(cdb[5:9]),
	}, nil
}

// ReserveList is the parameter list of PERSISTENT RESERVE OUT (SPC-5 6.17.3), but that of REGISTER AND MOVE.
type ReserveList struct {
	Key        uint64 // RESERVATION KEY: the one under which the sender is registered; 0 if it is not
	ServiceKey uint64 // SERVICE ACTION RESERVATION KEY
	AllPorts   bool   // ALL_TG_PT: register at all target ports
	Persist    bool   // APTPL: through a loss of power
	Specified  bool   // SPEC_I_PT: Initiators are to be registered too

	// Initiators is TransportIDs, one behind the other: see NextTransportID.
	Initiators []byte
}

// Append adds the list to b.
func (l *ReserveList) Append(b []byte) []byte {
	b = appendUint64(appendUint64(b, l.Key), l.ServiceKey)
	b = append(b, 0, 0, 0, 0, bit(l.Specified, 3)|bit(l.AllPorts, 2)|bit(l.Persist, 0), 0, 0, 0)
	if l.Specified {
		b = append(appendUint32(b, uint32(len(l.Initiators))), l.Initiators...)
	}
	return b
}

// ParseReserveList decodes a parameter list; Initiators lies in b. Errors: ErrShort when b ends before what its fields
// promise, ErrFormat when it goes on behind it.
func ParseReserveList(b []byte) (l ReserveList, err error) {
	if len(b) < reserveListLength {
		return l, errReserveShort
	}
	l.Key, l.ServiceKey = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	l.Specified, l.AllPorts, l.Persist = b[20]&0x08 != 0, b[20]&0x04 != 0, b[20]&0x01 != 0
	rest := b[reserveListLength:]
	if !l.Specified {
		if len(rest) > 0 {
			return ReserveList{}, errReserveLong
		}
		return l, nil
	}
	l.Initiators, err = sized(rest)
	if err != nil {
		return ReserveList{}, err
	}
	return l, nil
}

// sized returns what stands behind a length of four bytes that counts it.
func sized(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, errReserveShort
	}
	n := uint64(binary.BigEndian.Uint32(b))
	switch b = b[4:]; {
	case n > uint64(len(b)):
		return nil, errReserveShort
	case n < uint64(len(b)):
		return nil, errReserveLong
	}
	return b, nil
}

// MoveList is the parameter list of PERSISTENT RESERVE OUT REGISTER AND MOVE (SPC-5 6.17.4).
type MoveList struct {
	Key        uint64 // RESERVATION KEY: the sender's
	ServiceKey uint64 // SERVICE ACTION RESERVATION KEY: that of who gets the reservation
	Unregister bool   // UNREG: the sender is no longer registered
	Persist    bool   // APTPL
	Relative   uint16 // RELATIVE TARGET PORT IDENTIFIER of the port at which the reservation is to be held
	Initiator  []byte // one TransportID
}

// Append adds the list to b.
func (l *MoveList) Append(b []byte) []byte {
	b = appendUint64(appendUint64(b, l.Key), l.ServiceKey)
	b = appendUint16(append(b, 0, bit(l.Unregister, 1)|bit(l.Persist, 0)), l.Relative)
	return append(appendUint32(b, uint32(len(l.Initiator))), l.Initiator...)
}

// ParseMoveList decodes a parameter list; Initiator lies in b. Errors: as ParseReserveList.
func ParseMoveList(b []byte) (l MoveList, err error) {
	if len(b) < reserveListLength {
		return l, errReserveShort
	}
	initiator, err := sized(b[20:])
	if err != nil {
		return l, err
	}
	return MoveList{
		Key: binary.BigEndian.Uint64(b), ServiceKey: binary.BigEndian.Uint64(b[8:]),
		Unregister: b[17]&0x02 != 0, Persist: b[17]&0x01 != 0,
		Relative: binary.BigEndian.Uint16(b[18:]), Initiator: initiator,
	}, nil
}

var (
	errReserveShort = shortError("parameter list of PERSISTENT RESERVE OUT")
	errReserveLong  = formatError("parameter list of PERSISTENT RESERVE OUT longer than its fields say")
)
