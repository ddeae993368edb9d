package tap

const (
	// cellSize is the unit in which the ring is filled, in bytes: an IU takes one cell.
	cellSize = 1 << 10

	// defaultRing holds some milliseconds of a loopback under full load, in bytes.
	defaultRing = 32 << 20
	minRing     = 64 << 10
	maxRing     = 1 << 30

	// defaultSnap keeps every IU whole, and the data of most commands, in bytes a
	// message.
	defaultSnap = 64 << 10
)
