// Package nbd gives disks to programs as block devices over the NBD protocol, on
// unix sockets and, when asked, TCP. It moves payloads between sockets and
// registered memory and turns requests into those of minisrp/scsi/disk; it must
// not know how a disk is reached, cache anything, or answer a flush that the disk
// has not.
//
// # Ownership
//
// A Server is made by NewServer and ended by Shutdown. The caller runs Serve on a
// goroutine for each listener. An accepted connection has two goroutines, started
// by the server and awaited by Shutdown: the reader, which is also the owner of
// the connection, and the writer. What belongs to which of them, and what passes
// between them, is drawn at the head of conn.go. The registered memory of a
// connection comes from a pool of its export and goes back only when every
// request that points into it has completed, also when the client has vanished.
// Memory is bounded: by slots for a connection, by Config.MemoryLimit for all.
//
// # Levels
//
// The reader and the writer are Passive. The reader decodes what one read brought,
// raises, submits each request, and lowers; requests that complete in Lower are
// answered by the reader itself with one system call. A request's Done runs at
// Dispatch: it pushes the request onto the connection's lock-free batch and, on
// another frame than the reader's, wakes the writer without waiting. Nothing is
// allocated between the socket and the completion, nor on the way back.
//
// # State machine
//
//	state        event                                  state, action
//	negotiating  GO, EXPORT_NAME of an export           transmission
//	negotiating  ABORT, time-out, broken framing, EOF   closed
//	negotiating  Shutdown                               closed
//	transmission request                                transmission, answered in any order
//	transmission DISC, EOF, broken framing, stop        draining, nothing more is read
//	draining     every request complete and answered    closed, memory to the pool
//	any          socket error on the way out            draining, replies are dropped
//
// # Requests
//
// The minimum block size that clients are told is the disk's logical block; what is
// not a multiple of it is refused with EINVAL, never turned into a
// read-modify-write. READ and WRITE take up to MaxRequest bytes. TRIM and
// WRITE_ZEROES take what the protocol can express. A refused write's payload is
// read over. Reads are answered by one chunk, so DF always holds.
//
// # Errors
//
// What a disk reports is translated in one table (errors.go). A client that leaves
// the protocol gets its connection closed, is counted (Stats) and logged with what
// it sent, and nothing else is touched. ErrMemory, ErrClosed and
// ProtocolError say what callers can tell apart.
//
// # Testing
//
// Subpackage nbdtest has a disk in memory. The server is tested by a client that
// speaks the protocol byte by byte, and by nbdinfo, nbdcopy, the libnbd shell,
// qemu-img, qemu-io, qemu-nbd, and fio. Negotiation and transmission are fuzzed;
// the allocators are checked against models. To fuzz transmission give
// -fuzzminimizetime=10x: goroutines make its coverage vary.
//
// # Clauses
//
// The NBD protocol, doc/proto.md of the NetworkBlockDevice project: fixed newstyle
// negotiation (EXPORT_NAME, ABORT, LIST, INFO, GO, STRUCTURED_REPLY, and the
// metadata context options, which know no context); READ, WRITE, DISC, FLUSH, TRIM,
// WRITE_ZEROES; simple and structured replies. TLS, BLOCK_STATUS, CACHE, RESIZE,
// fast zeroing and extended headers are not offered. URIs: doc/uri.md.
package nbd
