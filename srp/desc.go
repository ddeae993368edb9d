package srp

import "encoding/binary"

// DescLen is the length of a memory descriptor in bytes.
const DescLen = 16

// Desc is a memory descriptor (SRP r16a: VIRTUAL ADDRESS, MEMORY HANDLE, DATA LENGTH): a piece of the
// initiator's memory that the target reads or writes by RDMA.
type Desc struct {
	Addr uint64 // virtual address; or the offset in a region that is addressed from zero
	RKey uint32 // memory handle
	Len  uint32 // bytes
}

// Put writes the descriptor's DescLen bytes to b, which must have them.
func (d Desc) Put(b []byte) {
	_ = b[DescLen-1]
	binary.BigEndian.PutUint64(b, d.Addr)
	binary.BigEndian.PutUint32(b[8:], d.RKey)
	binary.BigEndian.PutUint32(b[12:], d.Len)
}

func getDesc(b []byte) Desc {
	_ = b[DescLen-1]
	return Desc{
		Addr: binary.BigEndian.Uint64(b),
		RKey: binary.BigEndian.Uint32(b[8:]),
		Len:  binary.BigEndian.Uint32(b[12:]),
	}
}

// wraps reports whether the memory would go on past the end of the address space.
func (d Desc) wraps() bool { return d.Len > 0 && d.Addr+uint64(d.Len)-1 < d.Addr }

// DescList is a list of memory descriptors in wire form, DescLen bytes each: a view of an IU's in-line list, of a
// table that was read from the initiator, or of memory in which a table is being made. What is left over at the
// end does not count.
type DescList []byte

// Len returns the number of descriptors.
func (l DescList) Len() int { return len(l) / DescLen }

// At returns descriptor i; it panics unless 0 ≤ i < Len.
func (l DescList) At(i int) Desc { return getDesc(l[i*DescLen:]) }

// Append adds a descriptor in the memory between l's length and its capacity. ok is false, and the list as it
// was, when there is no room; it never allocates.
func (l DescList) Append(d Desc) (list DescList, ok bool) {
	n := l.Len() * DescLen
	if cap(l)-n < DescLen {
		return l, false
	}
	l = l[:n+DescLen]
	d.Put(l[n:])
	return l, true
}

// Total returns the sum of the descriptors' data lengths in bytes.
func (l DescList) Total() uint64 {
	var sum uint64
	for ; len(l) >= DescLen; l = l[DescLen:] {
		sum += uint64(binary.BigEndian.Uint32(l[12:]))
	}
	return sum
}
