package nbd

import "math/bits"

// pages hands out runs of whole pages.
//
// Ownership: the reader of the connection whose memory it divides.
type pages struct {
	used []uint64 // a bit a page; those past n are set
	n    int
	free int
}

func newPages(n int) pages {
	p := pages{used: make([]uint64, (n+63)/64), n: n, free: n}
	if n%64 != 0 {
		p.used[len(p.used)-1] = ^uint64(0) << (n % 64)
	}
	return p
}

// take finds a run of n pages (1 or more) and returns its first: the lowest there is, since what was used last is still
// in the processor's caches.
func (p *pages) take(n int) (first int, ok bool) {
	if n > p.free {
		return 0, false
	}
	if first, ok = p.search(n); !ok {
		return 0, false
	}
	p.flip(first, n)
	p.free -= n
	return first, true
}

// put gives a run back.
func (p *pages) put(first, n int) {
	p.flip(first, n)
	p.free += n
}

// search looks for n free pages in a row.
func (p *pages) search(n int) (int, bool) {
	for from := 0; from+n <= p.n; {
		start := p.scan(from, p.n, 0)
		if start+n > p.n {
			break
		}
		end := p.scan(start, start+n, ^uint64(0))
		if end == start+n {
			return start, true
		}
		from = end
	}
	return 0, false
}

// scan returns the first page in [from, to) whose bit differs from those of
// invert's complement: with 0 the first free one, with all ones the first used
// one. It returns to when there is none.
func (p *pages) scan(from, to int, invert uint64) int {
	for from < to {
		w := ^p.used[from/64] ^ invert
		w &= ^uint64(0) << (from % 64)
		if w != 0 {
			return min(to, from&^63+bits.TrailingZeros64(w))
		}
		from = from&^63 + 64
	}
	return to
}

func (p *pages) flip(first, n int) {
	for n > 0 {
		bit := first % 64
		k := min(n, 64-bit)
		p.used[first/64] ^= (^uint64(0) >> (64 - k)) << bit
		first += k
		n -= k
	}
}
