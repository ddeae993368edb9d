package scsi

import (
	"bytes"
	"encoding/binary"
)

// PeripheralQualifier says whether a logical unit is there (SPC-5 6.7.2).
type PeripheralQualifier uint8

const (
	QualifierConnected    PeripheralQualifier = 0 // a logical unit, accessible
	QualifierNotConnected PeripheralQualifier = 1 // the target could have one here, and has none
	QualifierNotSupported PeripheralQualifier = 3 // the target cannot have one here; goes with DeviceUnknown
)

// DeviceType is a peripheral device type (SPC-5 6.7.2).
type DeviceType uint8

const (
	DeviceDisk      DeviceType = 0x00 // direct access block device
	DeviceTape      DeviceType = 0x01
	DeviceCDROM     DeviceType = 0x05
	DeviceChanger   DeviceType = 0x08
	DeviceArray     DeviceType = 0x0c // storage array controller
	DeviceEnclosure DeviceType = 0x0d
	DeviceZoned     DeviceType = 0x14 // host managed zoned block device
	DeviceWellKnown DeviceType = 0x1e
	DeviceUnknown   DeviceType = 0x1f
)

// Sizes of standard INQUIRY data.
const (
	MinInquiryData = 36 // through PRODUCT REVISION LEVEL
	InquiryData    = 96 // as this package builds it, with version descriptors and padding
)

// StandardInquiry is the standard INQUIRY data (SPC-5 6.7.2). Text fields are padded with blanks, cut
// at their length and trimmed when parsed.
type StandardInquiry struct {
	Qualifier          PeripheralQualifier
	Device             DeviceType
	Removable          bool
	Version            uint8 // 5: SPC-3, 6: SPC-4, 7: SPC-5
	NormACA            bool
	HiSup              bool  // logical units are numbered hierarchically
	ResponseFormat     uint8 // 2
	SCCS               bool
	TPGS               uint8 // asymmetric access: 0 none, 1 implicit, 2 explicit, 3 both
	ThirdPartyCopy     bool
	Protect            bool // protection information supported
	MultiPort          bool
	CmdQue             bool // task management model of SAM with more than one command at a time
	Vendor             [8]byte
	Product            [16]byte
	Revision           [4]byte
	VersionDescriptors [8]uint16 // standards claimed; zero: none
}

// Version descriptors a disk behind SRP claims (SPC-5 table of version descriptor values).
const (
	VersionSAM5 uint16 = 0x00a0
	VersionSPC4 uint16 = 0x0460
	VersionSBC3 uint16 = 0x04c0
	VersionSRP  uint16 = 0x0940
)

// SetText fills the vendor, product and revision fields.
func (q *StandardInquiry) SetText(vendor, product, revision string) {
	fillText(q.Vendor[:], vendor)
	fillText(q.Product[:], product)
	fillText(q.Revision[:], revision)
}

// VendorText returns the vendor without padding. ProductText and RevisionText do the same.
func (q *StandardInquiry) VendorText() string { return trimText(q.Vendor[:]) }

// ProductText returns the product without padding.
func (q *StandardInquiry) ProductText() string { return trimText(q.Product[:]) }

// RevisionText returns the revision without padding.
func (q *StandardInquiry) RevisionText() string { return trimText(q.Revision[:]) }

// Append adds the data, 96 bytes, to b. The caller cuts it to the allocation length.
func (q *StandardInquiry) Append(b []byte) []byte {
	var d [InquiryData]byte
	d[0] = byte(q.Qualifier)<<5 | byte(q.Device)&0x1f
	d[1] = bit(q.Removable, 7)
	d[2] = q.Version
	d[3] = bit(q.NormACA, 5) | bit(q.HiSup, 4) | q.ResponseFormat&0x0f
	d[4] = InquiryData - 5
	d[5] = bit(q.SCCS, 7) | q.TPGS&3<<4 | bit(q.ThirdPartyCopy, 3) | bit(q.Protect, 0)
	d[6] = bit(q.MultiPort, 4)
	d[7] = bit(q.CmdQue, 1)
	copy(d[8:16], q.Vendor[:])
	copy(d[16:32], q.Product[:])
	copy(d[32:36], q.Revision[:])
	for i, v := range q.VersionDescriptors {
		binary.BigEndian.PutUint16(d[58+2*i:], v)
	}
	return append(b, d[:]...)
}

var errInquiryShort = shortError("standard INQUIRY data")

// ParseStandardInquiry decodes standard INQUIRY data. What lies behind the end of b is zero; 5 bytes are
// the least. Errors: ErrShort.
func ParseStandardInquiry(b []byte) (q StandardInquiry, err error) {
	if len(b) < 5 {
		return q, errInquiryShort
	}
	var d [InquiryData]byte
	copy(d[:min(len(b), len(d), 5+int(b[4]))], b)
	q = StandardInquiry{
		Qualifier:      PeripheralQualifier(d[0] >> 5),
		Device:         DeviceType(d[0] & 0x1f),
		Removable:      d[1]&0x80 != 0,
		Version:        d[2],
		NormACA:        d[3]&0x20 != 0,
		HiSup:          d[3]&0x10 != 0,
		ResponseFormat: d[3] & 0x0f,
		SCCS:           d[5]&0x80 != 0,
		TPGS:           d[5] >> 4 & 3,
		ThirdPartyCopy: d[5]&0x08 != 0,
		Protect:        d[5]&0x01 != 0,
		MultiPort:      d[6]&0x10 != 0,
		CmdQue:         d[7]&0x02 != 0,
		Vendor:         [8]byte(d[8:16]),
		Product:        [16]byte(d[16:32]),
		Revision:       [4]byte(d[32:36]),
	}
	for i := range q.VersionDescriptors {
		q.VersionDescriptors[i] = binary.BigEndian.Uint16(d[58+2*i:])
	}
	return q, nil
}

func fillText(dst []byte, s string) {
	n := copy(dst, s)
	for i := range dst[n:] {
		dst[n+i] = ' '
	}
}

// trimText cuts the blanks and zero bytes that pad a text field, and replaces what is not printable
// ASCII, so that a target cannot put control characters into messages and names.
func trimText(b []byte) string {
	b = bytes.Trim(b, " \x00")
	out := make([]byte, len(b))
	for i, c := range b {
		if c < 0x20 || c > 0x7e {
			c = '?'
		}
		out[i] = c
	}
	return string(out)
}
