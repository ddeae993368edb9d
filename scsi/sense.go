package scsi

import (
	"encoding/binary"
	"math"
)

// SenseKey is the class of a sense report (SPC-5 4.4.8).
type SenseKey uint8

const (
	KeyNoSense        SenseKey = 0x0
	KeyRecoveredError SenseKey = 0x1
	KeyNotReady       SenseKey = 0x2
	KeyMediumError    SenseKey = 0x3
	KeyHardwareError  SenseKey = 0x4
	KeyIllegalRequest SenseKey = 0x5
	KeyUnitAttention  SenseKey = 0x6
	KeyDataProtect    SenseKey = 0x7
	KeyBlankCheck     SenseKey = 0x8
	KeyVendorSpecific SenseKey = 0x9
	KeyCopyAborted    SenseKey = 0xa
	KeyAbortedCommand SenseKey = 0xb
	KeyEqual          SenseKey = 0xc // obsolete
	KeyVolumeOverflow SenseKey = 0xd
	KeyMiscompare     SenseKey = 0xe
	KeyCompleted      SenseKey = 0xf
)

// Sizes of sense data in bytes.
const (
	FixedSenseSize = 18  // fixed format as this package builds it
	MaxSenseSize   = 252 // largest sense data that the standard allows (SPC-5 4.4.1)

	// LongestSense is what the longest sense data that Sense.Put builds takes: the header and the descriptors
	// information, command specific, sense key specific, field replaceable unit and stream commands.
	LongestSense = 8 + 12 + 12 + 8 + 4 + 4
)

// Response codes of sense data, the low seven bits of its first byte.
const (
	senseFixed              = 0x70
	senseFixedDeferred      = 0x71
	senseDescriptor         = 0x72
	senseDescriptorDeferred = 0x73
)

// Sense is sense data of either format (SPC-5 4.4). The zero value is current fixed format sense data
// that says NO SENSE. It is a plain value: comparable, and without pointers.
type Sense struct {
	Key        SenseKey // 0–15
	ASC        ASC      // ADDITIONAL SENSE CODE and its QUALIFIER
	Deferred   bool     // about an earlier command, not about the one it came with
	Descriptor bool     // descriptor format, otherwise fixed
	Filemark   bool     // FILEMARK (tapes)
	EOM        bool     // end of medium (tapes)
	ILI        bool     // incorrect length; InformationValid then goes with the residue in Information
	Overflow   bool     // SDAT_OVFL: the device server had more sense data than it could send

	InformationValid bool    // VALID: Information means something
	SKSV             bool    // SKS means something
	SKS              [3]byte // sense key specific, its SKSV bit cleared; see FieldPointer, Progress, Retries
	FRU              uint8   // FIELD REPLACEABLE UNIT CODE; 0: none
	Information      uint64  // mostly the LBA concerned; fixed format holds 32 bits
	CommandSpecific  uint64  // COMMAND-SPECIFIC INFORMATION; 0: none; fixed format holds 32 bits
}

// FieldPointer names the bytes that a device server refuses with ILLEGAL REQUEST (SPC-5 4.4.2.4.2).
type FieldPointer struct {
	Data bool // C/D clear: in the parameter data; otherwise in the CDB
	Byte uint16
	Bit  int8 // most significant bit of the field, 0–7; negative: the whole byte
}

// MakeSense returns sense data with key and code and nothing more, in fixed format.
func MakeSense(key SenseKey, code ASC) Sense { return Sense{Key: key, ASC: code} }

// SetField makes p the sense key specific part. It is meant for KeyIllegalRequest.
func (s *Sense) SetField(p FieldPointer) {
	s.SKSV = true
	s.SKS = [3]byte{bit(!p.Data, 6), byte(p.Byte >> 8), byte(p.Byte)}
	if p.Bit >= 0 {
		s.SKS[0] |= 0x08 | byte(p.Bit)&7
	}
}

// FieldPointer returns the field pointer, and false where the sense data has none.
func (s *Sense) FieldPointer() (p FieldPointer, ok bool) {
	if !s.SKSV || s.Key != KeyIllegalRequest {
		return p, false
	}
	p = FieldPointer{Data: s.SKS[0]&0x40 == 0, Byte: binary.BigEndian.Uint16(s.SKS[1:3]), Bit: -1}
	if s.SKS[0]&0x08 != 0 {
		p.Bit = int8(s.SKS[0] & 7)
	}
	return p, true
}

