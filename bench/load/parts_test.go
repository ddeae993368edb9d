package load

import (
	"math"
	"testing"
	"time"
)

// A permutation has each number once.
func TestPermutation(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 7, 8, 9, 1000, 4096, 4097} {
		for key := range uint64(5) {
			p := newPermutation(n, mix(key))
			seen := make([]bool, n)
			for i := range n {
				at := p.at(i)
				if at >= n || seen[at] {
					t.Fatalf("of %d numbers %d leads to %d, which is outside or was there before", n, i, at)
				}
				seen[at] = true
			}
		}
	}
}

// The steps between successive places are not alike: the middle of a permutation is not where it would be in order.
func TestPermutationMixes(t *testing.T) {
	const n = 1 << 16
	p := newPermutation(n, mix(1))
	up := 0
	for i := range uint64(n - 1) {
		if p.at(i+1) > p.at(i) {
			up++
		}
	}
	if up < n*45/100 || up > n*55/100 {
		t.Errorf("%d of %d steps lead up", up, n)
	}
}

// Percentiles are those of known values, to three digits.
func TestPercentiles(t *testing.T) {
	var s stats
	s.init(&Job{RW: RW{Read: true, Write: true}})
	for i := 1; i <= 10000; i++ {
		s.add(Read, false, time.Duration(i)*time.Microsecond, 4096)
	}
	c := s.kinds[Read].counts(2*time.Second, []float64{50, 90, 99, 99.9, 100})
	for name, want := range map[string]float64{"50.000000": 5000e3, "90.000000": 9000e3, "99.000000": 9900e3, "99.900000": 9990e3, "100.000000": 10000e3} {
		if got := float64(c.Latency.Percentile[name]); math.Abs(got-want) > want/1000 {
			t.Errorf("percentile %s is %v, want %v", name, got, want)
		}
	}
	if c.IOs != 10000 || c.Bytes != 10000*4096 || c.IOPS != 5000 || c.BandBytes != 5000*4096 || c.Runtime != 2000 {
		t.Errorf("%+v", c)
	}
	if l := c.Latency; l.Count != 10000 || math.Abs(float64(l.Min)-1e3) > 1 || math.Abs(float64(l.Max)-10000e3) > 10e3 || math.Abs(l.Mean-5000.5e3) > 5e3 || math.Abs(l.Deviation-2886.75e3) > 5e3 {
		t.Errorf("%+v", l)
	}
	if none := s.kinds[Write].counts(time.Second, []float64{50}); none.IOs != 0 || none.IOPS != 0 || none.Latency.Percentile != nil {
		t.Errorf("%+v", none)
	}
	s.reset()
	if s.kinds[Read].ios != 0 || s.kinds[Read].latency.TotalCount() != 0 {
		t.Error("something is left")
	}
}

// What is out of the histogram's range is counted at its end.
func TestLatenciesOutOfRange(t *testing.T) {
	var s stats
	s.init(&Job{RW: RW{Read: true, Write: true}})
	s.add(Write, false, -time.Second, 1)
	s.add(Write, false, 100*longest, 1)
	if h := s.kinds[Write].latency; h.TotalCount() != 2 {
		t.Errorf("%d are counted, want 2", h.TotalCount())
	}
}

func TestContent(t *testing.T) {
	j := Job{Verify: VerifyCRC32C, Blocks: []Share{{4096, 100}}}
	c := newContent(&j, 7)
	b := make([]byte, 4096)
	c.fill(b, 1, 8192, 3)
	if m, _ := c.check(b, 1, 8192, 3); m != Same {
		t.Error(m)
	}
	if m, is := c.check(b, 1, 4096, 3); m != Misplaced || is.off != 8192 {
		t.Error(m, is)
	}
	if m, _ := c.check(b, 0, 8192, 3); m != Misplaced {
		t.Error(m)
	}
	if m, is := c.check(b, 1, 8192, 4); m != Stale || is.write != 3 {
		t.Error(m, is)
	}
	if m, _ := c.check(make([]byte, 4096), 1, 8192, 3); m != Foreign {
		t.Error(m)
	}
	for i := range b {
		b[i] ^= 0x10
		if m, _ := c.check(b, 1, 8192, 3); m == Same {
			t.Fatalf("a change of byte %d is not found", i)
		}
		b[i] ^= 0x10
	}
	j = Job{Verify: VerifyPattern, Pattern: []byte("abc"), Blocks: []Share{{512, 100}}}
	c = newContent(&j, 7)
	b = b[:512]
	c.fill(b, 0, 0, 1)
	if m, _ := c.check(b, 0, 512, 9); m != Same || string(b[:4]) != "abca" {
		t.Error(m)
	}
	b[511]++
	if m, _ := c.check(b, 0, 512, 9); m != Damaged {
		t.Error(m)
	}
}

// A request that overlaps a write waits, one that overlaps reads waits if it writes.
func TestPlacesInTheWay(t *testing.T) {
	p := place{from: 4096, end: 4096 + 8*4096, align: 4096, busy: make([]uint16, 8)}
	if !p.enter(4096, 8192, Read) || !p.enter(8192, 4096, Read) || p.enter(8192, 8192, Write) || p.enter(8192, 4096, Trim) {
		t.Error("readers do not share, or let a writer in")
	}
	p.leave(4096, 8192, Read)
	if p.enter(8192, 8192, Write) {
		t.Error("a writer came in before the last reader had left")
	}
	p.leave(8192, 4096, Read)
	if !p.enter(8192, 8192, Write) || p.enter(12288, 4096, Read) || p.enter(12288, 4096, Write) || !p.enter(16384, 4096, Write) {
		t.Error("a writer shares")
	}
}
