package scsi

import (
	"encoding/binary"
	"math"
)

// Values of BYTCHK in VERIFY and WRITE AND VERIFY (SBC-4 5.36). 2 is reserved.
const (
	CheckMedium uint8 = 0 // the blocks can be read; no data goes to the unit with VERIFY
	CheckBytes  uint8 = 1 // and are those that go to the unit
	CheckSame   uint8 = 3 // and are all like the one block that goes to the unit; VERIFY only
)

// Verify is VERIFY or WRITE AND VERIFY of 10, 12 or 16 bytes (SBC-4 5.36–5.38, 5.45–5.47).
type Verify struct {
	Write   bool   // WRITE AND VERIFY, otherwise VERIFY
	Check   uint8  // BYTCHK: one of CheckMedium, CheckBytes, CheckSame
	DPO     bool   // DISABLE PAGE OUT
	Protect uint8  // VRPROTECT or WRPROTECT, 0–7
	Group   uint8  // GROUP NUMBER, 0–63
	LBA     uint64 // first logical block
	Blocks  uint32 // VERIFICATION LENGTH or TRANSFER LENGTH in logical blocks; zero verifies nothing
}

var (
	errVerifyRange = rangeError("VERIFY or WRITE AND VERIFY")
	verifyCodes    = [2][3]Opcode{{OpVerify10, OpVerify12, OpVerify16}, {OpWriteVerify10, OpWriteVerify12, OpWriteVerify16}}
)

// Put writes the smallest CDB that says v, of 10 bytes or else 16, and returns its length. Bits of Check, Protect
// and Group beyond their fields are dropped.
func (v *Verify) Put(cdb *CDB) int {
	if v.LBA <= math.MaxUint32 && v.Blocks <= math.MaxUint16 {
		v.put(cdb, 0)
		putRange10(cdb, v.LBA, v.Blocks)
		cdb[6] = v.Group & 0x3f
		return 10
	}
	v.put(cdb, 2)
	putRange16(cdb, v.LBA, v.Blocks)
	cdb[14] = v.Group & 0x3f
	return 16
}

// PutSize writes v as a CDB of 10, 12 or 16 bytes. Errors: ErrRange when v does not fit that size, or size is none of
// these; cdb is then unchanged.
func (v *Verify) PutSize(cdb *CDB, size int) error {
	switch {
	case size != 10 && size != 12 && size != 16,
		size < 16 && v.LBA > math.MaxUint32, size == 10 && v.Blocks > math.MaxUint16:
		return errVerifyRange
	case size == 12:
		v.put(cdb, 1)
		binary.BigEndian.PutUint32(cdb[2:6], uint32(v.LBA))
		binary.BigEndian.PutUint32(cdb[6:10], v.Blocks)
		cdb[10] = v.Group & 0x3f
	case size == 16:
		v.put(cdb, 2)
		putRange16(cdb, v.LBA, v.Blocks)
		cdb[14] = v.Group & 0x3f
	default:
		v.Put(cdb)
	}
	return nil
}

func (v *Verify) put(cdb *CDB, size int) {
	w := 0
	if v.Write {
		w = 1
	}
	*cdb = CDB{0: byte(verifyCodes[w][size]), 1: v.Protect<<5 | bit(v.DPO, 4) | v.Check&3<<1}
}

// ParseVerify decodes VERIFY or WRITE AND VERIFY of 10, 12 or 16 bytes. Errors: ErrShort, ErrFormat.
func ParseVerify(cdb []byte) (v Verify, err error) {
	if len(cdb) < 10 {
		return v, errCDBShort
	}
	op, need := Opcode(cdb[0]), 10
	switch op {
	case OpWriteVerify10, OpWriteVerify12, OpWriteVerify16:
		v.Write = true
	case OpVerify10, OpVerify12, OpVerify16:
	default:
		return v, errCDBOpcode
	}
	switch op {
	case OpVerify12, OpWriteVerify12:
		need = 12
	case OpVerify16, OpWriteVerify16:
		need = 16
	}
	if len(cdb) < need {
		return Verify{}, errCDBShort
	}
	v.Protect, v.DPO, v.Check = cdb[1]>>5, cdb[1]&0x10 != 0, cdb[1]>>1&3
	if need == 12 {
		v.LBA, v.Blocks = uint64(binary.BigEndian.Uint32(cdb[2:6])), binary.BigEndian.Uint32(cdb[6:10])
		v.Group = cdb[10] & 0x3f
		return v, nil
	}
	v.LBA, v.Blocks, v.Group = parseRange(cdb, need == 16)
	return v, nil
}