// Progress returns how far an operation such as a format has come, in parts of 65536, and false where
// the sense data does not say it (SPC-5 4.4.2.4.4).
func (s *Sense) Progress() (part uint16, ok bool) {
	if !s.SKSV || s.Key != KeyNoSense && s.Key != KeyNotReady {
		return 0, false
	}
	return binary.BigEndian.Uint16(s.SKS[1:3]), true
}

// Retries returns the device server's own retry count, and false where the sense data does not say it
// (SPC-5 4.4.2.4.3).
func (s *Sense) Retries() (n uint16, ok bool) {
	if !s.SKSV || s.Key != KeyRecoveredError && s.Key != KeyMediumError && s.Key != KeyHardwareError {
		return 0, false
	}
	return binary.BigEndian.Uint16(s.SKS[1:3]), true
}

var (
	errSenseShort = shortError("sense data")
	errSenseCode  = formatError("response code of the sense data, want 70h–73h")
)

// ParseSense decodes sense data. It takes what is there: fields behind the end of b, or behind the
// length the data gives, are zero, and descriptors of unknown type are passed over. Errors: ErrShort for
// less than the sense key, ErrFormat for an unknown response code.
func ParseSense(b []byte) (s Sense, err error) {
	if len(b) == 0 {
		return s, errSenseShort
	}
	switch b[0] & 0x7f {
	case senseFixed, senseFixedDeferred:
		return parseFixedSense(b)
	case senseDescriptor, senseDescriptorDeferred:
		return parseDescriptorSense(b)
	}
	return s, errSenseCode
}

func parseFixedSense(b []byte) (s Sense, err error) {
	if len(b) < 3 {
		return s, errSenseShort
	}
	s.Deferred = b[0]&0x7f == senseFixedDeferred
	s.Key = SenseKey(b[2] & 0x0f)
	s.Filemark, s.EOM, s.ILI, s.Overflow = b[2]&0x80 != 0, b[2]&0x40 != 0, b[2]&0x20 != 0, b[2]&0x10 != 0
	if len(b) >= 7 && b[0]&0x80 != 0 {
		s.InformationValid = true
		s.Information = uint64(binary.BigEndian.Uint32(b[3:7]))
	}
	if len(b) < 8 {
		return s, nil
	}
	if n := 8 + int(b[7]); n < len(b) {
		b = b[:n]
	}
	if len(b) >= 12 {
		s.CommandSpecific = uint64(binary.BigEndian.Uint32(b[8:12]))
	}
	if len(b) >= 14 {
		s.ASC = MakeASC(b[12], b[13])
	} else if len(b) == 13 {
		s.ASC = MakeASC(b[12], 0)
	}
	if len(b) >= 15 {
		s.FRU = b[14]
	}
	if len(b) >= 18 {
		s.setSKS(b[15:18])
	}
	return s, nil
}

func parseDescriptorSense(b []byte) (s Sense, err error) {
	if len(b) < 2 {
		return s, errSenseShort
	}
	s.Descriptor = true
	s.Deferred = b[0]&0x7f == senseDescriptorDeferred
	s.Key = SenseKey(b[1] & 0x0f)
	if len(b) >= 4 {
		s.ASC = MakeASC(b[2], b[3])
	}
	if len(b) < 8 {
		return s, nil
	}
	s.Overflow = b[4]&0x80 != 0
	if n := 8 + int(b[7]); n < len(b) {
		b = b[:n]
	}
	for d := b[8:]; len(d) >= 2; {
		n := 2 + int(d[1])
		if n > len(d) {
			break
		}
		s.descriptor(d[:n])
		d = d[n:]
	}
	return s, nil
}

