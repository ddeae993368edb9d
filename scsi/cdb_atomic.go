package scsi

import "encoding/binary"

// CompareAndWrite is the COMPARE AND WRITE command (SBC-4 5.3). Twice Blocks go to the unit: what it is to have, then
// what is written if it has that. If not the answer is ErrMiscompare, and the sense data's Information is the offset
// of the first byte that differs.
type CompareAndWrite struct {
	FUA     bool
	DPO     bool
	Protect uint8 // WRPROTECT, 0–7
	Group   uint8 // GROUP NUMBER, 0–63
	LBA     uint64
	Blocks  uint8 // NUMBER OF LOGICAL BLOCKS; zero compares and writes nothing
}

// Put writes the command and returns its length.
func (c *CompareAndWrite) Put(cdb *CDB) int {
	*cdb = CDB{0: byte(OpCompareAndWrite), 1: c.Protect<<5 | bit(c.DPO, 4) | bit(c.FUA, 3), 13: c.Blocks, 14: c.Group & 0x3f}
	binary.BigEndian.PutUint64(cdb[2:10], c.LBA)
	return 16
}

// ParseCompareAndWrite decodes a COMPARE AND WRITE CDB. Errors: ErrShort, ErrFormat.
func ParseCompareAndWrite(cdb []byte) (c CompareAndWrite, err error) {
	if err := checkCDB(cdb, OpCompareAndWrite, 16); err != nil {
		return c, err
	}
	return CompareAndWrite{
		FUA: cdb[1]&0x08 != 0, DPO: cdb[1]&0x10 != 0, Protect: cdb[1] >> 5, Group: cdb[14] & 0x3f,
		LBA: binary.BigEndian.Uint64(cdb[2:10]), Blocks: cdb[13],
	}, nil
}

// Values of BMOP in ORWRITE(32) (SBC-4 5.11).
const (
	OrSet   uint8 = 0 // the blocks become their bits or those given
	OrClear uint8 = 1 // the blocks become their bits and those given, and the generation becomes the new one
)

// OrWrite is ORWRITE(16) or, with Wide, ORWRITE(32) (SBC-4 4.27, 5.10, 5.11): the blocks are changed bit by bit.
type OrWrite struct {
	Wide    bool // ORWRITE(32); the fields of its own are at the end
	FUA     bool
	DPO     bool
	Protect uint8 // ORPROTECT, 0–7
	Group   uint8 // GROUP NUMBER, 0–63
	LBA     uint64
	Blocks  uint32 // TRANSFER LENGTH

	Operation          uint8  // BMOP: OrSet, OrClear
	PreviousGeneration uint8  // PREVIOUS GENERATION PROCESSING, 0–15; one of OrPreviousDone, …
	Expected           uint32 // EXPECTED ORWGENERATION
	New                uint32 // NEW ORWGENERATION
}

// Values of PREVIOUS GENERATION PROCESSING (SBC-4 4.27.4): what becomes of set operations that expect the previous
// generation, and of those that expect any other. The current one is always done.
const (
	OrPreviousDone    uint8 = 0 // the previous one is done, others are refused
	OrPreviousIgnored uint8 = 2 // the previous one does nothing and is GOOD, others are refused
	OrAllDone         uint8 = 3 // all are done
	OrAllIgnored      uint8 = 5 // all others do nothing and are GOOD
	OrAllRefused      uint8 = 7 // all others are refused; after power on
)

// Put writes the command and returns its length.
func (c *OrWrite) Put(cdb *CDB) int {
	flags := c.Protect<<5 | bit(c.DPO, 4) | bit(c.FUA, 3)
	if !c.Wide {
		*cdb = CDB{0: byte(OpOrWrite16), 1: flags, 14: c.Group & 0x3f}
		putRange16(cdb, c.LBA, c.Blocks)
		return 16
	}
	put32(cdb, SAOrWrite32, flags, c.Group, c.LBA, c.Blocks)
	cdb[2], cdb[3] = c.Operation&7, c.PreviousGeneration&0x0f
	binary.BigEndian.PutUint32(cdb[20:24], c.Expected)
	binary.BigEndian.PutUint32(cdb[24:28], c.New)
	return 32
}

// ParseOrWrite decodes ORWRITE of either size. Errors: ErrShort, ErrFormat.
func ParseOrWrite(cdb []byte) (c OrWrite, err error) {
	var flags byte
	if len(cdb) > 0 && Opcode(cdb[0]) == OpVariableLength {
		if err := is32(cdb, SAOrWrite32); err != nil {
			return c, err
		}
		c.Wide = true
		flags, c.Group, c.LBA, c.Blocks = parse32(cdb)
		c.Operation, c.PreviousGeneration = cdb[2]&7, cdb[3]&0x0f
		c.Expected, c.New = binary.BigEndian.Uint32(cdb[20:24]), binary.BigEndian.Uint32(cdb[24:28])
	} else {
		if err := checkCDB(cdb, OpOrWrite16, 16); err != nil {
			return c, err
		}
		flags = cdb[1]
		c.LBA, c.Blocks, c.Group = parseRange(cdb, true)
	}
	c.Protect, c.DPO, c.FUA = flags>>5, flags&0x10 != 0, flags&0x08 != 0
	return c, nil
}
