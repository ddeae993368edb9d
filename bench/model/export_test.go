package model

import "bytes"

// Fill gives the units and buffers bytes that tell them apart.
func Fill(b *Bed) {
	for i, l := range b.lanes {
		for j := range l.unit {
			l.unit[j] = byte(j>>9 + j + i)
		}
		for j := range l.buffer {
			l.buffer[j] = byte(j>>9 - j + i)
		}
	}
}

// Contents returns all of them.
func Contents(b *Bed) []byte {
	var all [][]byte
	for _, l := range b.lanes {
		all = append(all, l.unit, l.buffer)
	}
	return bytes.Join(all, nil)
}