// descriptor takes over one whole sense data descriptor (SPC-5 4.4.2).
func (s *Sense) descriptor(d []byte) {
	switch typ := d[0]; {
	case typ == 0x00 && len(d) >= 12:
		s.InformationValid = d[2]&0x80 != 0
		s.Information = 0
		if s.InformationValid {
			s.Information = binary.BigEndian.Uint64(d[4:12])
		}
	case typ == 0x01 && len(d) >= 12:
		s.CommandSpecific = binary.BigEndian.Uint64(d[4:12])
	case typ == 0x02 && len(d) >= 7:
		s.setSKS(d[4:7])
	case typ == 0x03 && len(d) >= 4:
		s.FRU = d[3]
	case typ == 0x04 && len(d) >= 4:
		s.Filemark, s.EOM, s.ILI = d[3]&0x80 != 0, d[3]&0x40 != 0, d[3]&0x20 != 0
	case typ == 0x05 && len(d) >= 4:
		s.ILI = d[3]&0x20 != 0
	case typ == 0x0d && len(d) >= 24: // direct access block device: all of the above in one
		s.ILI = d[2]&0x20 != 0
		s.InformationValid = d[2]&0x80 != 0
		s.Information = 0
		if s.InformationValid {
			s.Information = binary.BigEndian.Uint64(d[8:16])
		}
		s.setSKS(d[4:7])
		s.FRU = d[7]
		s.CommandSpecific = binary.BigEndian.Uint64(d[16:24])
	}
}

func (s *Sense) setSKS(b []byte) {
	s.SKSV = b[0]&0x80 != 0
	s.SKS = [3]byte{}
	if s.SKSV {
		s.SKS = [3]byte{b[0] & 0x7f, b[1], b[2]}
	}
}

// Put writes the sense data into b and returns how many bytes it wrote: all of it, at most LongestSense, or as
// much as b holds. Where b cuts it, SDAT_OVFL is set and the length byte still tells the whole. In fixed
// format an Information above 32 bits is left out (VALID clear), and a CommandSpecific above 32 bits is
// written as all ones.
func (s *Sense) Put(b []byte) int {
	var full [LongestSense]byte
	n := 0
	if s.Descriptor {
		n = s.putDescriptor(&full)
		if n > len(b) {
			full[4] |= 0x80
		}
	} else {
		n = s.putFixed(&full)
		if n > len(b) {
			full[2] |= 0x10
		}
	}
	return copy(b, full[:n])
}

func (s *Sense) putFixed(b *[LongestSense]byte) int {
	b[0] = senseFixed | bit(s.Deferred, 0)
	b[2] = bit(s.Filemark, 7) | bit(s.EOM, 6) | bit(s.ILI, 5) | bit(s.Overflow, 4) | byte(s.Key)&0x0f
	if s.InformationValid && s.Information <= math.MaxUint32 {
		b[0] |= 0x80
		binary.BigEndian.PutUint32(b[3:7], uint32(s.Information))
	}
	b[7] = FixedSenseSize - 8
	binary.BigEndian.PutUint32(b[8:12], uint32(min(s.CommandSpecific, math.MaxUint32)))
	b[12], b[13] = s.ASC.Code(), s.ASC.Qualifier()
	b[14] = s.FRU
	s.putSKS(b[15:18])
	return FixedSenseSize
}

func (s *Sense) putDescriptor(b *[LongestSense]byte) int {
	b[0] = senseDescriptor | bit(s.Deferred, 0)
	b[1] = byte(s.Key) & 0x0f
	b[2], b[3] = s.ASC.Code(), s.ASC.Qualifier()
	b[4] = bit(s.Overflow, 7)
	n := 8
	if s.InformationValid {
		b[n], b[n+1], b[n+2] = 0x00, 0x0a, 0x80
		binary.BigEndian.PutUint64(b[n+4:n+12], s.Information)
		n += 12
	}
	if s.CommandSpecific != 0 {
		b[n], b[n+1] = 0x01, 0x0a
		binary.BigEndian.PutUint64(b[n+4:n+12], s.CommandSpecific)
		n += 12
	}
	if s.SKSV {
		b[n], b[n+1] = 0x02, 0x06
		s.putSKS(b[n+4 : n+7])
		n += 8
	}
	if s.FRU != 0 {
		b[n], b[n+1], b[n+3] = 0x03, 0x02, s.FRU
		n += 4
	}
	if s.Filemark || s.EOM {
		b[n], b[n+1], b[n+3] = 0x04, 0x02, bit(s.Filemark, 7)|bit(s.EOM, 6)|bit(s.ILI, 5)
		n += 4
	} else if s.ILI {
		b[n], b[n+1], b[n+3] = 0x05, 0x02, 0x20
		n += 4
	}
	b[7] = byte(n - 8)
	return n
}

func (s *Sense) putSKS(b []byte) {
	if s.SKSV {
		b[0], b[1], b[2] = 0x80|s.SKS[0]&0x7f, s.SKS[1], s.SKS[2]
	}
}
