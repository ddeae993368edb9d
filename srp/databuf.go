package srp

import (
	"encoding/binary"
	"fmt"
)

// DataFormat is a data buffer descriptor format code, a nibble of byte 5 of an SRP_CMD (SRP r16a table 20; SRP-2 for
// immediate data).
type DataFormat uint8

const (
	DataNone      DataFormat = 0 // no data buffer descriptor present
	DataDirect    DataFormat = 1 // one memory descriptor
	DataIndirect  DataFormat = 2 // a table of memory descriptors, all or the first of which are in the IU
	DataImmediate DataFormat = 3 // the data is in the IU; for data-out, when the login agreed on it
)

func (f DataFormat) String() string {
	switch f {
	case DataNone:
		return "none"
	case DataDirect:
		return "direct"
	case DataIndirect:
		return "indirect"
	case DataImmediate:
		return "immediate"
	}
	return fmt.Sprintf("unknown data buffer descriptor format %d", uint8(f))
}

const (
	indirectLen  = DescLen + 4 // an indirect descriptor up to its list: table descriptor and total length
	immediateLen = 4           // an immediate descriptor: the length

	// MaxInlineDescs is how many memory descriptors of an indirect table an SRP_CMD can hold for each direction; the
	// counts are single bytes.
	MaxInlineDescs = 255
)

// DataBuffer is a command's data-out or data-in buffer: the memory of the initiator that the target reads from or
// writes to. The zero DataBuffer is no data.
//
//	Format         Desc         List                     Length
//	DataNone       -            -                        0
//	DataDirect     the memory   -                        Desc.Len
//	DataIndirect   the table    its first List.Len()     of all descriptors in the table
//	DataImmediate  -            -                        of the data in the IU
type DataBuffer struct {
	Format DataFormat
	Desc   Desc     // DataDirect: the memory. DataIndirect: the table, Desc.Len/DescLen descriptors long
	List   DescList // DataIndirect: descriptors in the IU; after Decode a view of it
	Length uint32   // bytes of data
}

// DirectBuffer describes data in one piece.
func DirectBuffer(d Desc) DataBuffer {
	return DataBuffer{Format: DataDirect, Desc: d, Length: d.Len}
}

// IndirectBuffer describes length bytes of data in the pieces that the table in the initiator's memory lists. list is
// the table, or as much of its beginning (up to MaxInlineDescs) as is to travel in the IU; the target reads the rest
// by RDMA, if it can: of the known targets only this module's does.
func IndirectBuffer(table Desc, list DescList, length uint32) DataBuffer {
	return DataBuffer{Format: DataIndirect, Desc: table, List: list, Length: length}
}

// ImmediateBuffer describes length bytes of data-out that follow in the IU.
func ImmediateBuffer(length uint32) DataBuffer {
	return DataBuffer{Format: DataImmediate, Length: length}
}

// TableLen returns the number of descriptors in all: of an indirect buffer those in the table, whether they are in
// the IU or not; 1 for a direct buffer; 0 for the others.
func (d *DataBuffer) TableLen() int {
	switch d.Format {
	case DataDirect:
		return 1
	case DataIndirect:
		return int(d.Desc.Len / DescLen)
	}
	return 0
}

// Complete reports whether every descriptor is at hand: false for an indirect buffer whose table is longer than List.
func (d *DataBuffer) Complete() bool {
	return d.Format != DataIndirect || d.List.Len() == d.TableLen()
}

// direction holds the words for a buffer's fields, so that an error can name one without making a string.
type direction struct {
	format, descriptor, memory, table, count, total, length, list string
}

var (
	dataOut = direction{
		format:     "data-out buffer format",
		descriptor: "length for the data-out buffer descriptor",
		memory:     "data-out memory's last address",
		table:      "data-out memory table length",
		count:      "data-out buffer descriptor count",
		total:      "data-out total length",
		length:     "data-out length",
		list:       "data-out memory descriptor list length",
	}
	dataIn = direction{
		format:     "data-in buffer format",
		descriptor: "length for the data-in buffer descriptor",
		memory:     "data-in memory's last address",
		table:      "data-in memory table length",
		count:      "data-in buffer descriptor count",
		total:      "data-in total length",
		length:     "data-in length",
		list:       "data-in memory descriptor list length",
	}
)

