package load

import "minisrp/miniport"

// place is one unit as a worker uses it: the region, and where in it the next requests go.
//
// Ownership: the worker's.
type place struct {
	// Fixed after construction.
	unit      *miniport.Unit
	number    int    // of the unit
	from, end uint64 // the region, in bytes of the unit
	align     uint64
	count     uint64 // aligned places
	repeat    bool

	at    uint64 // sequential: the next place, from from on
	turn  uint64 // random: how many of the order have been used
	order permutation
	key   uint64

	// With verification: for each interval, which write it saw last (0: none, or it was trimmed), and who is there now:
	// so many readers, or a writer.
	written []uint32
	busy    []uint16
	checked uint64 // at the end: the next interval to be read
}

// writing stands in busy for a write.
const writing = 1<<16 - 1

// reset starts again at the beginning, in another order.
func (p *place) reset(key uint64) {
	p.at, p.turn, p.key = 0, 0, key
	p.order = newPermutation(p.count, mix(key))
}

// next returns where the next request of n bytes goes, and how many bytes it has: less at the end of the region.
func (p *place) next(r *random, randomly bool, n uint64) (off, size uint64) {
	if !randomly {
		off = p.at
		p.at += n
		if p.at >= (p.end - p.from) {
			p.at = 0
		}
	} else if p.repeat {
		off = r.below(p.count) * p.align
	} else {
		if p.turn == p.count {
			p.reset(p.key + 1)
		}
		off = p.order.at(p.turn) * p.align
		p.turn++
	}
	size = min(n, p.end-p.from-off)
	return p.from + off, size
}

// span returns the intervals of a request.
func (p *place) span(off, n uint64) (first, past uint64) {
	return (off - p.from) / p.align, (off - p.from + n) / p.align
}

// enter marks the intervals of a request as in use. It reports false, and marks nothing, if another request is in the way.
func (p *place) enter(off, n uint64, d Direction) bool {
	if p.busy == nil {
		return true
	}
	first, past := p.span(off, n)
	for i := range p.busy[first:past] {
		if b := p.busy[first+uint64(i)]; b == writing || b != 0 && d != Read {
			return false
		}
	}
	for i := range p.busy[first:past] {
		if d == Read {
			p.busy[first+uint64(i)]++
		} else {
			p.busy[first+uint64(i)] = writing
		}
	}
	return true
}

// leave undoes enter.
func (p *place) leave(off, n uint64, d Direction) {
	if p.busy == nil {
		return
	}
	first, past := p.span(off, n)
	for i := range p.busy[first:past] {
		if d == Read {
			p.busy[first+uint64(i)]--
		} else {
			p.busy[first+uint64(i)] = 0
		}
	}
}

// unchecked returns the next run of intervals that have been written and were not read at the end yet, up to n bytes.
func (p *place) unchecked(n uint64) (off, size uint64, ok bool) {
	left := uint64(len(p.written)) - p.checked
	for range left {
		if p.written[p.checked] != 0 {
			break
		}
		p.checked++
	}
	first := p.checked
	for range min(n/p.align, uint64(len(p.written))-first) {
		if p.written[p.checked] == 0 {
			break
		}
		p.checked++
	}
	return p.from + first*p.align, (p.checked - first) * p.align, p.checked > first
}
