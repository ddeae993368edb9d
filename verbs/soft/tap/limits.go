package tap

const (
	// cellSize is the unit in which the ring is filled, in bytes: an IU takes one cell.
	cellSize = 1 << 10

	// defaultRing holds some milliseconds of a loopback under full load, in bytes.
	defaultRing = 32 << 20
	minRing     = 64 << 10
	maxRing     = 1 << 30

	// MinSize is the least limit of a file, in bytes: a packet of everything that there is.
	MinSize = 64 << 10

	// frameBytes is more than what is in a file beside packets, and packetBytes what is beside each, in bytes: an
	// Enhanced Packet Block without options.
	frameBytes  = 4 << 10
	packetBytes = 32

	// defaultSnap keeps every IU whole, and the data of most commands, in bytes a
	// message.
	defaultSnap = 64 << 10
)
