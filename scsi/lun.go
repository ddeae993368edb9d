package scsi

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// LUN is a logical unit number: the eight bytes of SAM-5 4.7 as one big-endian number. The zero value
// is LUN 0. Two LUNs that differ in addressing method differ, even where a target takes them for the
// same logical unit; Unit tells the plain number.
type LUN uint64

// Well known logical units (SAM-5 4.7.7.5.1, SPC-5 8).
const (
	LUNReportLUNs LUN = 0xc101 << 48
)

// LUNMethod is an addressing method of one level of a LUN (SAM-5 4.7.7).
type LUNMethod uint8

const (
	MethodPeripheral   LUNMethod = iota // peripheral device addressing: bus and target, or with bus 0 the unit
	MethodFlat                          // flat space addressing: 14 bits
	MethodLogicalUnit                   // logical unit addressing: bus, target, unit
	MethodWellKnown                     // extended: well known logical unit
	MethodExtendedFlat                  // extended: flat space of 24 or more bits
	MethodNotSpecified                  // all ones: no logical unit is meant
	MethodUnknown                       // an extended form that no standard assigns
)

// LUNLevel is one level of a LUN.
type LUNLevel struct {
	Method LUNMethod
	Bus    uint8  // peripheral: 0–63; logical unit addressing: 0–7
	Target uint8  // logical unit addressing: 0–63; peripheral with a nonzero bus: 0–255
	Unit   uint64 // the number of the unit at this level
	Size   int    // bytes this level takes: 2, 4, 6 or 8
}

// PeripheralLUN returns the LUN of unit n (0–255) by peripheral device addressing on bus 0, the usual
// form of small numbers.
func PeripheralLUN(n uint8) LUN { return LUN(n) << 48 }

// FlatLUN returns the LUN of unit n by flat space addressing. n above 16383 is cut to its low 14 bits.
func FlatLUN(n uint16) LUN { return 0x4000<<48 | LUN(n&0x3fff)<<48 }

// LogicalUnitLUN returns the LUN for bus (0–7), target (0–63) and unit (0–31) by logical unit
// addressing. Higher bits are dropped.
func LogicalUnitLUN(bus, target, unit uint8) LUN {
	return 0x8000<<48 | LUN(target&0x3f)<<56 | LUN(bus&7)<<53 | LUN(unit&0x1f)<<48
}

// ExtendedFlatLUN returns the LUN of unit n by extended flat space addressing, 24 bits. Higher bits are
// dropped.
func ExtendedFlatLUN(n uint32) LUN { return 0xd2<<56 | LUN(n&0xffffff)<<32 }

// UnitLUN returns the usual form for a unit number in a target with a flat name space: peripheral up to
// 255, flat up to 16383, extended flat up to 16777215, and false above.
func UnitLUN(n uint64) (LUN, bool) {
	switch {
	case n < 0x100:
		return PeripheralLUN(uint8(n)), true
	case n < 0x4000:
		return FlatLUN(uint16(n)), true
	case n < 0x1000000:
		return ExtendedFlatLUN(uint32(n)), true
	}
	return 0, false
}

// LUNFromBytes returns the LUN in the eight bytes b.
func LUNFromBytes(b [8]byte) LUN { return LUN(binary.BigEndian.Uint64(b[:])) }

// Bytes returns the eight bytes of the LUN as an information unit carries them.
func (l LUN) Bytes() (b [8]byte) {
	binary.BigEndian.PutUint64(b[:], uint64(l))
	return b
}

// LUNFromNumber converts the 64-bit number by which Linux knows a LUN (int_to_scsilun): the lowest 16
// bits are the first level, and so on.
func LUNFromNumber(n uint64) LUN {
	return LUN(n<<48 | n>>48 | n&0xffff0000<<16 | n>>16&0xffff0000)
}

// Number returns the number by which Linux knows the LUN (scsilun_to_int), as in the H:C:T:L of lsscsi.
// For peripheral addressing on bus 0 it is the unit number; flat addressing adds 0x4000.
func (l LUN) Number() uint64 { return uint64(LUNFromNumber(uint64(l))) }

// Level returns level n (0–3) of the LUN, and false when the LUN does not have it. Level 0 always
// exists; a further one exists when the level before it is peripheral addressing with a nonzero bus
// (a bridge), and bytes are left.
func (l LUN) Level(n int) (LUNLevel, bool) {
	b := l.Bytes()
	at := 0
	for i := 0; ; i++ {
		if at >= len(b) {
			return LUNLevel{}, false
		}
		lev := parseLevel(b[at:])
		if i == n {
			return lev, true
		}
		if lev.Method != MethodPeripheral || lev.Bus == 0 {
			return LUNLevel{}, false
		}
		at += lev.Size
	}
}

