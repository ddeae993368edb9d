package disk

import (
	"math"

	"minisrp/scsi"
)

// Cache says whether a unit has a volatile write cache.
type Cache uint8

const (
	// CacheUnknown: the unit does not say. Flushes are sent.
	CacheUnknown Cache = iota
	// CacheOff: a write completes when it is durable. Flushes have nothing to do.
	CacheOff
	// CacheOn: a write is durable after a flush.
	CacheOn
)

func (c Cache) String() string {
	switch c {
	case CacheOff:
		return "write through"
	case CacheOn:
		return "write back"
	}
	return "unknown"
}

// Info is what is known of a disk. It is a plain value: comparable, and without pointers.
type Info struct {
	Identity scsi.UnitID // by VPD page 83h, else by serial number; "" if it has neither
	Vendor   string
	Product  string
	Revision string
	Serial   string // VPD page 80h; "" if it has none

	Size          uint64 // bytes
	LogicalBlock  uint32 // bytes, a power of two: what requests are multiples of
	PhysicalBlock uint32 // bytes, a multiple of LogicalBlock: writes of less cost a read
	Alignment     uint32 // bytes: where the first physical block starts
	Granularity   uint32 // bytes: requests should be a multiple; 0: not told
	OptimalIO     uint32 // bytes: the best request, a multiple of Granularity; 0: not told
	MaxTransfer   uint32 // bytes of one command; longer requests are split

	Thin                bool   // the unit manages which blocks it keeps (LBPME)
	Unmap               bool   // Unmap requests reach the unit, by any of the commands
	LBPU, LBPWS         bool   // by UNMAP; by WRITE SAME(16)
	LBPWS10             bool   // by WRITE SAME(10)
	LBPRZ               bool   // unmapped blocks read as zeros
	MaxUnmapBlocks      uint32 // of one UNMAP, logical blocks; 0: UNMAP is not supported; 2^32-1: any number
	MaxUnmapDescriptors uint32 // likewise
	UnmapGranularity    uint32 // logical blocks, 1 or more: less is not unmapped
	UnmapAlignment      uint32 // logical blocks: where the first such granule starts
	MaxWriteSame        uint64 // logical blocks of one WRITE SAME; 0: not told

	Extents  bool // Status tells holes from what the unit keeps; else everything is said to be kept
	Prefetch bool // Prefetch requests reach the unit

	WriteCache Cache
	FUA        bool // the unit knows the FUA bit
	ReadOnly   bool
	Rotational bool   // the medium rotates, or the unit does not say
	Rotation   uint16 // in 1/min; 0: none or not told
}

// Blocks returns the number of logical blocks.
func (i *Info) Blocks() uint64 {
	if i.LogicalBlock == 0 {
		return 0
	}
	return i.Size / uint64(i.LogicalBlock)
}

// caps are the forms of commands that a unit may know. What it refuses is taken off.
type caps uint32

const (
	canFUA caps = 1 << iota
	canSync10
	canSync16
	canUnmap
	canSame16        // WRITE SAME(16)
	canSame10        // WRITE SAME(10)
	canUnmapBySame16 // with UNMAP
	canUnmapBySame10
	canNoData   // WRITE SAME(16) with NDOB
	canStatus   // GET LBA STATUS
	canPrefetch // PRE-FETCH(16)
)

// view is Info and what the data path makes of it. It is never changed.
type view struct {
	info  Info
	caps  caps
	shift uint8  // log2 of the logical block
	count uint64 // logical blocks

	maxBlocks uint32 // of one READ or WRITE
	physical  uint32 // logical blocks of a physical one
	lowest    uint32 // logical block that starts the first physical one

	unmapBlocks uint64 // of one UNMAP
	unmapEach   uint32 // of each of its descriptors
	prefetch    uint64 // blocks of one PRE-FETCH
	same16      uint64 // blocks of one WRITE SAME(16)
	same10      uint64 // and (10)
}

// newView works out what the data path needs.
func newView(i Info, c caps) *view {
	v := &view{info: i, caps: c, count: i.Blocks(), prefetch: math.MaxUint32}
	for b := i.LogicalBlock; b > 1; b >>= 1 {
		v.shift++
	}
	v.maxBlocks = i.MaxTransfer >> v.shift
	v.physical = max(1, i.PhysicalBlock>>v.shift)
	v.lowest = i.Alignment >> v.shift

	v.unmapEach = math.MaxUint32 - math.MaxUint32%max(1, i.UnmapGranularity)
	v.unmapBlocks = uint64(i.MaxUnmapBlocks)
	if i.MaxUnmapBlocks == math.MaxUint32 {
		v.unmapBlocks = uint64(v.unmapEach) * uint64(min(i.MaxUnmapDescriptors, unmapDescriptors))
	}
	same := uint64(maxSameBytes) >> v.shift
	if i.MaxWriteSame != 0 {
		same = min(same, i.MaxWriteSame)
	}
	v.same16 = same
	v.same10 = min(same, maxSame10)
	return v
}

// cached says whether a completed write may still be lost.
func (v *view) cached() bool { return v.info.WriteCache != CacheOff }
