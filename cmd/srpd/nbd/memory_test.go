package nbd

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"minisrp/miniport"
	"minisrp/verbs/arena"
)

// pages against a model that is a slice of booleans.
func TestPagesModel(t *testing.T) {
	for _, n := range []int{1, 3, 63, 64, 65, 200, 448} {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		p := newPages(n)
		used := make([]bool, n)
		type run struct{ first, n int }
		var out []run
		for range 3000 {
			if rng.IntN(3) > 0 || len(out) == 0 {
				k := 1 + rng.IntN(n)
				if rng.IntN(2) == 0 {
					k = 1 + rng.IntN(min(n, 4))
				}
				first, ok := p.take(k)
				if !ok {
					for i, free := 0, 0; i < n; i++ {
						if free++; used[i] {
							free = 0
						}
						if free == k {
							t.Fatalf("of %d pages, %d from %d on are free and were not found", n, k, i-k+1)
						}
					}
					continue
				}
				if first < 0 || first+k > n {
					t.Fatalf("run of %d from %d in %d pages", k, first, n)
				}
				for i := first; i < first+k; i++ {
					if used[i] {
						t.Fatalf("page %d is given out twice", i)
					}
					used[i] = true
				}
				out = append(out, run{first, k})
				continue
			}
			i := rng.IntN(len(out))
			r := out[i]
			out[i] = out[len(out)-1]
			out = out[:len(out)-1]
			p.put(r.first, r.n)
			clear(used[r.first:][:r.n])
		}
		for _, r := range out {
			p.put(r.first, r.n)
		}
		if first, ok := p.take(n); !ok || first != 0 || p.free != 0 {
			t.Fatalf("all given back, but not all %d to be had: %d, %v", n, first, ok)
		}
	}
}

// The ring holds a stream of payloads that are released in random order.
func TestRingModel(t *testing.T) {
	const size = 1 << 14
	a, err := arena.New(size)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	region := miniport.NewRegion(a)
	rng := rand.New(rand.NewPCG(7, 7))
	r := ring{region: region, buf: region.Bytes()}
	var next, check byte
	type held struct {
		id   uint64
		segs []miniport.Segment
		want []byte
	}
	var out []held
	for range 20000 {
		switch rng.IntN(3) {
		case 0: // input
			n := min(r.room(), rng.IntN(3000))
			x, y := r.space(n)
			if len(x)+len(y) != n {
				t.Fatalf("space of %d bytes is %d and %d", n, len(x), len(y))
			}
			for _, b := range [][]byte{x, y} {
				for i := range b {
					b[i] = next
					next++
				}
			}
			r.head += uint64(n)
		case 1: // a header and its payload
			n := rng.IntN(2000)
			if r.unparsed() < requestSize+n+1 || r.last-r.first == slots {
				continue
			}
			var scratch [requestSize]byte
			for _, b := range r.header(requestSize, scratch[:]) {
				if b != check {
					t.Fatalf("header byte %d, want %d", b, check)
				}
				check++
			}
			r.parsed += requestSize
			if rng.IntN(4) == 0 {
				b := make([]byte, n)
				if k := r.take(b); k != n {
					t.Fatalf("took %d of %d", k, n)
				}
				for _, b := range b {
					if b != check {
						t.Fatalf("taken byte %d, want %d", b, check)
					}
					check++
				}
				continue
			}
			h := held{want: make([]byte, n+1)}
			for i := range h.want {
				h.want[i] = check
				check++
			}
			h.segs, h.id = r.hold(n+1, nil)
			out = append(out, h)
		case 2: // a payload is done with
			if len(out) == 0 {
				continue
			}
			i := rng.IntN(len(out))
			h := out[i]
			out[i] = out[len(out)-1]
			out = out[:len(out)-1]
			var got []byte
			for _, s := range h.segs {
				got = append(got, s.Bytes()...)
			}
			if !bytes.Equal(got, h.want) {
				t.Fatalf("a held payload of %d bytes was overwritten", len(h.want))
			}
			r.release(h.id)
		}
	}
	for _, h := range out {
		r.release(h.id)
	}
	if r.room() != size-r.unparsed() {
		t.Errorf("%d bytes of room with %d unparsed: something is held", r.room(), r.unparsed())
	}
}

func TestPreferredBlock(t *testing.T) {
	for _, c := range []struct {
		info Info
		want uint32
	}{
		{Info{LogicalBlock: 512}, 4096},
		{Info{LogicalBlock: 512, PhysicalBlock: 65536}, 65536},
		{Info{LogicalBlock: 16384}, 16384},
		{Info{LogicalBlock: 512, PhysicalBlock: 1 << 30}, MaxRequest},
	} {
		if got := c.info.preferred(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.info, got, c.want)
		}
	}
}
