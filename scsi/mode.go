package scsi

import (
	"encoding/binary"
	"math"
)

// PageControl says which values of a mode page are asked for (SPC-5 6.13.1).
type PageControl uint8

const (
	PageCurrent    PageControl = 0
	PageChangeable PageControl = 1
	PageDefault    PageControl = 2
	PageSaved      PageControl = 3
)

// Mode page codes.
const (
	ModePageRecovery   uint8 = 0x01 // read-write error recovery
	ModePageCaching    uint8 = 0x08
	ModePageControl    uint8 = 0x0a
	ModePageExceptions uint8 = 0x1c // informational exceptions control
	ModePageAll        uint8 = 0x3f // every page; with ModeSubpageAll every subpage too
	ModeSubpageAll     uint8 = 0xff
)

// ModeSense is the MODE SENSE command (SPC-5 6.13, 6.14).
type ModeSense struct {
	Ten              bool // MODE SENSE(10), otherwise (6), whose AllocationLength is at most 255
	DBD              bool // return no block descriptor
	LLBAA            bool // a long LBA block descriptor is accepted; (10) only
	Control          PageControl
	Page             uint8 // 0–63
	Subpage          uint8
	AllocationLength uint16
}

// Put writes the command and returns its length. MODE SENSE(6) with an AllocationLength above 255 asks
// for 255 bytes.
func (c *ModeSense) Put(cdb *CDB) int {
	page := byte(c.Control)<<6 | c.Page&0x3f
	if !c.Ten {
		*cdb = CDB{0: byte(OpModeSense6), 1: bit(c.DBD, 3), 2: page, 3: c.Subpage, 4: byte(min(c.AllocationLength, 255))}
		return 6
	}
	*cdb = CDB{0: byte(OpModeSense10), 1: bit(c.LLBAA, 4) | bit(c.DBD, 3), 2: page, 3: c.Subpage}
	binary.BigEndian.PutUint16(cdb[7:9], c.AllocationLength)
	return 10
}

// ParseModeSense decodes MODE SENSE of either size. Errors: ErrShort, ErrFormat.
func ParseModeSense(cdb []byte) (c ModeSense, err error) {
	if len(cdb) < 6 {
		return c, errCDBShort
	}
	switch Opcode(cdb[0]) {
	case OpModeSense6:
		c.AllocationLength = uint16(cdb[4])
	case OpModeSense10:
		if len(cdb) < 10 {
			return c, errCDBShort
		}
		c.Ten, c.LLBAA = true, cdb[1]&0x10 != 0
		c.AllocationLength = binary.BigEndian.Uint16(cdb[7:9])
	default:
		return c, errCDBOpcode
	}
	c.DBD, c.Control, c.Page, c.Subpage = cdb[1]&0x08 != 0, PageControl(cdb[2]>>6), cdb[2]&0x3f, cdb[3]
	return c, nil
}

// ModeBlockDescriptor is the mode parameter block descriptor of a direct access device (SBC-4 6.5.2).
type ModeBlockDescriptor struct {
	Blocks    uint64 // number of logical blocks; the short form holds 32 bits
	BlockSize uint32 // bytes; the short form holds 24 bits
}

// ModeHeader is the header of mode parameter data with its first block descriptor (SPC-5 7.5.5–7.5.6).
type ModeHeader struct {
	WriteProtected bool // WP
	DPOFUA         bool // DPO and FUA are supported
	LongLBA        bool // the block descriptor has the long form, 16 bytes; header of MODE SENSE(10) only
	HasDescriptor  bool // Descriptor is there
	MediumType     uint8
	Descriptor     ModeBlockDescriptor
}

// AppendModeData adds mode parameter data to b: the header in the form of MODE SENSE(10) or (6), the block
// descriptor, then pages, which are whole mode pages in a row. The caller cuts it to the allocation length.
// What does not fit the length field or the descriptor becomes its greatest value.
func (h *ModeHeader) AppendModeData(b []byte, ten bool, pages []byte) []byte {
	specific := bit(h.WriteProtected, 7) | bit(h.DPOFUA, 4)
	long := h.LongLBA && ten
	descriptor := 0
	if h.HasDescriptor {
		descriptor = 8
		if long {
			descriptor = 16
		}
	}
	if ten {
		total := min(6+descriptor+len(pages), math.MaxUint16)
		b = append(b, byte(total>>8), byte(total), h.MediumType, specific, bit(long, 0), 0, 0, byte(descriptor))
	} else {
		b = append(b, byte(min(3+descriptor+len(pages), math.MaxUint8)), h.MediumType, specific, byte(descriptor))
	}
	switch descriptor {
	case 8:
		b = appendUint32(b, uint32(min(h.Descriptor.Blocks, math.MaxUint32)))
		b = appendUint32(b, min(h.Descriptor.BlockSize, 0xffffff))
	case 16:
		b = appendUint64(b, h.Descriptor.Blocks)
		b = append(b, 0, 0, 0, 0)
		b = appendUint32(b, h.Descriptor.BlockSize)
	}
	return append(b, pages...)
}

var (
	errModeShort  = shortError("mode parameter data")
	errModeFormat = formatError("block descriptor length in mode parameter data")
)

// ParseModeData decodes the header and the first block descriptor of mode parameter data, and returns the
// pages behind them, in place. Data cut by the allocation length gives a cut pages. Errors: ErrShort when
// the header or the descriptor are cut, ErrFormat when the descriptor length is none that fits.
func ParseModeData(b []byte, ten bool) (h ModeHeader, pages []byte, err error) {
	switch {
	case ten && len(b) >= 2:
		b = b[:min(len(b), 2+int(binary.BigEndian.Uint16(b[0:2])))]
	case !ten && len(b) >= 1:
		b = b[:min(len(b), 1+int(b[0]))]
	}
	return parseMode(b, ten)
}

// parseMode decodes mode parameters up to the end of b.
func parseMode(b []byte, ten bool) (h ModeHeader, pages []byte, err error) {
	size, unit, descriptor := 4, 8, 0
	if ten {
		size = 8
	}
	if len(b) < size {
		return h, nil, errModeShort
	}
	var specific byte
	if ten {
		h.MediumType, specific, h.LongLBA = b[2], b[3], b[4]&1 != 0
		descriptor = int(binary.BigEndian.Uint16(b[6:8]))
	} else {
		h.MediumType, specific = b[1], b[2]
		descriptor = int(b[3])
	}
	h.WriteProtected, h.DPOFUA = specific&0x80 != 0, specific&0x10 != 0
	if h.LongLBA {
		unit = 16
	}
	if descriptor%unit != 0 {
		return h, nil, errModeFormat
	}
	if size+descriptor > len(b) {
		return h, nil, errModeShort
	}
	if d := b[size:]; descriptor != 0 {
		h.HasDescriptor = true
		if h.LongLBA {
			h.Descriptor = ModeBlockDescriptor{binary.BigEndian.Uint64(d[0:8]), binary.BigEndian.Uint32(d[12:16])}
		} else {
			h.Descriptor = ModeBlockDescriptor{uint64(binary.BigEndian.Uint32(d[0:4])), binary.BigEndian.Uint32(d[4:8]) & 0xffffff}
		}
	}
	return h, b[size+descriptor:], nil
}
