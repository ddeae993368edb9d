package nbd_test

import (
	"encoding/binary"
	"io"
	"testing"

	"minisrp/cmd/srpd/nbd"
	"minisrp/cmd/srpd/nbd/nbdtest"
	"minisrp/test/alloc"
)

// batch is one round of a client: writes and reads of n bytes, and a flush.
func batch(n, count int) (out []byte, in int) {
	put := func(cmd uint16, at uint64, length int) {
		for _, v := range []any{uint32(0x25609513), uint16(0), cmd, uint64(1), at, uint32(length)} {
			out, _ = binary.Append(out, binary.BigEndian, v)
		}
		in += 16
	}
	for i := range count {
		put(write, uint64(i*n), n)
		out = append(out, make([]byte, n)...)
		put(read, uint64(i*n), n)
		in += n
	}
	put(flush, 0, 0)
	return out, in
}

// Nothing is allocated between the socket and the completion, nor on the way back.
func TestNoAllocation(t *testing.T) {
	for _, c := range []struct {
		name     string
		n, count int
	}{{"4K", 4096, 8}, {"96K", 96 << 10, 1}, {"2M", 2 << 20, 1}} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, opts ...nbdtest.Option) {
				if raceEnabled {
					t.Skip("the race detector allocates")
				}
				s := serve(t, nbd.Config{ConnMemory: 2 * mib}, nbd.Export{Backend: ram(t, nbdtest.Disk(8*mib), opts...)})
				k := s.dial(t)
				k.enter("", simple)
				out, in := batch(c.n, c.count)
				buf := make([]byte, in)
				round := func() {
					if _, err := k.Write(out); err != nil {
						t.Fatal(err)
					}
					if _, err := io.ReadFull(k, buf); err != nil {
						t.Fatal(err)
					}
				}
				for range 20 {
					round()
				}
				if n := alloc.Count(200, round); n != 0 {
					t.Errorf("%d allocations in 200 rounds of %d requests", n, 2*c.count+1)
				}
			})
		})
	}
}

func BenchmarkPipelined4K(b *testing.B) {
	for _, mode := range []struct {
		name string
		opts []nbdtest.Option
	}{{"inline", nil}, {"async", []nbdtest.Option{nbdtest.Async()}}} {
		b.Run(mode.name, func(b *testing.B) {
			s := serve(b, nbd.Config{}, nbd.Export{Backend: ram(b, nbdtest.Disk(8*mib), mode.opts...)})
			k := s.dial(b)
			k.enter("", simple)
			out, in := batch(4096, 16)
			buf := make([]byte, in)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := k.Write(out); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(k, buf); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/33, "ns/request")
		})
	}
}
