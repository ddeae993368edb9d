package scsi

import (
	"encoding/binary"
	"math"
)

// RW is a READ or WRITE of any CDB size (SBC-4 5.15–5.19, 5.40–5.44).
type RW struct {
	Write   bool   // WRITE, otherwise READ
	FUA     bool   // FORCE UNIT ACCESS: read from, or write through to, the medium
	DPO     bool   // DISABLE PAGE OUT: caching the blocks is not worth while
	Protect uint8  // RDPROTECT or WRPROTECT, 0–7; 0 means no protection information is transferred
	Group   uint8  // GROUP NUMBER, 0–63
	LBA     uint64 // first logical block
	Blocks  uint32 // TRANSFER LENGTH in logical blocks; zero transfers nothing
}

var (
	errRWShort   = shortError("READ or WRITE CDB")
	errRWOpcode  = formatError("not a READ or WRITE CDB")
	errRWRange   = rangeError("READ or WRITE")
	errRWSize    = rangeError("CDB size of READ or WRITE, want 6, 10, 12, 16 or 32")
	rwReadCodes  = [4]Opcode{OpRead6, OpRead10, OpRead12, OpRead16}
	rwWriteCodes = [4]Opcode{OpWrite6, OpWrite10, OpWrite12, OpWrite16}
)

// Put writes the smallest CDB that says r, of 10 bytes or else 16, and returns its length. The bytes
// of cdb behind it become zero. READ(6) and WRITE(6) are never chosen: they cannot say FUA, and zero
// means 256 there. Bits of Protect and Group beyond their fields are dropped.
func (r *RW) Put(cdb *CDB) int {
	if r.LBA <= math.MaxUint32 && r.Blocks <= math.MaxUint16 {
		r.put10(cdb)
		return 10
	}
	r.put16(cdb)
	return 16
}

// PutSize writes r as a CDB of the given size (6, 10, 12, 16 or 32 bytes), for a logical unit that lacks
// the others. The tags for protection information of READ(32) and WRITE(32) become zero. Errors: ErrRange when r does not fit that size, or size is none of these; cdb is then
// unchanged. READ(6) and WRITE(6) carry 1–256 blocks and none of the flags.
func (r *RW) PutSize(cdb *CDB, size int) error {
	switch size {
	case 6:
		if r.LBA > 0x1fffff || r.Blocks == 0 || r.Blocks > 256 || r.FUA || r.DPO || r.Protect != 0 || r.Group != 0 {
			return errRWRange
		}
		*cdb = CDB{0: byte(r.op(0)), 1: byte(r.LBA >> 16), 2: byte(r.LBA >> 8), 3: byte(r.LBA), 4: byte(r.Blocks)}
	case 10:
		if r.LBA > math.MaxUint32 || r.Blocks > math.MaxUint16 {
			return errRWRange
		}
		r.put10(cdb)
	case 12:
		if r.LBA > math.MaxUint32 {
			return errRWRange
		}
		*cdb = CDB{0: byte(r.op(2)), 1: r.flags(), 10: r.Group & 0x3f}
		binary.BigEndian.PutUint32(cdb[2:6], uint32(r.LBA))
		binary.BigEndian.PutUint32(cdb[6:10], r.Blocks)
	case 16:
		r.put16(cdb)
	case 32:
		r.put32(cdb)
	default:
		return errRWSize
	}
	return nil
}

func (r *RW) put10(cdb *CDB) {
	*cdb = CDB{0: byte(r.op(1)), 1: r.flags(), 6: r.Group & 0x3f}
	binary.BigEndian.PutUint32(cdb[2:6], uint32(r.LBA))
	binary.BigEndian.PutUint16(cdb[7:9], uint16(r.Blocks))
}

func (r *RW) put16(cdb *CDB) {
	*cdb = CDB{0: byte(r.op(3)), 1: r.flags(), 14: r.Group & 0x3f}
	binary.BigEndian.PutUint64(cdb[2:10], r.LBA)
	binary.BigEndian.PutUint32(cdb[10:14], r.Blocks)
}

func (r *RW) put32(cdb *CDB) {
	sa := SARead32
	if r.Write {
		sa = SAWrite32
	}
	put32(cdb, sa, r.flags(), r.Group, r.LBA, r.Blocks)
}

// put32 writes a block command with a variable length CDB of 32 bytes (SBC-4 5.19): all that they share.
func put32(cdb *CDB, sa uint16, flags, group byte, lba uint64, blocks uint32) {
	*cdb = CDB{0: byte(OpVariableLength), 6: group & 0x3f, 7: additional32, 10: flags}
	binary.BigEndian.PutUint16(cdb[8:10], sa)
	binary.BigEndian.PutUint64(cdb[12:20], lba)
	binary.BigEndian.PutUint32(cdb[28:32], blocks)
}

