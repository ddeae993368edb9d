package nbd

import "time"

const (
	// MaxRequest is the longest READ or WRITE, in bytes: what a client may assume
	// that has not asked for block sizes.
	MaxRequest = 32 << 20

	// DefaultConnMemory is the registered memory of one connection, in bytes, the
	// receive ring included. 1 MiB to 1 GiB. 8 MiB hold 28 requests of 256 KiB,
	// or 128 of 4 KiB many times over. A request that does not fit uses its
	// export's one region of MaxRequest bytes, alone.
	DefaultConnMemory = 8 << 20

	// DefaultMemoryLimit bounds the registered memory of all connections and
	// exports, in bytes. What is above it is refused when it connects.
	DefaultMemoryLimit = 512 << 20

	// DefaultMaxConns bounds the connections, those that negotiate included.
	DefaultMaxConns = 128

	// DefaultNegotiateTimeout is the time from accept to transmission. Every step
	// of a negotiation is short; a client that is silent holds a goroutine.
	DefaultNegotiateTimeout = 30 * time.Second

	// acceptPause is the time between tries to accept when descriptors or memory
	// have run out.
	acceptPause = 100 * time.Millisecond

	// slots is the number of requests in flight of one connection. A client that
	// sends more is not read from until one is answered. Clients in the field use
	// 16 to 128.
	slots = 128

	// ringSize is the receive ring of a connection, in bytes: a power of two. It
	// holds the requests and the payloads of short writes until they complete:
	// 128 of 4 KiB take 516 KiB.
	ringSize = 1 << 20

	// slabFrom is the payload length from which a write has memory of its own
	// instead of a piece of the ring: a copy of what the ring holds already
	// costs less than one more system call below it.
	slabFrom = 64 << 10

	// readAhead is the most that is read into the ring at a time, in bytes. It
	// bounds what a long write's payload has to be copied by.
	readAhead = 256 << 10

	// pageSize is the granule of payload memory, in bytes.
	pageSize = 4096

	// maxName is the longest export name, in bytes, by the protocol.
	maxName = 4096

	// maxOption is the longest option that is looked at, in bytes; maxOptionSkip
	// the longest that is read over. Beyond it the connection is closed.
	maxOption     = 16 << 10
	maxOptionSkip = 1 << 20

	// maxOptions is the number of options in one negotiation.
	maxOptions = 1024

	// maxText is the longest text in an error chunk, in bytes.
	maxText = 48
)
