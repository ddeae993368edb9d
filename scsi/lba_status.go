package scsi

import (
	"encoding/binary"
	"math"
)

// GetLBAStatus is the GET LBA STATUS(16) command (SBC-4 5.6): how the blocks from LBA on are provisioned. A unit
// may tell of fewer blocks than there are, and of at least one.
type GetLBAStatus struct {
	LBA              uint64
	AllocationLength uint32
	ReportType       uint8 // REPORT TYPE: 0 for all kinds of status
}

// Put writes the command and returns its length.
func (c *GetLBAStatus) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpServiceActionIn), 1: byte(SAGetLBAStatus16), 14: c.ReportType}
	putRange16(cdb, c.LBA, c.AllocationLength)
	return 16
}

// ParseGetLBAStatus decodes a GET LBA STATUS(16) CDB. Errors: ErrShort, ErrFormat.
func ParseGetLBAStatus(cdb []byte) (c GetLBAStatus, err error) {
	if err := checkCDB(cdb, OpServiceActionIn, 16); err != nil {
		return c, err
	}
	if uint16(cdb[1]&0x1f) != SAGetLBAStatus16 {
		return c, errCDBOpcode
	}
	return GetLBAStatus{binary.BigEndian.Uint64(cdb[2:10]), binary.BigEndian.Uint32(cdb[10:14]), cdb[14]}, nil
}

// ProvisioningStatus says what a unit keeps of a run of blocks (SBC-4 5.6.2).
type ProvisioningStatus uint8

const (
	LBAMappedOrUnknown ProvisioningStatus = 0
	LBADeallocated     ProvisioningStatus = 1
	LBAAnchored        ProvisioningStatus = 2 // not mapped, and space is kept for it
	LBAMapped          ProvisioningStatus = 3
	LBAUnknown         ProvisioningStatus = 4
)

// LBAStatus is a run of blocks of one provisioning status, an LBA status descriptor.
type LBAStatus struct {
	LBA        uint64
	Blocks     uint32 // 1 or more
	Status     ProvisioningStatus
	Additional uint8 // ADDITIONAL STATUS; 0: no more to say
}

// Sizes of the parameter data of GET LBA STATUS, in bytes.
const (
	LBAStatusHeaderSize = 8
	LBAStatusSize       = 16
)

// AppendLBAStatusHeader adds the header of parameter data with n descriptors to b. It leaves COMPLETION CONDITION
// and RTP zero, which means that there is nothing to say about them.
func AppendLBAStatusHeader(b []byte, n int) []byte {
	b = appendUint32(b, uint32(LBAStatusHeaderSize-4+n*LBAStatusSize))
	return append(b, 0, 0, 0, 0)
}

// Append adds the descriptor to b.
func (s *LBAStatus) Append(b []byte) []byte {
	b = appendUint32(appendUint64(b, s.LBA), s.Blocks)
	return append(b, byte(s.Status)&0x0f, s.Additional, 0, 0)
}

// LBAStatusList is the parameter data of GET LBA STATUS, read in place.
type LBAStatusList struct {
	entries []byte
}

var errLBAStatusShort = shortError("GET LBA STATUS data")

// ParseLBAStatus reads the parameter data of GET LBA STATUS, which may be cut at the allocation length: the list has
// those descriptors that are there as a whole. Errors: ErrShort without a header.
func ParseLBAStatus(b []byte) (LBAStatusList, error) {
	if len(b) < LBAStatusHeaderSize {
		return LBAStatusList{}, errLBAStatusShort
	}
	n := uint64(len(b) - LBAStatusHeaderSize)
	if told := uint64(binary.BigEndian.Uint32(b[0:4])); told < 4 {
		n = 0
	} else {
		n = min(n, told-4)
	}
	return LBAStatusList{b[LBAStatusHeaderSize:][:n/LBAStatusSize*LBAStatusSize]}, nil
}

// Len returns how many descriptors there are.
func (l LBAStatusList) Len() int { return len(l.entries) / LBAStatusSize }

// At returns descriptor i, 0 ≤ i < Len.
func (l LBAStatusList) At(i int) LBAStatus {
	d := l.entries[LBAStatusSize*i:][:LBAStatusSize]
	return LBAStatus{
		LBA: binary.BigEndian.Uint64(d[0:8]), Blocks: binary.BigEndian.Uint32(d[8:12]),
		Status: ProvisioningStatus(d[12] & 0x0f), Additional: d[13],
	}
}

// PreFetch is the PRE-FETCH command (SBC-4 5.12, 5.13): have the blocks in the cache, where there is one. The answer
// is CONDITION MET when they fit it, and GOOD when they do not.
type PreFetch struct {
	Immediate bool  // IMMED: answer before they are there
	Group     uint8 // GROUP NUMBER, 0–63
	LBA       uint64
	Blocks    uint32 // zero means everything from LBA to the end of the unit
}

// Put writes the smallest CDB that says c, of 10 bytes or else 16, and returns its length.
func (c *PreFetch) Put(cdb *CDB) int {
	if c.LBA <= math.MaxUint32 && c.Blocks <= math.MaxUint16 {
		*cdb = CDB{0: byte(OpPreFetch10), 1: bit(c.Immediate, 1), 6: c.Group & 0x3f}
		putRange10(cdb, c.LBA, c.Blocks)
		return 10
	}
	return c.Put16(cdb)
}

// Put16 writes PRE-FETCH(16), for units that do not know the other, and returns its length.
func (c *PreFetch) Put16(cdb *CDB) int {
	*cdb = CDB{0: byte(OpPreFetch16), 1: bit(c.Immediate, 1), 14: c.Group & 0x3f}
	putRange16(cdb, c.LBA, c.Blocks)
	return 16
}

// ParsePreFetch decodes PRE-FETCH of either size. Errors: ErrShort, ErrFormat.
func ParsePreFetch(cdb []byte) (c PreFetch, err error) {
	wide, err := checkCDB1016(cdb, OpPreFetch10, OpPreFetch16)
	if err != nil {
		return c, err
	}
	c.Immediate = cdb[1]&0x02 != 0
	c.LBA, c.Blocks, c.Group = parseRange(cdb, wide)
	return c, nil
}
