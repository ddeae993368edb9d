package load

import "math/bits"

// random gives numbers, the same ones each time for a seed: splitmix64.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	return mix(uint64(*r))
}

// below returns a number from 0 to n-1.
func (r *random) below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.next(), n)
	return hi
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// permutation is an order of the numbers below n, 1 or more, without a table: steps that can be undone within the next
// power of two, taken again while they lead outside.
type permutation struct {
	n, mask uint64
	shift   int
	key     uint64
}

func newPermutation(n, key uint64) permutation {
	width := max(2, bits.Len64(n-1))
	return permutation{n: n, mask: 1<<width - 1, shift: (width + 1) / 2, key: key}
}

// at returns number i, below n, of the order.
func (p *permutation) at(i uint64) uint64 {
	for range p.mask { // the cycle that i is in comes back to it at last
		i = (i ^ p.key) & p.mask
		i = i * 0xbf58476d1ce4e5b9 & p.mask
		i ^= i >> p.shift
		i = (i + p.key>>32) * 0x94d049bb133111eb & p.mask
		i ^= i >> p.shift
		i = i * 0x9e3779b97f4a7c15 & p.mask
		if i < p.n {
			break
		}
	}
	return i
}
