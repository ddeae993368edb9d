package scsi

import "encoding/binary"

// LUNList is REPORT LUNS parameter data (SPC-5 6.33), read in place.
type LUNList struct {
	entries []byte
	total   uint32
}

var errLUNListShort = shortError("REPORT LUNS data")

// ParseLUNList reads REPORT LUNS data. The list keeps b. Errors: ErrShort below the 8 byte header.
func ParseLUNList(b []byte) (LUNList, error) {
	if len(b) < 8 {
		return LUNList{}, errLUNListShort
	}
	n := binary.BigEndian.Uint32(b[0:4])
	e := b[8:]
	if uint64(n) < uint64(len(e)) {
		e = e[:n]
	}
	return LUNList{e[:len(e)&^7], n}, nil
}

// Len returns how many LUNs are there.
func (l LUNList) Len() int { return len(l.entries) / 8 }

// At returns LUN i, 0 ≤ i < Len.
func (l LUNList) At(i int) LUN { return LUN(binary.BigEndian.Uint64(l.entries[8*i : 8*i+8])) }

// Needed returns the allocation length that holds the whole list. When it is more than what was read,
// the list is cut: ask again with it.
func (l LUNList) Needed() uint64 { return 8 + uint64(l.total) }

// AppendLUNList adds REPORT LUNS data with luns to b. The caller cuts it to the allocation length.
func AppendLUNList(b []byte, luns []LUN) []byte {
	b = appendUint32(b, uint32(8*len(luns)))
	b = append(b, 0, 0, 0, 0)
	for _, l := range luns {
		b = appendUint64(b, uint64(l))
	}
	return b
}
