package bench

import (
	"fmt"
	"testing"

	"minisrp/scsi/lun"
	"minisrp/test/rig"
	"minisrp/verbs/arena"
)

// unitSize is large enough not to lie in the processors' caches.
const unitSize = 1 << 30

var sizes = []struct {
	size  uint32
	depth int
}{{4 << 10, 1}, {4 << 10, 32}, {128 << 10, 8}}

// BenchmarkPath is a request's way from the port driver through two QPs to a ram unit
// and back.
func BenchmarkPath(b *testing.B) {
	for _, write := range []bool{false, true} {
		for _, s := range sizes {
			b.Run(name(write, s.size, s.depth), func(b *testing.B) { benchPath(b, write, s.size, s.depth) })
		}
	}
}

func name(write bool, size uint32, depth int) string {
	op := "read"
	if write {
		op = "write"
	}
	return fmt.Sprintf("%s/%dKiB/depth%d", op, size>>10, depth)
}

func benchPath(b *testing.B, write bool, size uint32, depth int) {
	ram, err := lun.NewRAM(unitSize, 512)
	if err != nil {
		b.Fatal(err)
	}
	r, err := rig.New(b.Context(), rig.Config{Stores: []lun.Store{ram}})
	if err != nil {
		b.Fatal(err)
	}
	region, free, err := r.Memory(b.Context(), depth*int(size))
	if err != nil {
		b.Fatal(err)
	}
	l := &Load{
		Unit: r.Port.Units()[0], Processor: r.Processor, Region: region,
		Write: write, Size: size, Blocks: unitSize / 512,
	}
	l.Prepare(depth)
	l.Run(10000)
	b.ReportAllocs()
	b.SetBytes(int64(size))
	b.ResetTimer()
	failed := l.Run(b.N)
	b.StopTimer()
	if failed != 0 {
		b.Errorf("%d requests failed", failed)
	}
	free()
	if err := r.Close(b.Context()); err != nil {
		b.Error(err)
	}
}

// BenchmarkModel is the bare work: one copy of the same sequence, over memory of the
// same kind and size.
func BenchmarkModel(b *testing.B) {
	for _, write := range []bool{false, true} {
		for _, s := range sizes {
			b.Run(name(write, s.size, s.depth), func(b *testing.B) { benchModel(b, write, s.size, s.depth) })
		}
	}
}

func benchModel(b *testing.B, write bool, size uint32, depth int) {
	unit, err := arena.New(unitSize)
	if err != nil {
		b.Fatal(err)
	}
	defer unit.Close()
	buffers, err := arena.New(depth * int(size))
	if err != nil {
		b.Fatal(err)
	}
	defer buffers.Close()
	places := sequence(depth)
	blocks := uint64(size / 512)
	b.SetBytes(int64(size))
	i := 0
	for b.Loop() {
		at := places.next(unitSize/512/blocks) * blocks * 512
		mine := buffers.Bytes()[i*int(size):][:size]
		if i++; i == depth {
			i = 0
		}
		if write {
			copy(unit.Bytes()[at:][:size], mine)
		} else {
			copy(mine, unit.Bytes()[at:][:size])
		}
	}
}
