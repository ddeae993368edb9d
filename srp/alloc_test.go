package srp_test

import (
	"testing"

	"minisrp/srp"
)

// TestNoAllocation: information units are encoded and decoded at Dispatch, where nothing allocates; nor may a peer that
// sends rubbish make it.
func TestNoAllocation(t *testing.T) {
	for _, s := range samples() {
		whole := s.bytes(t)
		buf := make([]byte, len(whole))
		decoded := codecFor(whole, s.rdmaCM())
		for name, f := range map[string]func(){
			"encode": func() {
				if _, err := s.iu.Encode(buf); err != nil {
					t.Error(err)
				}
			},
			"decode": func() {
				if err := decoded.Decode(whole); err != nil {
					t.Error(err)
				}
			},
			"decode cut": func() {
				if decoded.Decode(whole[:len(whole)-1]) == nil {
					t.Error("no error")
				}
			},
		} {
			if n := testing.AllocsPerRun(100, f); n != 0 {
				t.Errorf("%s: %s: %v allocations", s.name, name, n)
			}
		}
	}
}

func TestDescListAppendDoesNotAllocate(t *testing.T) {
	table := make([]byte, 4*srp.DescLen)
	n := testing.AllocsPerRun(100, func() {
		l, ok := srp.DescList(table[:0]), true
		for ok {
			l, ok = l.Append(srp.Desc{Addr: 1, Len: 2})
		}
		if l.Len() != 4 || l.Total() != 8 {
			t.Error(l)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkCommand encodes and decodes a read with one descriptor, and with as many as fit.
func BenchmarkCommand(b *testing.B) {
	one := srp.Desc{Addr: 1 << 32, RKey: 0x1234, Len: 4096}
	full := make(srp.DescList, 0, srp.MaxInlineDescs*srp.DescLen)
	for range srp.MaxInlineDescs {
		full, _ = full.Append(one)
	}
	table := srp.Desc{Addr: 1 << 40, RKey: 0x1234, Len: uint32(len(full))}
	for name, in := range map[string]srp.DataBuffer{
		"direct":   srp.DirectBuffer(one),
		"indirect": srp.IndirectBuffer(table, full, uint32(full.Total())),
	} {
		cmd := srp.Command{Tag: 1, CDB: make([]byte, srp.CDBLen), DataIn: in}
		buf := make([]byte, 8192)
		n, err := cmd.Encode(buf, 0)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cmd.Encode(buf, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
		var got srp.Command
		b.Run("decode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := got.Decode(buf[:n], 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
