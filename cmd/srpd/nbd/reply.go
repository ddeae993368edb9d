package nbd

import (
	"encoding/binary"
	"math"

	"minisrp/scsi/disk"
)

// headSize is the most that a reply has beside its data, in bytes.
const headSize = extendedSize + 6 + maxText

// putReply encodes what of a reply comes before its data, into headSize bytes, and returns its size. data is the
// number of bytes that follow, of a successful READ or BLOCK_STATUS. Where the reply is in chunks, last says whether it
// ends with this one.
func (y style) putReply(b []byte, s *slot, res result, data int, last bool) (n int) {
	if y == styleSimple || y == styleStructured && res == resOK && data == 0 {
		b = b[:simpleSize]
		binary.BigEndian.PutUint32(b, magicSimple)
		binary.BigEndian.PutUint32(b[4:], uint32(res.errno))
		binary.BigEndian.PutUint64(b[8:], s.cookie)
		return simpleSize
	}
	switch {
	case res != resOK:
		n = y.putChunk(b, chunkError, s, 6+len(res.text))
		binary.BigEndian.PutUint32(b[n:], uint32(res.errno))
		binary.BigEndian.PutUint16(b[n+4:], uint16(len(res.text)))
		n += 6 + copy(b[n+6:], res.text)
	case s.cmd == cmdRead:
		n = y.putChunk(b, chunkOffsetData, s, 8+data)
		binary.BigEndian.PutUint64(b[n:], s.req.Offset)
		n += 8
	case s.cmd == cmdBlockStatus && y == styleExtended:
		n = y.putChunk(b, chunkStatusExt, s, data)
	case s.cmd == cmdBlockStatus:
		n = y.putChunk(b, chunkStatus, s, data)
	default:
		n = y.putChunk(b, chunkNone, s, 0)
	}
	flags := uint16(0)
	if last {
		flags = chunkFlagDone
	}
	binary.BigEndian.PutUint16(b[4:], flags)
	return n
}

// putChunk encodes the header of a chunk, but for its flags, and returns its size.
func (y style) putChunk(b []byte, kind uint16, s *slot, length int) int {
	binary.BigEndian.PutUint16(b[6:], kind)
	binary.BigEndian.PutUint64(b[8:], s.cookie)
	if y == styleExtended {
		binary.BigEndian.PutUint32(b, magicExtended)
		binary.BigEndian.PutUint64(b[16:], s.offset)
		binary.BigEndian.PutUint64(b[24:], uint64(length))
		return extendedSize
	}
	binary.BigEndian.PutUint32(b, magicStructured)
	binary.BigEndian.PutUint32(b[16:], uint32(length))
	return structuredSize
}

// statuses is what a BLOCK_STATUS in flight needs: room for what the disk tells, and for the reply's data.
//
// Ownership: as the slot that has it; the reader's while none has it.
type statuses struct {
	extents [statusExtents]disk.Extent
	data    [8 + 16*statusExtents]byte
}

// encode encodes the data of a reply to BLOCK_STATUS, one extent or more.
func (u *statuses) encode(y style, told []disk.Extent) []byte {
	binary.BigEndian.PutUint32(u.data[:], contextID)
	if y != styleExtended {
		n := 4
		for _, e := range told {
			// Lengths are of 32 bits, as that of the request was.
			binary.BigEndian.PutUint32(u.data[n:], uint32(min(e.Length, math.MaxUint32)))
			binary.BigEndian.PutUint32(u.data[n+4:], stateOf(e))
			n += 8
		}
		return u.data[:n]
	}
	binary.BigEndian.PutUint32(u.data[4:], uint32(len(told)))
	n := 8
	for _, e := range told {
		binary.BigEndian.PutUint64(u.data[n:], e.Length)
		binary.BigEndian.PutUint64(u.data[n+8:], uint64(stateOf(e)))
		n += 16
	}
	return u.data[:n]
}

// stateOf translates how the disk keeps an extent.
func stateOf(e disk.Extent) (s uint32) {
	if e.Hole {
		s |= stateHole
	}
	if e.Zero {
		s |= stateZero
	}
	return s
}
