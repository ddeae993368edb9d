package load

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The header of an interval, little endian. The checksum is over all of the interval behind it.
const (
	headerMagic  = 0  // 8 bytes
	headerSum    = 8  // 4 bytes
	headerUnit   = 12 // 4 bytes, the unit's number
	headerOffset = 16 // 8 bytes
	headerRun    = 24 // 8 bytes, of the worker's
	headerWrite  = 32 // 4 bytes, which of the worker's writes it was, from 1 on
	headerLength = 36 // 4 bytes, of the interval
	headerSize   = 40
)

const magic = 0x64616f6c5052534d // MSRPload

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// content writes intervals and checks them.
//
// Ownership: the worker's; fixed after construction.
type content struct {
	verify  Verify
	run     uint64
	pattern []byte // an interval full, or nil
}

func newContent(j *Job, run uint64) content {
	c := content{verify: j.Verify, run: run}
	if len(j.Pattern) > 0 {
		c.pattern = bytes.Repeat(j.Pattern, int(j.align())/len(j.Pattern)+1)[:j.align()]
	}
	return c
}

// fill writes the interval b, which goes to off of a unit.
func (c *content) fill(b []byte, unit int, off uint64, write uint32) {
	if c.pattern != nil {
		copy(b, c.pattern)
	} else {
		scatter(b, c.run^off^uint64(write)<<40)
	}
	if c.verify != VerifyCRC32C {
		return
	}
	binary.LittleEndian.PutUint64(b[headerMagic:], magic)
	binary.LittleEndian.PutUint32(b[headerUnit:], uint32(unit))
	binary.LittleEndian.PutUint64(b[headerOffset:], off)
	binary.LittleEndian.PutUint64(b[headerRun:], c.run)
	binary.LittleEndian.PutUint32(b[headerWrite:], write)
	binary.LittleEndian.PutUint32(b[headerLength:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[headerSum:], crc32.Update(0, castagnoli, b[headerUnit:]))
}

// scatter fills b with what looks random.
func scatter(b []byte, seed uint64) {
	r := random(seed)
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.next())
	}
}

// Mismatch says in which way a block is not what was written.
type Mismatch uint8

const (
	Same      Mismatch = iota
	Foreign            // it has no header: nothing that a job has written
	Damaged            // its checksum, or its pattern, is wrong
	Misplaced          // it was written to another place
	Stale              // it is from another write than the last
)

func (m Mismatch) String() string {
	return [...]string{"as written", "has no header", "damaged", "misplaced", "stale"}[m]
}

// check compares the interval b with what was written last, and says what it is instead.
func (c *content) check(b []byte, unit int, off uint64, write uint32) (Mismatch, found) {
	if c.verify == VerifyPattern {
		if bytes.Equal(b, c.pattern) {
			return Same, found{}
		}
		return Damaged, found{}
	}
	if binary.LittleEndian.Uint64(b[headerMagic:]) != magic {
		return Foreign, found{}
	}
	is := found{
		unit: int(binary.LittleEndian.Uint32(b[headerUnit:])), off: binary.LittleEndian.Uint64(b[headerOffset:]),
		write: binary.LittleEndian.Uint32(b[headerWrite:]),
	}
	switch {
	case binary.LittleEndian.Uint32(b[headerSum:]) != crc32.Update(0, castagnoli, b[headerUnit:]):
		return Damaged, is
	case is.off != off || is.unit != unit || binary.LittleEndian.Uint32(b[headerLength:]) != uint32(len(b)):
		return Misplaced, is
	case is.write != write || binary.LittleEndian.Uint64(b[headerRun:]) != c.run:
		return Stale, is
	}
	return Same, is
}

// found is what a header says.
type found struct {
	unit  int
	off   uint64
	write uint32
}

// Fault is a request that failed, or an interval that is not what was written.
type Fault struct {
	Unit      int
	Offset    uint64
	Length    uint64
	Direction Direction
	Status    string   // of a request that failed
	Mismatch  Mismatch // of an interval
	is        found
	want      uint32
}

func (f Fault) String() string {
	at := fmt.Sprintf("%v of %d bytes at %d of unit %d", f.Direction, f.Length, f.Offset, f.Unit)
	switch f.Mismatch {
	case Same:
		return at + ": " + f.Status
	case Misplaced:
		return fmt.Sprintf("%s: misplaced: it was written to %d of unit %d", at, f.is.off, f.is.unit)
	case Stale:
		return fmt.Sprintf("%s: stale: it is of write %d, the last was %d", at, f.is.write, f.want)
	}
	return at + ": " + f.Mismatch.String()
}