// parse32 is the way back. The CDB has 32 bytes.
func parse32(cdb []byte) (flags, group byte, lba uint64, blocks uint32) {
	return cdb[10], cdb[6] & 0x3f, binary.BigEndian.Uint64(cdb[12:20]), binary.BigEndian.Uint32(cdb[28:32])
}

// additional32 is the ADDITIONAL CDB LENGTH of a CDB of 32 bytes.
const additional32 = 32 - 8

// is32 says whether cdb is a CDB of 32 bytes with the service action. Errors: ErrShort, ErrFormat.
func is32(cdb []byte, sa uint16) error {
	switch {
	case len(cdb) < 10:
		return errCDBShort
	case Opcode(cdb[0]) != OpVariableLength || binary.BigEndian.Uint16(cdb[8:10]) != sa || cdb[7] != additional32:
		return errCDBOpcode
	case len(cdb) < 32:
		return errCDBShort
	}
	return nil
}

func (r *RW) op(size int) Opcode {
	if r.Write {
		return rwWriteCodes[size&3]
	}
	return rwReadCodes[size&3]
}

func (r *RW) flags() byte {
	return r.Protect<<5 | bit(r.DPO, 4) | bit(r.FUA, 3)
}

// IsRW says whether cdb is that of a READ or WRITE, which ParseRW understands if it is not cut.
func IsRW(cdb []byte) bool {
	if len(cdb) == 0 {
		return false
	}
	switch Opcode(cdb[0]) {
	case OpVariableLength:
		return is32(cdb, SARead32) == nil || is32(cdb, SAWrite32) == nil
	case OpRead6, OpRead10, OpRead12, OpRead16, OpWrite6, OpWrite10, OpWrite12, OpWrite16:
		return true
	}
	return false
}

// ParseRW decodes a READ or WRITE CDB of any size. A transfer length of 0 in a 6 byte CDB becomes 256
// blocks. Whether the blocks exist is the caller's to check. Errors: ErrFormat for another operation
// code, ErrShort for a cut CDB.
func ParseRW(cdb []byte) (r RW, err error) {
	if len(cdb) < 6 {
		return RW{}, errRWShort
	}
	op := Opcode(cdb[0])
	switch op {
	case OpVariableLength:
		return parseRW32(cdb)
	case OpWrite6, OpWrite10, OpWrite12, OpWrite16:
		r.Write = true
	case OpRead6, OpRead10, OpRead12, OpRead16:
	default:
		return RW{}, errRWOpcode
	}
	if op == OpRead6 || op == OpWrite6 {
		r.LBA = uint64(cdb[1]&0x1f)<<16 | uint64(cdb[2])<<8 | uint64(cdb[3])
		r.Blocks = uint32(cdb[4])
		if r.Blocks == 0 {
			r.Blocks = 256
		}
		return r, nil
	}
	r.Protect, r.DPO, r.FUA = cdb[1]>>5, cdb[1]&0x10 != 0, cdb[1]&0x08 != 0
	switch op {
	case OpRead10, OpWrite10:
		if len(cdb) < 10 {
			return RW{}, errRWShort
		}
		r.LBA = uint64(binary.BigEndian.Uint32(cdb[2:6]))
		r.Group = cdb[6] & 0x3f
		r.Blocks = uint32(binary.BigEndian.Uint16(cdb[7:9]))
	case OpRead12, OpWrite12:
		if len(cdb) < 12 {
			return RW{}, errRWShort
		}
		r.LBA = uint64(binary.BigEndian.Uint32(cdb[2:6]))
		r.Blocks = binary.BigEndian.Uint32(cdb[6:10])
		r.Group = cdb[10] & 0x3f
	default:
		if len(cdb) < 16 {
			return RW{}, errRWShort
		}
		r.LBA = binary.BigEndian.Uint64(cdb[2:10])
		r.Blocks = binary.BigEndian.Uint32(cdb[10:14])
		r.Group = cdb[14] & 0x3f
	}
	return r, nil
}

func parseRW32(cdb []byte) (r RW, err error) {
	if err = is32(cdb, SARead32); err == errCDBOpcode {
		r.Write, err = true, is32(cdb, SAWrite32)
	}
	switch err {
	case errCDBOpcode:
		return RW{}, errRWOpcode
	case errCDBShort:
		return RW{}, errRWShort
	}
	var flags byte
	flags, r.Group, r.LBA, r.Blocks = parse32(cdb)
	r.Protect, r.DPO, r.FUA = flags>>5, flags&0x10 != 0, flags&0x08 != 0
	return r, nil
}

// Field offsets a device server points at in its sense data when it refuses a READ or WRITE.
const (
	FieldRWFlags = 1 // RDPROTECT, WRPROTECT, DPO, FUA
	FieldRWLBA   = 2 // LOGICAL BLOCK ADDRESS of the 10, 12 and 16 byte CDBs
)

func bit(set bool, n uint) byte {
	if set {
		return 1 << n
	}
	return 0
}
