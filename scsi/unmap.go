package scsi

import (
	"encoding/binary"
	"math"
)

// Unmap is the UNMAP command (SBC-4 5.37). What to deallocate is in its parameter list.
type Unmap struct {
	Anchor              bool
	Group               uint8  // GROUP NUMBER, 0–63
	ParameterListLength uint16 // bytes of data-out; UnmapListSize gives them
}

// Put writes the command and returns its length.
func (c *Unmap) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpUnmap), 1: bit(c.Anchor, 0), 6: c.Group & 0x3f}
	binary.BigEndian.PutUint16(cdb[7:9], c.ParameterListLength)
	return 10
}

// ParseUnmap decodes an UNMAP CDB. Errors: ErrShort, ErrFormat.
func ParseUnmap(cdb []byte) (c Unmap, err error) {
	if err := checkCDB(cdb, OpUnmap, 10); err != nil {
		return c, err
	}
	return Unmap{cdb[1]&1 != 0, cdb[6] & 0x3f, binary.BigEndian.Uint16(cdb[7:9])}, nil
}

// Extent is a run of logical blocks.
type Extent struct {
	LBA    uint64
	Blocks uint32
}

// MaxUnmapExtents is how many extents fit one UNMAP command: its list has at most 65535 bytes. A unit may
// take fewer (BlockLimits.MaxUnmapDescriptors).
const MaxUnmapExtents = (math.MaxUint16 - 8) / 16

// UnmapListSize returns the size in bytes of a parameter list of n extents.
func UnmapListSize(n int) int { return 8 + 16*n }

// PutUnmapList writes the parameter list for extents into b and returns its size. Errors: ErrRange for
// more than MaxUnmapExtents, or where b is smaller than UnmapListSize.
func PutUnmapList(b []byte, extents []Extent) (int, error) {
	n := UnmapListSize(len(extents))
	if len(extents) > MaxUnmapExtents || n > len(b) {
		return 0, errUnmapRange
	}
	binary.BigEndian.PutUint16(b[0:2], uint16(n-2))
	binary.BigEndian.PutUint16(b[2:4], uint16(n-8))
	clear(b[4:8])
	for i, e := range extents {
		d := b[8+16*i : 24+16*i]
		binary.BigEndian.PutUint64(d[0:8], e.LBA)
		binary.BigEndian.PutUint32(d[8:12], e.Blocks)
		clear(d[12:16])
	}
	return n, nil
}

// UnmapList is an UNMAP parameter list, read in place.
type UnmapList struct {
	entries []byte
}

var (
	errUnmapRange = rangeError("UNMAP parameter list")
	errUnmapShort = shortError("UNMAP parameter list")
)

// ParseUnmapList reads an UNMAP parameter list; b is what the parameter list length of the CDB says. An
// empty b is an empty list (SBC-4 5.37.1: not an error). Bytes behind the last whole descriptor are
// ignored, as the standard wants. Errors: ErrShort for a header that is cut or claims more than there is;
// the device server answers with ASCParameterListLength.
func ParseUnmapList(b []byte) (UnmapList, error) {
	if len(b) == 0 {
		return UnmapList{}, nil
	}
	if len(b) < 8 {
		return UnmapList{}, errUnmapShort
	}
	total, descriptors := 2+int(binary.BigEndian.Uint16(b[0:2])), int(binary.BigEndian.Uint16(b[2:4]))
	if total > len(b) || 8+descriptors > len(b) {
		return UnmapList{}, errUnmapShort
	}
	return UnmapList{b[8 : 8+descriptors&^15]}, nil
}

// Len returns how many extents there are.
func (l UnmapList) Len() int { return len(l.entries) / 16 }

// At returns extent i, 0 ≤ i < Len.
func (l UnmapList) At(i int) Extent {
	d := l.entries[16*i : 16*i+16]
	return Extent{binary.BigEndian.Uint64(d[0:8]), binary.BigEndian.Uint32(d[8:12])}
}
