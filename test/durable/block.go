package durable

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc64"
)

// blockSize is the logical block of the record: the least that a disk writes as a whole, in bytes.
const blockSize = 512

// A block's content: where it belongs, which write it is of, a filling that depends on both, and a checksum.
const (
	blockMagic = 0x6d696e6973727021

	atMagic  = 0
	atBlock  = 8  // its number on the device
	atRun    = 16 // which run of the tester
	atRound  = 20
	atSeq    = 24 // the write's number in the run
	atFill   = 32
	checksum = blockSize - 8
)

var crcTable = crc64.MakeTable(crc64.ECMA)

// version says which write a content is of.
type version struct {
	run, round uint32
	seq        uint64
}

// fill makes b, of blockSize bytes, the content of the block under the version.
func (v version) fill(b []byte, block uint64) {
	binary.BigEndian.PutUint64(b[atMagic:], blockMagic)
	binary.BigEndian.PutUint64(b[atBlock:], block)
	binary.BigEndian.PutUint32(b[atRun:], v.run)
	binary.BigEndian.PutUint32(b[atRound:], v.round)
	binary.BigEndian.PutUint64(b[atSeq:], v.seq)
	x := uint64(v.run)<<40 ^ v.seq<<20 ^ block
	for i := atFill; i < checksum; i += 8 {
		x += 0x9e3779b97f4a7c15 // splitmix64
		z := x
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		binary.LittleEndian.PutUint64(b[i:], z^z>>31)
	}
	binary.BigEndian.PutUint64(b[checksum:], crc64.Checksum(b[:checksum], crcTable))
}

// matches reports whether b is the content of the block under the version. scratch has blockSize bytes.
func (v version) matches(b []byte, block uint64, scratch []byte) bool {
	if binary.BigEndian.Uint64(b[atSeq:]) != v.seq {
		return false
	}
	v.fill(scratch, block)
	return bytes.Equal(b, scratch)
}

var zeroBlock [blockSize]byte

func isZero(b []byte) bool { return bytes.Equal(b, zeroBlock[:]) }

// describe says what b is, found where the block should be.
func describe(b []byte, block uint64, run uint32) string {
	if isZero(b) {
		return "zeros"
	}
	if binary.BigEndian.Uint64(b[atMagic:]) != blockMagic {
		if crc64.Checksum(b[:checksum], crcTable) != binary.BigEndian.Uint64(b[checksum:]) {
			return fmt.Sprintf("garbage, % x…", b[:16])
		}
		return fmt.Sprintf("a block with a damaged beginning, % x…", b[:16])
	}
	s := fmt.Sprintf("write %d of round %d", binary.BigEndian.Uint64(b[atSeq:]), binary.BigEndian.Uint32(b[atRound:]))
	if at := binary.BigEndian.Uint64(b[atBlock:]); at != block {
		s += fmt.Sprintf(" for offset %d", at*blockSize)
	}
	if binary.BigEndian.Uint32(b[atRun:]) != run {
		s += " of another run"
	}
	if crc64.Checksum(b[:checksum], crcTable) != binary.BigEndian.Uint64(b[checksum:]) {
		s += ", torn: its checksum is wrong"
	}
	return s
}
