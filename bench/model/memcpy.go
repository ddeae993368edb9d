package model

// memcpy does the copies of a case, and nothing else.
type memcpy struct {
	lane   *lane
	c      Case
	places sequence
}

func newMemcpy(l *lane, c Case) *memcpy { return &memcpy{lane: l, c: c, places: sequence(c.Depth)} }

func (m *memcpy) run(n int) int {
	size := int(m.c.Size)
	count := uint64(len(m.lane.unit) / size)
	turn := 0 // whose buffer is next
	for range n {
		theirs := m.lane.unit[m.places.next(count)*uint64(size):][:size]
		mine := m.lane.buffer[turn*size:][:size]
		if turn++; turn == m.c.Depth {
			turn = 0
		}
		if m.c.Write {
			copy(theirs, mine)
		} else {
			copy(mine, theirs)
		}
	}
	return 0
}
