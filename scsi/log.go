package scsi

import (
	"encoding/binary"
	"math"
)

// Log page codes that this package knows (SPC-5 7.3, SBC-4 6.4).
const (
	LogSupportedPages   uint8 = 0x00
	LogWriteErrors      uint8 = 0x02
	LogReadErrors       uint8 = 0x03
	LogVerifyErrors     uint8 = 0x05
	LogProvisioning     uint8 = 0x0c
	LogTemperature      uint8 = 0x0d
	LogExceptions       uint8 = 0x2f // informational exceptions
	LogSubpageAll       uint8 = 0xff // with LogSupportedPages: pages and subpages
	maxLogPage                = 0x3f
	logPageHeaderLength       = 4
)

// Parameter codes of the error counter pages.
const (
	LogTotalBytes       uint16 = 0x0005 // bytes processed
	LogTotalUncorrected uint16 = 0x0006 // errors that were not corrected
)

// Parameter codes of the logical block provisioning page, whose values LogResource holds.
const (
	LogAvailableResource uint16 = 0x0001
	LogUsedResource      uint16 = 0x0002
)

// Values of PAGE CONTROL in LOG SENSE and LOG SELECT.
const (
	LogThreshold         uint8 = 0
	LogCumulative        uint8 = 1
	LogDefaultThreshold  uint8 = 2
	LogDefaultCumulative uint8 = 3
)

// LogSense is the LOG SENSE command (SPC-5 6.8).
type LogSense struct {
	Save             bool   // SP: save the parameters first
	Control          uint8  // PC: one of LogThreshold, …
	Page             uint8  // 0–63
	Subpage          uint8  // 0: none
	Pointer          uint16 // PARAMETER POINTER: the first parameter wanted
	AllocationLength uint16
}

// Put writes the command and returns its length.
func (c *LogSense) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpLogSense), 1: bit(c.Save, 0), 2: c.Control<<6 | c.Page&maxLogPage, 3: c.Subpage}
	binary.BigEndian.PutUint16(cdb[5:7], c.Pointer)
	binary.BigEndian.PutUint16(cdb[7:9], c.AllocationLength)
	return 10
}

// ParseLogSense decodes a LOG SENSE CDB. Errors: ErrShort, ErrFormat.
func ParseLogSense(cdb []byte) (c LogSense, err error) {
	if err := checkCDB(cdb, OpLogSense, 10); err != nil {
		return c, err
	}
	return LogSense{cdb[1]&1 != 0, cdb[2] >> 6, cdb[2] & maxLogPage, cdb[3],
		binary.BigEndian.Uint16(cdb[5:7]), binary.BigEndian.Uint16(cdb[7:9])}, nil
}

// LogSelect is the LOG SELECT command (SPC-5 6.7).
type LogSelect struct {
	Reset               bool // PCR: all parameters of the page, or of all pages, get their default values
	Save                bool // SP: save the parameters
	Control             uint8
	Page                uint8 // 0–63; 0 with subpage 0: all pages
	Subpage             uint8
	ParameterListLength uint16
}

// Put writes the command and returns its length.
func (c *LogSelect) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpLogSelect), 1: bit(c.Reset, 1) | bit(c.Save, 0), 2: c.Control<<6 | c.Page&maxLogPage, 3: c.Subpage}
	binary.BigEndian.PutUint16(cdb[7:9], c.ParameterListLength)
	return 10
}

// ParseLogSelect decodes a LOG SELECT CDB. Errors: ErrShort, ErrFormat.
func ParseLogSelect(cdb []byte) (c LogSelect, err error) {
	if err := checkCDB(cdb, OpLogSelect, 10); err != nil {
		return c, err
	}
	return LogSelect{cdb[1]&2 != 0, cdb[1]&1 != 0, cdb[2] >> 6, cdb[2] & maxLogPage, cdb[3],
		binary.BigEndian.Uint16(cdb[7:9])}, nil
}

// LogPage is a log page, read in place.
type LogPage struct {
	DisableSave bool // DS: the parameters cannot be saved
	Page        uint8
	Subpage     uint8
	Length      int    // what the PAGE LENGTH field says; more than len(Body) when the page is cut
	Body        []byte // the parameters, for NextLogParameter; page codes in a supported pages page
}

