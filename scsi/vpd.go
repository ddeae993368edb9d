package scsi

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Codes of the vital product data pages that this package knows.
const (
	VPDSupportedPages       uint8 = 0x00
	VPDSerialNumber         uint8 = 0x80
	VPDIdentification       uint8 = 0x83
	VPDBlockLimits          uint8 = 0xb0
	VPDBlockCharacteristics uint8 = 0xb1
	VPDProvisioning         uint8 = 0xb2
)

// VPD is a vital product data page, read in place (SPC-5 7.7).
type VPD struct {
	Qualifier PeripheralQualifier
	Device    DeviceType
	Page      uint8
	Length    int    // what the PAGE LENGTH field says; more than len(Body) when the page is cut
	Body      []byte // behind the four byte header
}

var (
	errVPDShort = shortError("vital product data page")
	errVPDOther = formatError("vital product data: not the page asked for")
	errB0Short  = shortError("block limits page")
	errB1Short  = shortError("block device characteristics page")
	errB2Short  = shortError("logical block provisioning page")
)

// ParseVPD reads a vital product data page, which must have the code page: some targets answer a page
// that they lack with another, or with standard INQUIRY data. The result keeps b. Errors: ErrShort below
// four bytes, ErrFormat for another page.
func ParseVPD(b []byte, page uint8) (v VPD, err error) {
	if len(b) < 4 {
		return v, errVPDShort
	}
	if b[1] != page {
		return v, errVPDOther
	}
	n := int(binary.BigEndian.Uint16(b[2:4]))
	return VPD{PeripheralQualifier(b[0] >> 5), DeviceType(b[0] & 0x1f), b[1], n, b[4:min(len(b), 4+n)]}, nil
}

// Needed returns the allocation length that holds the whole page.
func (v *VPD) Needed() int { return 4 + v.Length }

// Append adds the page to b; Length is taken from Body. A Body above 65535 bytes is cut there. The caller
// cuts the result to the allocation length.
func (v *VPD) Append(b []byte) []byte {
	body := v.Body[:min(len(v.Body), math.MaxUint16)]
	b = append(b, byte(v.Qualifier)<<5|byte(v.Device)&0x1f, v.Page)
	b = appendUint16(b, uint16(len(body)))
	return append(b, body...)
}

// Lists says whether a supported pages page (00h) lists page.
func (v *VPD) Lists(page uint8) bool {
	return v.Page == VPDSupportedPages && bytes.IndexByte(v.Body, page) >= 0
}

// SerialText returns the serial number of a unit serial number page (80h) without padding. What is not
// printable ASCII becomes a question mark.
func (v *VPD) SerialText() string {
	if v.Page != VPDSerialNumber {
		return ""
	}
	return trimText(v.Body)
}
