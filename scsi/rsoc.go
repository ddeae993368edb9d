package scsi

import (
	"encoding/binary"
	"math"
)

// Values of REPORTING OPTIONS in REPORT SUPPORTED OPERATION CODES (SPC-5 6.34).
const (
	ReportAllCommands    uint8 = 0 // a list of all commands
	ReportByOpcode       uint8 = 1 // one command, which must not have service actions
	ReportByAction       uint8 = 2 // one command, which must have a service action
	ReportByOpcodeAction uint8 = 3 // one command; one with an unknown service action is just not supported
)

// ReportSupported is the REPORT SUPPORTED OPERATION CODES command (SPC-5 6.34).
type ReportSupported struct {
	Timeouts         bool  // RCTD: return command timeouts descriptors
	Options          uint8 // one of ReportAllCommands, …
	Opcode           Opcode
	ServiceAction    uint16
	AllocationLength uint32
}

// Put writes the command and returns its length.
func (c *ReportSupported) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpMaintenanceIn), 1: byte(SAReportSupportedOps),
		2: bit(c.Timeouts, 7) | c.Options&7, 3: byte(c.Opcode)}
	binary.BigEndian.PutUint16(cdb[4:6], c.ServiceAction)
	binary.BigEndian.PutUint32(cdb[6:10], c.AllocationLength)
	return 12
}

// ParseReportSupported decodes a REPORT SUPPORTED OPERATION CODES CDB. Errors: ErrShort, ErrFormat.
func ParseReportSupported(cdb []byte) (c ReportSupported, err error) {
	if err := checkCDB(cdb, OpMaintenanceIn, 12); err != nil {
		return c, err
	}
	if uint16(cdb[1]&0x1f) != SAReportSupportedOps {
		return c, errCDBOpcode
	}
	return ReportSupported{
		Timeouts:         cdb[2]&0x80 != 0,
		Options:          cdb[2] & 7,
		Opcode:           Opcode(cdb[3]),
		ServiceAction:    binary.BigEndian.Uint16(cdb[4:6]),
		AllocationLength: binary.BigEndian.Uint32(cdb[6:10]),
	}, nil
}

// Timeouts is a command timeouts descriptor; zero fields mean that the device server does not say.
type Timeouts struct {
	Specific    uint8  // COMMAND SPECIFIC
	Nominal     uint32 // NOMINAL COMMAND PROCESSING TIMEOUT in seconds
	Recommended uint32 // RECOMMENDED COMMAND TIMEOUT in seconds
}

const timeoutsSize = 12

func (t *Timeouts) append(b []byte) []byte {
	b = append(b, 0, timeoutsSize-2, 0, t.Specific)
	b = appendUint32(b, t.Nominal)
	return appendUint32(b, t.Recommended)
}

func parseTimeouts(b []byte) Timeouts {
	return Timeouts{b[3], binary.BigEndian.Uint32(b[4:8]), binary.BigEndian.Uint32(b[8:12])}
}

// SupportedCommand is one entry of the list of all commands.
type SupportedCommand struct {
	Opcode           Opcode
	HasServiceAction bool
	ServiceAction    uint16
	Length           uint16 // CDB LENGTH in bytes
	HasTimeouts      bool   // CTDP
	Timeouts         Timeouts
}

// AppendSupportedHeader starts the list of all commands: it adds the header for size bytes of entries
// behind it (8 bytes each, 20 with timeouts).
func AppendSupportedHeader(b []byte, size uint32) []byte {
	return appendUint32(b, size)
}

// Append adds the entry to b.
func (c *SupportedCommand) Append(b []byte) []byte {
	b = append(b, byte(c.Opcode), 0, byte(c.ServiceAction>>8), byte(c.ServiceAction), 0,
		bit(c.HasTimeouts, 1)|bit(c.HasServiceAction, 0))
	b = appendUint16(b, c.Length)
	if c.HasTimeouts {
		b = c.Timeouts.append(b)
	}
	return b
}

var (
	errRSOCShort = shortError("REPORT SUPPORTED OPERATION CODES data")
)

// ParseSupportedList reads the list of all commands and returns its entries, in place, for
// NextSupported, and the allocation length that holds the whole list. Errors: ErrShort below four bytes.
func ParseSupportedList(b []byte) (entries []byte, needed uint64, err error) {
	if len(b) < 4 {
		return nil, 0, errRSOCShort
	}
	n := binary.BigEndian.Uint32(b[0:4])
	entries = b[4:]
	if uint64(n) < uint64(len(entries)) {
		entries = entries[:n]
	}
	return entries, 4 + uint64(n), nil
}

// NextSupported takes the first entry off entries. ok is false at the end, or when the entry is cut.
func NextSupported(entries []byte) (c SupportedCommand, rest []byte, ok bool) {
	if len(entries) < 8 {
		return c, nil, false
	}
	c = SupportedCommand{
		Opcode:           Opcode(entries[0]),
		ServiceAction:    binary.BigEndian.Uint16(entries[2:4]),
		HasServiceAction: entries[5]&1 != 0,
		HasTimeouts:      entries[5]&2 != 0,
		Length:           binary.BigEndian.Uint16(entries[6:8]),
	}
	rest = entries[8:]
	if c.HasTimeouts {
		if len(rest) < timeoutsSize {
			return SupportedCommand{}, nil, false
		}
		c.Timeouts, rest = parseTimeouts(rest), rest[timeoutsSize:]
	}
	return c, rest, true
}

// Support says whether a command is supported.
type Support uint8

const (
	SupportUnknown  Support = 0 // not known at the moment
	SupportNone     Support = 1
	SupportStandard Support = 3 // as a standard has it
	SupportVendor   Support = 5 // in a way of the vendor's own
)

// OneCommand is the answer about one command.
type OneCommand struct {
	Support     Support
	Usage       []byte // CDB usage data, as long as the CDB: the operation code (and service action), then a 1 for each bit evaluated
	HasTimeouts bool   // CTDP
	Timeouts    Timeouts
}

// Append adds the data to b. A Usage above 65535 bytes is cut there.
func (c *OneCommand) Append(b []byte) []byte {
	usage := c.Usage[:min(len(c.Usage), math.MaxUint16)]
	b = append(b, 0, bit(c.HasTimeouts, 7)|byte(c.Support)&7, byte(len(usage)>>8), byte(len(usage)))
	b = append(b, usage...)
	if c.HasTimeouts {
		b = c.Timeouts.append(b)
	}
	return b
}

// ParseOneCommand decodes the answer about one command; Usage stays in b. Errors: ErrShort when it is
// cut.
func ParseOneCommand(b []byte) (c OneCommand, err error) {
	if len(b) < 4 {
		return c, errRSOCShort
	}
	n := int(binary.BigEndian.Uint16(b[2:4]))
	if 4+n > len(b) {
		return c, errRSOCShort
	}
	c.Support, c.HasTimeouts = Support(b[1]&7), b[1]&0x80 != 0
	c.Usage = b[4 : 4+n]
	if c.HasTimeouts {
		if len(b) < 4+n+timeoutsSize {
			return OneCommand{}, errRSOCShort
		}
		c.Timeouts = parseTimeouts(b[4+n:])
	}
	return c, nil
}
