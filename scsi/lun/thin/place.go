package thin

import (
	"encoding/binary"
	"hash/crc32"
)

// place is where an extent's bytes are.
type place struct {
	slot uint64 // noSlot: nowhere, they are zeros
	sum  uint32 // CRC-32C of the bytes
}

const noSlot = 1<<64 - 1

func (p place) holds(data []byte) bool { return crc32.Checksum(data, castagnoli) == p.sum }

// entry is the value of an extent's key: a byte, 0, for zeros, or encoded like this
//
//	slot (8), sum (4), flush (8), slot before (8), sum before (4)
//
// A loss of power may bring the entry to the medium without the bytes, before they are flushed; then what was before
// holds.
type entry struct {
	place
	flush  uint64 // the number of the flush that makes it last
	before place  // what the last flush before that has made last
}

const entryBytes = 8 + 4 + 8 + 8 + 4

func (e *entry) append(b []byte) []byte {
	if e.slot == noSlot {
		return append(b, 0)
	}
	b = binary.LittleEndian.AppendUint64(b, e.slot)
	b = binary.LittleEndian.AppendUint32(b, e.sum)
	b = binary.LittleEndian.AppendUint64(b, e.flush)
	b = binary.LittleEndian.AppendUint64(b, e.before.slot)
	return binary.LittleEndian.AppendUint32(b, e.before.sum)
}

func (e *entry) decode(b []byte) error {
	switch {
	case len(b) == 1 && b[0] == 0:
		*e = entry{place: place{slot: noSlot}}
		return nil
	case len(b) != entryBytes:
		return damaged("entry of %d bytes", len(b))
	}
	e.slot, e.sum = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])
	e.flush = binary.LittleEndian.Uint64(b[12:])
	e.before.slot, e.before.sum = binary.LittleEndian.Uint64(b[20:]), binary.LittleEndian.Uint32(b[28:])
	if e.slot == noSlot {
		return damaged("entry of no slot")
	}
	return nil
}