var errLogShort = shortError("log page")

// ParseLogPage reads a log page, which stays in b. Errors: ErrShort below four bytes.
func ParseLogPage(b []byte) (p LogPage, err error) {
	if len(b) < logPageHeaderLength {
		return p, errLogShort
	}
	n := int(binary.BigEndian.Uint16(b[2:4]))
	p = LogPage{DisableSave: b[0]&0x80 != 0, Page: b[0] & maxLogPage, Length: n, Body: b[4:min(len(b), 4+n)]}
	if b[0]&0x40 != 0 { // SPF
		p.Subpage = b[1]
	}
	return p, nil
}

// Append adds the page to b; Length is taken from Body. A Body above 65535 bytes is cut there.
func (p *LogPage) Append(b []byte) []byte {
	body := p.Body[:min(len(p.Body), math.MaxUint16)]
	b = append(b, bit(p.DisableSave, 7)|bit(p.Subpage != 0, 6)|p.Page&maxLogPage, p.Subpage)
	b = appendUint16(b, uint16(len(body)))
	return append(b, body...)
}

// LogFormat is the FORMAT AND LINKING field of a log parameter.
type LogFormat uint8

const (
	LogBounded   LogFormat = 0 // a counter that stops at its greatest value
	LogText      LogFormat = 1
	LogUnbounded LogFormat = 2 // a counter
	LogList      LogFormat = 3 // binary data
)

// LogParameter is one parameter of a log page, read in place.
type LogParameter struct {
	Code    uint16
	Control uint8  // PARAMETER CONTROL BYTE, whose two lowest bits are the LogFormat
	Value   []byte // up to 255 bytes
}

// NextLogParameter takes the first parameter off the body of a log page, and returns it with the rest. ok is false at
// the end, or when the parameter there is cut.
func NextLogParameter(body []byte) (p LogParameter, rest []byte, ok bool) {
	if len(body) < 4 {
		return p, nil, false
	}
	n := 4 + int(body[3])
	if n > len(body) {
		return p, nil, false
	}
	return LogParameter{binary.BigEndian.Uint16(body[0:2]), body[2], body[4:n]}, body[n:], true
}

// Append adds the parameter to b. A Value above 255 bytes is cut there.
func (p *LogParameter) Append(b []byte) []byte {
	v := p.Value[:min(len(p.Value), math.MaxUint8)]
	b = append(b, byte(p.Code>>8), byte(p.Code), p.Control, byte(len(v)))
	return append(b, v...)
}

// Counter returns the value of a counter of up to eight bytes, and false where it has more or none.
func (p *LogParameter) Counter() (n uint64, ok bool) {
	if len(p.Value) == 0 || len(p.Value) > 8 {
		return 0, false
	}
	for _, c := range p.Value {
		n = n<<8 | uint64(c)
	}
	return n, true
}

// AppendLogCounter adds a counter of eight bytes to b.
func AppendLogCounter(b []byte, code uint16, n uint64) []byte {
	b = append(b, byte(code>>8), byte(code), byte(LogUnbounded), 8)
	return appendUint64(b, n)
}

// LogResource is the value of a parameter of the logical block provisioning page (SBC-4 6.4.5).
type LogResource struct {
	Count uint32 // in threshold sets; Provisioning.ThresholdExponent gives their size
	Scope uint8  // SCOPE: 1 of this unit alone, 2 shared with others, 0 not said
}

// Append adds a parameter with the value to b.
func (r *LogResource) Append(b []byte, code uint16) []byte {
	b = append(b, byte(code>>8), byte(code), byte(LogList), 8)
	b = appendUint32(b, r.Count)
	return append(b, r.Scope&3, 0, 0, 0)
}

// ParseLogResource decodes the value of a parameter. Errors: ErrShort below five bytes.
func ParseLogResource(value []byte) (r LogResource, err error) {
	if len(value) < 5 {
		return r, errLogShort
	}
	return LogResource{binary.BigEndian.Uint32(value[0:4]), value[4] & 3}, nil
}
