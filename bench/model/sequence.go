package model

import "math/bits"

// sequence gives places, the same ones each time: splitmix64, brought into range by a multiplication.
type sequence uint64

// next returns a number from 0 to n-1.
func (s *sequence) next(n uint64) uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	hi, _ := bits.Mul64(z^z>>31, n)
	return hi
}
