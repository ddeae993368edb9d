package scsi

import "encoding/binary"

// CDBSize is the length of the longest CDB that this package builds, a variable length CDB such as READ(32).
const CDBSize = 32

// CDB is room for a command descriptor block of up to 32 bytes. The Put methods write all of it: the
// command, then zeros. A CDB inside a larger buffer is (*scsi.CDB)(buf[at:at+scsi.CDBSize]).
type CDB [CDBSize]byte

// PutTestUnitReady writes TEST UNIT READY (SPC-5 6.47) and returns its length.
func PutTestUnitReady(cdb *CDB) int {
	*cdb = CDB{}
	return 6
}

// Inquiry is the INQUIRY command (SPC-5 6.7).
type Inquiry struct {
	EVPD             bool  // return the vital product data page Page, otherwise the standard data
	CmdDT            bool  // obsolete bit 1 of byte 1; a device server refuses it
	Page             uint8 // a nonzero page with EVPD clear is refused by a device server
	AllocationLength uint16
}

// Put writes the command and returns its length.
func (c *Inquiry) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpInquiry), 1: bit(c.EVPD, 0) | bit(c.CmdDT, 1), 2: c.Page}
	binary.BigEndian.PutUint16(cdb[3:5], c.AllocationLength)
	return 6
}

// ParseInquiry decodes an INQUIRY CDB. Errors: ErrShort, ErrFormat.
func ParseInquiry(cdb []byte) (c Inquiry, err error) {
	if err := checkCDB(cdb, OpInquiry, 6); err != nil {
		return c, err
	}
	return Inquiry{cdb[1]&1 != 0, cdb[1]&2 != 0, cdb[2], binary.BigEndian.Uint16(cdb[3:5])}, nil
}

// RequestSense is the REQUEST SENSE command (SPC-5 6.39).
type RequestSense struct {
	Descriptor       bool // DESC: descriptor format sense data, otherwise fixed
	AllocationLength uint8
}

// Put writes the command and returns its length.
func (c *RequestSense) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpRequestSense), 1: bit(c.Descriptor, 0), 4: c.AllocationLength}
	return 6
}

// ParseRequestSense decodes a REQUEST SENSE CDB. Errors: ErrShort, ErrFormat.
func ParseRequestSense(cdb []byte) (c RequestSense, err error) {
	if err := checkCDB(cdb, OpRequestSense, 6); err != nil {
		return c, err
	}
	return RequestSense{cdb[1]&1 != 0, cdb[4]}, nil
}

// Values of SELECT REPORT in REPORT LUNS (SPC-5 6.33).
const (
	ReportAddressable uint8 = 0 // logical units, without well known ones
	ReportWellKnown   uint8 = 1 // well known logical units only
	ReportAll         uint8 = 2
)

// ReportLUNs is the REPORT LUNS command (SPC-5 6.33). Send an allocation length of at least 16.
type ReportLUNs struct {
	Select           uint8 // one of ReportAddressable, ReportWellKnown, ReportAll, or a later value
	AllocationLength uint32
}

// Put writes the command and returns its length.
func (c *ReportLUNs) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpReportLUNs), 2: c.Select}
	binary.BigEndian.PutUint32(cdb[6:10], c.AllocationLength)
	return 12
}

// ParseReportLUNs decodes a REPORT LUNS CDB. Errors: ErrShort, ErrFormat.
func ParseReportLUNs(cdb []byte) (c ReportLUNs, err error) {
	if err := checkCDB(cdb, OpReportLUNs, 12); err != nil {
		return c, err
	}
	return ReportLUNs{cdb[2], binary.BigEndian.Uint32(cdb[6:10])}, nil
}

// PutReadCapacity10 writes READ CAPACITY(10) (SBC-4 5.19) and returns its length.
func PutReadCapacity10(cdb *CDB) int {
	*cdb = CDB{0: byte(OpReadCapacity10)}
	return 10
}

// ReadCapacity16 is the READ CAPACITY(16) command (SBC-4 5.20). The obsolete LBA and PMI fields are not
// built; a device server that wants to refuse them compares the CDB with its usage map.
type ReadCapacity16 struct {
	AllocationLength uint32
}

// Put writes the command and returns its length.
func (c *ReadCapacity16) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpServiceActionIn), 1: byte(SAReadCapacity16)}
	binary.BigEndian.PutUint32(cdb[10:14], c.AllocationLength)
	return 16
}

// ParseReadCapacity16 decodes a READ CAPACITY(16) CDB. Errors: ErrShort, ErrFormat.
func ParseReadCapacity16(cdb []byte) (c ReadCapacity16, err error) {
	if err := checkCDB(cdb, OpServiceActionIn, 16); err != nil {
		return c, err
	}
	if uint16(cdb[1]&0x1f) != SAReadCapacity16 {
		return c, errCDBOpcode
	}
	return ReadCapacity16{binary.BigEndian.Uint32(cdb[10:14])}, nil
}

var (
	errCDBShort  = shortError("CDB")
	errCDBOpcode = formatError("CDB of another command")
)

func checkCDB(cdb []byte, op Opcode, n int) error {
	if len(cdb) < n {
		return errCDBShort
	}
	if Opcode(cdb[0]) != op {
		return errCDBOpcode
	}
	return nil
}
