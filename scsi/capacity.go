package scsi

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Sizes of READ CAPACITY data.
const (
	Capacity10Size = 8
	Capacity16Size = 32
)

// Capacity is what READ CAPACITY tells (SBC-4 5.19, 5.20). READ CAPACITY(10) carries the first two
// fields only.
type Capacity struct {
	LastLBA          uint64 // address of the last logical block; see Truncated
	BlockSize        uint32 // bytes in a logical block
	Protected        bool   // PROT_EN: formatted with protection information
	ProtectionType   uint8  // P_TYPE: 0–7, the type less one
	PIExponent       uint8  // P_I_EXPONENT: protection intervals in a block, as a power of two
	PhysicalExponent uint8  // logical blocks in a physical block, as a power of two, 0–15
	RCBasis          uint8  // RC_BASIS of a zoned device, 0–3
	Provisioned      bool   // LBPME: logical block provisioning (UNMAP) is managed
	ReadsZeros       bool   // LBPRZ: unmapped blocks read as zeros
	LowestAligned    uint16 // first logical block that starts a physical one, 0–16383
}

// Truncated says that LastLBA is what READ CAPACITY(10) gives for a unit too large for it. Ask READ
// CAPACITY(16) then.
func (c *Capacity) Truncated() bool { return c.LastLBA == math.MaxUint32 }

// Blocks returns the number of logical blocks, and false where it does not fit 64 bits.
func (c *Capacity) Blocks() (uint64, bool) { return c.LastLBA + 1, c.LastLBA != math.MaxUint64 }

// Bytes returns the size in bytes, and false where it does not fit 64 bits.
func (c *Capacity) Bytes() (uint64, bool) {
	n, ok := c.Blocks()
	hi, lo := bits.Mul64(n, uint64(c.BlockSize))
	return lo, ok && hi == 0
}

// Append10 adds READ CAPACITY(10) data to b. A last LBA above 32 bits becomes ffffffffh.
func (c *Capacity) Append10(b []byte) []byte {
	b = appendUint32(b, uint32(min(c.LastLBA, math.MaxUint32)))
	return appendUint32(b, c.BlockSize)
}

// Append16 adds READ CAPACITY(16) data to b.
func (c *Capacity) Append16(b []byte) []byte {
	var d [Capacity16Size]byte
	binary.BigEndian.PutUint64(d[0:8], c.LastLBA)
	binary.BigEndian.PutUint32(d[8:12], c.BlockSize)
	d[12] = c.RCBasis&3<<4 | c.ProtectionType&7<<1 | bit(c.Protected, 0)
	d[13] = c.PIExponent<<4 | c.PhysicalExponent&0x0f
	binary.BigEndian.PutUint16(d[14:16], c.LowestAligned&0x3fff)
	d[14] |= bit(c.Provisioned, 7) | bit(c.ReadsZeros, 6)
	return append(b, d[:]...)
}

var (
	errCapacity10Short = shortError("READ CAPACITY(10) data")
	errCapacity16Short = shortError("READ CAPACITY(16) data")
)

// ParseCapacity10 decodes READ CAPACITY(10) data. Errors: ErrShort below 8 bytes.
func ParseCapacity10(b []byte) (c Capacity, err error) {
	if len(b) < Capacity10Size {
		return c, errCapacity10Short
	}
	c.LastLBA = uint64(binary.BigEndian.Uint32(b[0:4]))
	c.BlockSize = binary.BigEndian.Uint32(b[4:8])
	return c, nil
}

// ParseCapacity16 decodes READ CAPACITY(16) data. Old targets return 12 bytes only, which leaves the
// other fields zero. Errors: ErrShort below that.
func ParseCapacity16(b []byte) (c Capacity, err error) {
	if len(b) < 12 {
		return c, errCapacity16Short
	}
	c.LastLBA = binary.BigEndian.Uint64(b[0:8])
	c.BlockSize = binary.BigEndian.Uint32(b[8:12])
	if len(b) < 16 {
		return c, nil
	}
	c.RCBasis, c.ProtectionType, c.Protected = b[12]>>4&3, b[12]>>1&7, b[12]&1 != 0
	c.PIExponent, c.PhysicalExponent = b[13]>>4, b[13]&0x0f
	c.Provisioned, c.ReadsZeros = b[14]&0x80 != 0, b[14]&0x40 != 0
	c.LowestAligned = binary.BigEndian.Uint16(b[14:16]) & 0x3fff
	return c, nil
}