func parseLevel(b []byte) LUNLevel {
	rest := len(b)
	switch b[0] >> 6 {
	case 0:
		lev := LUNLevel{Method: MethodPeripheral, Bus: b[0] & 0x3f, Size: 2}
		if lev.Bus != 0 {
			lev.Target = b[1]
		} else {
			lev.Unit = uint64(b[1])
		}
		return lev
	case 1:
		return LUNLevel{Method: MethodFlat, Unit: uint64(b[0]&0x3f)<<8 | uint64(b[1]), Size: 2}
	case 2:
		return LUNLevel{Method: MethodLogicalUnit, Target: b[0] & 0x3f, Bus: b[1] >> 5, Unit: uint64(b[1] & 0x1f), Size: 2}
	}
	if b[0] == 0xff && allOnes(b) {
		return LUNLevel{Method: MethodNotSpecified, Size: rest}
	}
	size := 2 + 2*int(b[0]>>4&3)
	lev := LUNLevel{Method: MethodUnknown, Size: min(size, rest)}
	if size > rest {
		return lev
	}
	for _, c := range b[1:size] {
		lev.Unit = lev.Unit<<8 | uint64(c)
	}
	switch {
	case b[0] == 0xc1:
		lev.Method = MethodWellKnown
	case b[0]&0x0f == 2 && (size == 4 || size == 6):
		lev.Method = MethodExtendedFlat
	}
	return lev
}

func allOnes(b []byte) bool {
	for _, c := range b {
		if c != 0xff {
			return false
		}
	}
	return true
}

// Unit returns the plain unit number of a single level LUN, whichever of peripheral (bus 0), flat,
// extended flat or logical unit addressing (bus 0, target 0) it uses, and false for any other. A target
// with a flat name space looks its units up by it.
func (l LUN) Unit() (n uint64, ok bool) {
	lev, _ := l.Level(0)
	if uint64(l)<<(8*lev.Size) != 0 {
		return 0, false
	}
	switch lev.Method {
	case MethodPeripheral, MethodLogicalUnit:
		return lev.Unit, lev.Bus == 0 && lev.Target == 0
	case MethodFlat, MethodExtendedFlat:
		return lev.Unit, true
	}
	return 0, false
}

// String returns the decimal unit number for a LUN in the peripheral form on bus 0 without further
// levels, otherwise "0x" and all 16 hexadecimal digits. ParseLUN reads both.
func (l LUN) String() string {
	if l == l&(0xff<<48) {
		return strconv.FormatUint(uint64(l>>48), 10)
	}
	return fmt.Sprintf("0x%016x", uint64(l))
}

// Describe returns the LUN in words, one part a level, for messages: "flat 300", "bus 1 target 4 > unit 2".
func (l LUN) Describe() string {
	var s strings.Builder
	for i := 0; ; i++ {
		lev, ok := l.Level(i)
		if !ok {
			return s.String()
		}
		if i > 0 {
			s.WriteString(" > ")
		}
		s.WriteString(lev.String())
	}
}

// String returns the level in words.
func (v LUNLevel) String() string {
	switch v.Method {
	case MethodPeripheral:
		if v.Bus != 0 {
			return fmt.Sprintf("bus %d target %d", v.Bus, v.Target)
		}
		return fmt.Sprintf("unit %d", v.Unit)
	case MethodFlat:
		return fmt.Sprintf("flat %d", v.Unit)
	case MethodLogicalUnit:
		return fmt.Sprintf("bus %d target %d unit %d", v.Bus, v.Target, v.Unit)
	case MethodWellKnown:
		if v.Unit == 1 {
			return "well known REPORT LUNS"
		}
		return fmt.Sprintf("well known %d", v.Unit)
	case MethodExtendedFlat:
		return fmt.Sprintf("extended flat %d", v.Unit)
	case MethodNotSpecified:
		return "not specified"
	}
	return fmt.Sprintf("unknown extended form of %d bytes", v.Size)
}

// ParseLUN reads a LUN as users write it: "0x" and 16 hexadecimal digits are the eight bytes
// themselves; anything else is the number by which Linux knows the LUN, decimal or 0x-hexadecimal.
// Errors: ErrFormat.
func ParseLUN(s string) (LUN, error) {
	if len(s) == 18 && (s[:2] == "0x" || s[:2] == "0X") {
		if v, err := strconv.ParseUint(s[2:], 16, 64); err == nil {
			return LUN(v), nil
		}
		return 0, fmt.Errorf("scsi: LUN %q: want a number, or 0x and 16 hexadecimal digits: %w", s, ErrFormat)
	}
	base, digits := 10, s
	if len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X") {
		base, digits = 16, s[2:]
	}
	v, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return 0, fmt.Errorf("scsi: LUN %q: want a number, or 0x and 16 hexadecimal digits: %w", s, ErrFormat)
	}
	return LUNFromNumber(v), nil
}
