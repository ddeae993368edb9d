package scsi

import "encoding/binary"

// BlockLimits is the body of the block limits page (SBC-4 6.6.4). Lengths and counts are in logical blocks;
// zero means that the device server does not say, unless told otherwise.
type BlockLimits struct {
	WriteSameNonZero     bool   // WSNZ: WRITE SAME of zero blocks is refused
	MaxCompareAndWrite   uint8  // zero: COMPARE AND WRITE is not supported
	TransferGranularity  uint16 // optimal transfer length granularity
	MaxTransfer          uint32 // most blocks in one READ, WRITE, …
	OptimalTransfer      uint32
	MaxPrefetch          uint32
	MaxUnmapBlocks       uint32 // in one UNMAP, over all descriptors; zero: UNMAP is not supported; ffffffffh: no limit
	MaxUnmapDescriptors  uint32 // in one UNMAP; zero: UNMAP is not supported; ffffffffh: no limit
	UnmapGranularity     uint32
	UnmapAligned         bool   // UGAVALID: UnmapAlignment means something
	UnmapAlignment       uint32 // first block of an unmap granule, 31 bits
	MaxWriteSame         uint64 // most blocks in one WRITE SAME
	MaxAtomicTransfer    uint32 // zero: as MaxTransfer, where WRITE ATOMIC is supported
	AtomicAlignment      uint32
	AtomicGranularity    uint32
	MaxAtomicBoundedXfer uint32
	MaxAtomicBoundary    uint32
}

const blockPageLength = 0x3c // of the pages B0h and B1h

// Append adds the body, 60 bytes, to b.
func (l *BlockLimits) Append(b []byte) []byte {
	b = append(b, bit(l.WriteSameNonZero, 0), l.MaxCompareAndWrite)
	b = appendUint16(b, l.TransferGranularity)
	alignment := l.UnmapAlignment & 0x7fffffff
	if l.UnmapAligned {
		alignment |= 1 << 31
	}
	for _, v := range [...]uint32{l.MaxTransfer, l.OptimalTransfer, l.MaxPrefetch, l.MaxUnmapBlocks,
		l.MaxUnmapDescriptors, l.UnmapGranularity, alignment} {
		b = appendUint32(b, v)
	}
	b = appendUint64(b, l.MaxWriteSame)
	for _, v := range [...]uint32{l.MaxAtomicTransfer, l.AtomicAlignment, l.AtomicGranularity,
		l.MaxAtomicBoundedXfer, l.MaxAtomicBoundary} {
		b = appendUint32(b, v)
	}
	return b
}

// ParseBlockLimits decodes the body of a block limits page. Fields behind its end are zero, since earlier
// versions of the standard had shorter pages. Errors: ErrShort below the 12 bytes of SBC-2.
func ParseBlockLimits(body []byte) (l BlockLimits, err error) {
	if len(body) < 12 {
		return l, errB0Short
	}
	var d [blockPageLength]byte
	copy(d[:], body)
	u32 := func(at int) uint32 { return binary.BigEndian.Uint32(d[at-4 : at]) } // at: offset in the page, header included
	return BlockLimits{
		WriteSameNonZero:     d[0]&1 != 0,
		MaxCompareAndWrite:   d[1],
		TransferGranularity:  binary.BigEndian.Uint16(d[2:4]),
		MaxTransfer:          u32(8),
		OptimalTransfer:      u32(12),
		MaxPrefetch:          u32(16),
		MaxUnmapBlocks:       u32(20),
		MaxUnmapDescriptors:  u32(24),
		UnmapGranularity:     u32(28),
		UnmapAligned:         d[28]&0x80 != 0,
		UnmapAlignment:       u32(32) & 0x7fffffff,
		MaxWriteSame:         binary.BigEndian.Uint64(d[32:40]),
		MaxAtomicTransfer:    u32(44),
		AtomicAlignment:      u32(48),
		AtomicGranularity:    u32(52),
		MaxAtomicBoundedXfer: u32(56),
		MaxAtomicBoundary:    u32(60),
	}, nil
}

// Values of MEDIUM ROTATION RATE that are no rate.
const (
	RotationUnknown uint16 = 0
	RotationSolid   uint16 = 1 // the medium does not rotate
)

