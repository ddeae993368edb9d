package scsi

import (
	"encoding/binary"
	"math"
)

// SyncCache is the SYNCHRONIZE CACHE command (SBC-4 5.33, 5.34): make the blocks given last. With Blocks
// zero it means everything from LBA to the end of the unit, so the zero value flushes all of it.
type SyncCache struct {
	Immediate bool  // IMMED: answer before the blocks are on the medium
	Group     uint8 // GROUP NUMBER, 0–63
	LBA       uint64
	Blocks    uint32
}

// Put writes the smallest CDB that says c, of 10 bytes or else 16, and returns its length.
func (c *SyncCache) Put(cdb *CDB) int {
	if c.LBA <= math.MaxUint32 && c.Blocks <= math.MaxUint16 {
		*cdb = CDB{0: byte(OpSynchronizeCache), 1: bit(c.Immediate, 1), 6: c.Group & 0x3f}
		putRange10(cdb, c.LBA, c.Blocks)
		return 10
	}
	return c.Put16(cdb)
}

// Put16 writes SYNCHRONIZE CACHE(16), for units that do not know the other, and returns its length.
func (c *SyncCache) Put16(cdb *CDB) int {
	*cdb = CDB{0: byte(OpSyncCache16), 1: bit(c.Immediate, 1), 14: c.Group & 0x3f}
	putRange16(cdb, c.LBA, c.Blocks)
	return 16
}

// ParseSyncCache decodes SYNCHRONIZE CACHE of either size. Errors: ErrShort, ErrFormat.
func ParseSyncCache(cdb []byte) (c SyncCache, err error) {
	wide, err := checkCDB1016(cdb, OpSynchronizeCache, OpSyncCache16)
	if err != nil {
		return c, err
	}
	c.Immediate = cdb[1]&0x02 != 0
	c.LBA, c.Blocks, c.Group = parseRange(cdb, wide)
	return c, nil
}

// WriteSame is the WRITE SAME command (SBC-4 5.49, 5.50): write one block over many, or deallocate them.
type WriteSame struct {
	Unmap   bool  // UNMAP: the device server may deallocate the blocks, if they then read as the data given
	Anchor  bool  // ANCHOR: anchored rather than deallocated
	NoData  bool  // NDOB: no data is transferred, the block is all zeros; WRITE SAME(16) only
	Protect uint8 // WRPROTECT, 0–7
	Group   uint8 // GROUP NUMBER, 0–63
	LBA     uint64
	Blocks  uint32 // zero means everything from LBA to the end, where the unit allows it (WSNZ clear)
}

// Put writes the smallest CDB that says c, of 10 bytes or else 16, and returns its length.
func (c *WriteSame) Put(cdb *CDB) int {
	flags := c.Protect<<5 | bit(c.Anchor, 4) | bit(c.Unmap, 3)
	if c.LBA <= math.MaxUint32 && c.Blocks <= math.MaxUint16 && !c.NoData {
		*cdb = CDB{0: byte(OpWriteSame10), 1: flags, 6: c.Group & 0x3f}
		putRange10(cdb, c.LBA, c.Blocks)
		return 10
	}
	return c.Put16(cdb)
}

// Put16 writes WRITE SAME(16), for units that know it but not WRITE SAME(10), and returns its length.
func (c *WriteSame) Put16(cdb *CDB) int {
	*cdb = CDB{0: byte(OpWriteSame16), 14: c.Group & 0x3f}
	cdb[1] = c.Protect<<5 | bit(c.Anchor, 4) | bit(c.Unmap, 3) | bit(c.NoData, 0)
	putRange16(cdb, c.LBA, c.Blocks)
	return 16
}

// ParseWriteSame decodes WRITE SAME of either size. Errors: ErrShort, ErrFormat.
func ParseWriteSame(cdb []byte) (c WriteSame, err error) {
	wide, err := checkCDB1016(cdb, OpWriteSame10, OpWriteSame16)
	if err != nil {
		return c, err
	}
	c.Protect, c.Anchor, c.Unmap = cdb[1]>>5, cdb[1]&0x10 != 0, cdb[1]&0x08 != 0
	c.NoData = wide && cdb[1]&0x01 != 0
	c.LBA, c.Blocks, c.Group = parseRange(cdb, wide)
	return c, nil
}

func checkCDB1016(cdb []byte, op10, op16 Opcode) (wide bool, err error) {
	if len(cdb) < 10 {
		return false, errCDBShort
	}
	switch Opcode(cdb[0]) {
	case op10:
		return false, nil
	case op16:
		if len(cdb) < 16 {
			return true, errCDBShort
		}
		return true, nil
	}
	return false, errCDBOpcode
}

func putRange10(cdb *CDB, lba uint64, blocks uint32) {
	binary.BigEndian.PutUint32(cdb[2:6], uint32(lba))
	binary.BigEndian.PutUint16(cdb[7:9], uint16(blocks))
}

func putRange16(cdb *CDB, lba uint64, blocks uint32) {
	binary.BigEndian.PutUint64(cdb[2:10], lba)
	binary.BigEndian.PutUint32(cdb[10:14], blocks)
}

func parseRange(cdb []byte, wide bool) (lba uint64, blocks uint32, group uint8) {
	if wide {
		return binary.BigEndian.Uint64(cdb[2:10]), binary.BigEndian.Uint32(cdb[10:14]), cdb[14] & 0x3f
	}
	return uint64(binary.BigEndian.Uint32(cdb[2:6])), uint32(binary.BigEndian.Uint16(cdb[7:9])), cdb[6] & 0x3f
}
