package nbd

import "time"

const (
	// MaxRequest is the longest READ or WRITE, in bytes: what a client may assume
	// that has not asked for block sizes.
	MaxRequest = 32 << 20

	// DefaultConnMemory is the registered memory of one connection, in bytes, the
	// receive ring included. 1 MiB to 1 GiB. 8 MiB hold 28 requests of 256 KiB,
	// or 128 of 4 KiB many times over. Longer ones are served in pieces.
	// A read for which that is not possible, and that does not fit, gets a
	// region of MaxRequest bytes while it is under way, one a connection.
	DefaultConnMemory = 8 << 20

	// DefaultMemoryLimit bounds the registered memory of all connections and
	// exports, in bytes: DefaultMaxConns connections, and large reads that cannot be in pieces of eight of
	// them at a time. Memory is taken as it is needed. What is above it is refused when it connects.
	DefaultMemoryLimit = DefaultMaxConns*DefaultConnMemory + 8*MaxRequest

	// DefaultMaxConns bounds the connections, those that negotiate included.
	DefaultMaxConns = 128

	// DefaultNegotiateTimeout is the time from accept to transmission. Every step
	// of a negotiation is short; a client that is silent holds a goroutine.
	DefaultNegotiateTimeout = 30 * time.Second

	// DefaultPayloadTimeout is the time that the next payloadStep bytes of a long write
	// may take to arrive, while the payload has memory of its own.
	DefaultPayloadTimeout = 30 * time.Second
	payloadStep           = 1 << 20

	// DefaultPollTime is how long the reader of a connection looks for the next request before it sleeps, when the one
	// before came in less. fio on a machine of two processors had 24 k reads of 4 KiB a second at depth 1 without it,
	// 28.7 k with this, and 27.4 k with 200 µs; at depth 32 they did not differ.
	DefaultPollTime = 50 * time.Microsecond

	// wakeTime is what a wake may take beside: a wait that was slept through lasted so much longer than the client needed.
	wakeTime = 50 * time.Microsecond

	// lookPause is the time between two looks: each takes the socket's lock, for which the client has to wait.
	// lookGap is the longest time of a look in which nobody else had the processor.
	lookPause = 2 * time.Microsecond
	lookGap   = 20 * time.Microsecond

	// memoryPoll is the time between tries to get memory that other connections have.
	memoryPoll = 20 * time.Millisecond

	// DefaultPartingTime is how long a connection that is to end waits, altogether,
	// for its client to take replies: far longer than it takes one that reads.
	DefaultPartingTime = 5 * time.Second

	// DefaultKeepAlive is the time without a word from a TCP client after which the
	// kernel asks whether it is there; after another such time without an answer, or
	// twice that with replies that it does not take, the connection fails. Clients
	// that are cut off hold memory until then.
	DefaultKeepAlive = 60 * time.Second

	// keepAliveProbes is how often the kernel asks.
	keepAliveProbes = 6

	// idleMemories and idleLarges are how many connections' memories, and regions
	// for large requests, an export keeps when nobody uses them, as long as all
	// exports together keep no more than idleBytes.
	idleMemories = 4
	idleLarges   = 1
	idleBytes    = MaxRequest

	// idleTicks is how often in the time of Config.IdleTimeout it is looked for idle
	// connections: one is ended up to an eighth late.
	idleTicks = 8

	// suppressTime is the time in which a repeated log record is only counted.
	suppressTime = 10 * time.Second

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

	// pieceSize is the length up to which a READ or a WRITE is one request of the disk, in bytes, a multiple of 64 KiB;
	// spans is the number of longer ones in flight.
	pieceSize = 1 << 20
	spans     = 4

	// sendSize is what a unix socket holds of replies, in bytes, where the system allows it: eight of 128 KiB, or two of
	// 1 MiB, and what the kernel needs beside. What it does not take waits until the client has taken three quarters of
	// what is there and the writer goroutine is awake: with the usual 208 KiB the client has nothing to do meanwhile.
	// It is memory of the kernel, which counts toward no limit here, and is there while a client does not read.
	sendSize = 2 << 20

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

	// statusExtents is the most that one reply to BLOCK_STATUS tells, and
	// statusBuffers the number of them in flight on a connection. 4 KiB and 8 KiB
	// of memory a reply, taken when the first is asked for. Clients ask on from
	// where the answer ended.
	statusExtents = 256
	statusBuffers = 4

	// wireBuffer is each of the three buffers of a TLS connection, in bytes: more
	// than the largest record, 16 KiB and some, and what a system call moves.
	wireBuffer = 128 << 10

	// sealSize is the plain text of a full TLS record, in bytes, and sealMany the
	// most of them that are encrypted at a time.
	sealSize = 16 << 10
	sealMany = 4

	// secureMemory is what a TLS connection has beside a plain one, in bytes. It
	// counts towards the memory limits.
	secureMemory = 3*wireBuffer + 4*sealSize

	// partingTime bounds the wait for a client to take the end of TLS.
	partingTime = time.Second

	// maxText is the longest text in an error chunk, in bytes.
	maxText = 48
)