// size returns the descriptor's length in the IU.
func (d *DataBuffer) size() int {
	switch d.Format {
	case DataDirect:
		return DescLen
	case DataIndirect:
		return indirectLen + len(d.List)
	case DataImmediate:
		return immediateLen
	}
	return 0
}

// check holds what encoder and decoder alike demand of a buffer.
func (d *DataBuffer) check(f *fault, dir *direction) error {
	switch d.Format {
	case DataNone:
		if d.Length != 0 {
			return f.fail(OpCommand, dir.length, uint64(d.Length), Exactly, 0)
		}
	case DataDirect:
		if d.Length != d.Desc.Len {
			return f.fail(OpCommand, dir.length, uint64(d.Length), Exactly, uint64(d.Desc.Len))
		}
		return d.Desc.check(f, dir)
	case DataIndirect:
		return d.checkIndirect(f, dir)
	case DataImmediate:
		if dir == &dataIn {
			return f.fail(OpCommand, dir.format, uint64(d.Format), AtMost, uint64(DataIndirect))
		}
	default:
		return f.fail(OpCommand, dir.format, uint64(d.Format), AtMost, uint64(DataImmediate))
	}
	return nil
}

func (d Desc) check(f *fault, dir *direction) error {
	if d.wraps() {
		return f.fail(OpCommand, dir.memory, d.Addr+uint64(d.Len)-1, AtLeast, d.Addr)
	}
	return nil
}

// checkIndirect holds the table, the list in the IU and the total length against one another.
func (d *DataBuffer) checkIndirect(f *fault, dir *direction) error {
	if err := d.Desc.check(f, dir); err != nil {
		return err
	}
	if d.Desc.Len%DescLen != 0 {
		return f.fail(OpCommand, dir.table, uint64(d.Desc.Len), MultipleOf, DescLen)
	}
	if len(d.List)%DescLen != 0 {
		return f.fail(OpCommand, dir.list, uint64(len(d.List)), MultipleOf, DescLen)
	}
	count, table := uint64(d.List.Len()), uint64(d.Desc.Len/DescLen)
	if count > MaxInlineDescs {
		return f.fail(OpCommand, dir.count, count, AtMost, MaxInlineDescs)
	}
	if count > table {
		return f.fail(OpCommand, dir.count, count, AtMost, table)
	}
	for i := range d.List.Len() {
		if err := d.List.At(i).check(f, dir); err != nil {
			return err
		}
	}
	sum := d.List.Total() // of at most 255 32-bit lengths
	switch total := uint64(d.Length); {
	case count == table && sum != total:
		return f.fail(OpCommand, dir.total, total, Exactly, sum)
	case sum > total:
		return f.fail(OpCommand, dir.total, total, AtLeast, sum)
	}
	return nil
}

// put writes the descriptor at b's beginning; b has room for it.
func (d *DataBuffer) put(b []byte) {
	switch d.Format {
	case DataDirect:
		d.Desc.Put(b)
	case DataIndirect:
		d.Desc.Put(b)
		binary.BigEndian.PutUint32(b[DescLen:], d.Length)
		copy(b[indirectLen:], d.List)
	case DataImmediate:
		binary.BigEndian.PutUint32(b, d.Length)
	}
}

// get reads a descriptor of the format from b[at:], with the count byte that goes with it, and returns where it ends.
func (d *DataBuffer) get(f *fault, dir *direction, format DataFormat, count uint8, b []byte, at int) (end int, err error) {
	d.Format = format
	end = at
	switch format {
	case DataDirect:
		end += DescLen
	case DataIndirect:
		end += indirectLen + int(count)*DescLen
	case DataImmediate:
		end += immediateLen
	}
	if end > len(b) {
		return 0, f.fail(OpCommand, dir.descriptor, uint64(len(b)), AtLeast, uint64(end))
	}
	switch format {
	case DataDirect:
		d.Desc = getDesc(b[at:])
		d.Length = d.Desc.Len
	case DataIndirect:
		d.Desc = getDesc(b[at:])
		d.Length = binary.BigEndian.Uint32(b[at+DescLen:])
		d.List = DescList(b[at+indirectLen : end : end])
	case DataImmediate:
		d.Length = binary.BigEndian.Uint32(b[at:])
	}
	return end, d.check(f, dir)
}
