package scsi

import "encoding/binary"

// ModeSelect is the MODE SELECT command (SPC-5 6.11, 6.12). What is to be set is in its parameter list, which
// ModeHeader.AppendModeList builds.
type ModeSelect struct {
	Ten                 bool // MODE SELECT(10), otherwise (6), whose ParameterListLength is at most 255
	PageFormat          bool // PF: the list holds mode pages; without it what it holds is the vendor's own
	Save                bool // SP: all pages that can be saved are saved with their new values
	ParameterListLength uint16
}

// Put writes the command and returns its length. A ParameterListLength above 255 does not fit MODE SELECT(6), and
// becomes 255 there.
func (c *ModeSelect) Put(cdb *CDB) int {
	flags := bit(c.PageFormat, 4) | bit(c.Save, 0)
	if !c.Ten {
		*cdb = CDB{0: byte(OpModeSelect6), 1: flags, 4: byte(min(c.ParameterListLength, 255))}
		return 6
	}
	*cdb = CDB{0: byte(OpModeSelect10), 1: flags}
	binary.BigEndian.PutUint16(cdb[7:9], c.ParameterListLength)
	return 10
}

// ParseModeSelect decodes MODE SELECT of either size. Errors: ErrShort, ErrFormat.
func ParseModeSelect(cdb []byte) (c ModeSelect, err error) {
	if len(cdb) < 6 {
		return c, errCDBShort
	}
	switch Opcode(cdb[0]) {
	case OpModeSelect6:
		c.ParameterListLength = uint16(cdb[4])
	case OpModeSelect10:
		if len(cdb) < 10 {
			return c, errCDBShort
		}
		c.Ten, c.ParameterListLength = true, binary.BigEndian.Uint16(cdb[7:9])
	default:
		return c, errCDBOpcode
	}
	c.PageFormat, c.Save = cdb[1]&0x10 != 0, cdb[1]&0x01 != 0
	return c, nil
}

// AppendModeList adds a mode parameter list to b: what AppendModeData adds, with the length field zero, as it is
// reserved in MODE SELECT.
func (h *ModeHeader) AppendModeList(b []byte, ten bool, pages []byte) []byte {
	at := len(b)
	b = h.AppendModeData(b, ten, pages)
	b[at] = 0
	if ten {
		b[at+1] = 0
	}
	return b
}

// ParseModeList decodes the header and the first block descriptor of a mode parameter list, b, and returns the pages
// behind them, in place. The length field is not looked at. Errors: ErrShort when the header or the descriptor are cut,
// ErrFormat when the descriptor length is none that fits.
func ParseModeList(b []byte, ten bool) (h ModeHeader, pages []byte, err error) {
	return parseMode(b, ten)
}