// BlockCharacteristics is the body of the block device characteristics page (SBC-4 6.6.2).
type BlockCharacteristics struct {
	RotationRate       uint16 // in rotations a minute; RotationUnknown, RotationSolid
	ProductType        uint8
	WriteAfterErase    uint8 // WABEREQ, 0–3
	WriteAfterSanitize uint8 // WACEREQ, 0–3
	FormFactor         uint8 // 0: not reported; 3: 2.5 inch; …
	Zoned              uint8 // ZONED, 0–3
	FUAB               bool  // SYNCHRONIZE CACHE writes protected caches too
	VBULS              bool  // VERIFY of unmapped blocks is supported
}

// Append adds the body, 60 bytes, to b.
func (c *BlockCharacteristics) Append(b []byte) []byte {
	var d [blockPageLength]byte
	binary.BigEndian.PutUint16(d[0:2], c.RotationRate)
	d[2] = c.ProductType
	d[3] = c.WriteAfterErase<<6 | c.WriteAfterSanitize&3<<4 | c.FormFactor&0x0f
	d[4] = c.Zoned&3<<4 | bit(c.FUAB, 1) | bit(c.VBULS, 0)
	return append(b, d[:]...)
}

// ParseBlockCharacteristics decodes the body of a block device characteristics page. Errors: ErrShort
// below four bytes.
func ParseBlockCharacteristics(body []byte) (c BlockCharacteristics, err error) {
	if len(body) < 4 {
		return c, errB1Short
	}
	c.RotationRate, c.ProductType = binary.BigEndian.Uint16(body[0:2]), body[2]
	c.WriteAfterErase, c.WriteAfterSanitize, c.FormFactor = body[3]>>6, body[3]>>4&3, body[3]&0x0f
	if len(body) > 4 {
		c.Zoned, c.FUAB, c.VBULS = body[4]>>4&3, body[4]&2 != 0, body[4]&1 != 0
	}
	return c, nil
}

// Values of PROVISIONING TYPE.
const (
	ProvisioningUnknown  uint8 = 0
	ProvisioningResource uint8 = 1
	ProvisioningThin     uint8 = 2
)

// Provisioning is the body of the logical block provisioning page (SBC-4 6.6.7), without a provisioning
// group descriptor.
type Provisioning struct {
	Unmap               bool  // LBPU: UNMAP works
	UnmapByWriteSame    bool  // LBPWS: WRITE SAME(16) with the UNMAP bit works
	UnmapByWriteSame10  bool  // LBPWS10: WRITE SAME(10) with the UNMAP bit works
	ReadZeros           uint8 // LBPRZ, 3 bits: xx1b unmapped blocks read as zeros, 010b as a vendor's pattern
	AnchorSupported     bool  // ANC_SUP
	GroupDescriptor     bool  // DP: a provisioning group descriptor follows; set by parsing only
	Type                uint8 // one of ProvisioningUnknown, …
	ThresholdExponent   uint8 // size of a threshold set in blocks, as a power of two; 0: no thresholds
	MinimumPercentage   uint8 // 0–31
	ThresholdPercentage uint8
}

// ReadsZeros says whether unmapped blocks read as zeros.
func (p *Provisioning) ReadsZeros() bool { return p.ReadZeros&1 != 0 }

// Append adds the body, four bytes, to b.
func (p *Provisioning) Append(b []byte) []byte {
	return append(b,
		p.ThresholdExponent,
		bit(p.Unmap, 7)|bit(p.UnmapByWriteSame, 6)|bit(p.UnmapByWriteSame10, 5)|p.ReadZeros&7<<2|bit(p.AnchorSupported, 1),
		p.MinimumPercentage<<3|p.Type&7,
		p.ThresholdPercentage)
}

// ParseProvisioning decodes the body of a logical block provisioning page. Errors: ErrShort below four
// bytes.
func ParseProvisioning(body []byte) (p Provisioning, err error) {
	if len(body) < 4 {
		return p, errB2Short
	}
	return Provisioning{
		ThresholdExponent:   body[0],
		Unmap:               body[1]&0x80 != 0,
		UnmapByWriteSame:    body[1]&0x40 != 0,
		UnmapByWriteSame10:  body[1]&0x20 != 0,
		ReadZeros:           body[1] >> 2 & 7,
		AnchorSupported:     body[1]&0x02 != 0,
		GroupDescriptor:     body[1]&0x01 != 0,
		MinimumPercentage:   body[2] >> 3,
		Type:                body[2] & 7,
		ThresholdPercentage: body[3],
	}, nil
}
