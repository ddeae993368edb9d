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
// A read that cannot be answered in pieces and
// needs more memory than there is waits for what others have, as long as a payload
// may take to come, and is refused then. Memory is bounded: by slots for a connection, by limits of Config for a client and
// for all.
//
// # Levels
//
// The reader and the writer are Passive. The reader decodes what one read brought,
// raises, submits each request, and lowers; before it sleeps it looks for more for
// a moment, if that is worth it (lookout.go); requests that complete in Lower are
// answered by the reader itself with one system call. A request's Done runs at
// Dispatch: it pushes the request onto the connection's lock-free batch and, on
// another frame than the reader's, wakes the writer without waiting. Nothing is
// allocated between the socket and the completion, nor on the way back.
//
// # State machine
//
//	state        event                                  state, action
//	negotiating  STARTTLS                               negotiating, anew, over TLS
//	negotiating  GO, EXPORT_NAME of an export           transmission
//	negotiating  ABORT, time-out, broken framing, EOF   closed
//	negotiating  no TLS with this client                closed
//	negotiating  Shutdown                               closed
//	transmission request                                transmission, answered in any order
//	transmission DISC, EOF, broken framing, stop, idle  draining, nothing more is read
//	draining     every request complete and answered    closed, memory to the pool
//	any          socket error on the way out            draining, replies are dropped
//
// # Requests
//
// The minimum block size that clients are told is the disk's logical block; what is
// not a multiple of it is refused with EINVAL, never turned into a
// read-modify-write. READ and WRITE take up to MaxRequest bytes. TRIM,
// WRITE_ZEROES, CACHE and BLOCK_STATUS take what the protocol can express. A refused
// request's payload is read over before the refusal is sent. Reads are answered by one chunk unless they are
// long and the client lets them be in pieces, so DF always holds. A reply to BLOCK_STATUS tells up to 256 extents; a disk that cannot tell
// holes is data. FAST_ZERO is always offered, since a disk that has no fast way says
// so at once. CACHE is offered where the disk can prefetch.
//
// What is longer than 1 MiB is served in pieces (pieces.go), which the disk sees as requests of their own, as many at a
// time as the connection's memory holds; FUA holds for each. It is answered
// when all are complete, a WRITE with the first error; a piece of a READ that fails is an error chunk among those of
// the others. A client that goes away within a payload has written the pieces that were there. READs of clients
// without structured replies, and with DF, are one request whatever their length.
//
// # Size
//
// A client is told the size that the disk has when it connects. The protocol cannot
// tell it another one later: a client of a disk that has grown reaches what it was
// told of, one of a disk that has shrunk gets errors behind the end (ENOSPC for
// writes), and both see the new size when they connect again. NBD_CMD_RESIZE is not
// offered, and refused with EPERM: a disk has the size that its target gives it.
//
// # Lost writes
//
// A disk that has lost acknowledged writes fails every flush, whoever asks. When
// that ends is decided in loss.go: when all who may count on what was lost know of
// it and have left, or when an operator says so. What a client wrote that vanishes
// without a goodbye is flushed.
//
// # TLS and access
//
// TLS is Go's, 1.2 and later, with certificates; with pre-shared keys it is that of
// subpackage psk, 1.3. The socket's two directions stay apart under it (wire.go, secure.go), so that the
// reader never waits for a client that does not read. An Access hides an export from
// those it is not for; TLS names, which are a certificate's or a key's, users of unix sockets and networks are what it
// goes by.
//
// # Errors
//
// What a disk reports is translated in one table (errors.go). A client that leaves
// the protocol gets its connection closed, is counted (Stats) and logged with what
// it sent, and nothing else is touched. ErrMemory, ErrClientMemory, ErrClosed and
// ProtocolError say what callers can tell apart.
//
// # Testing
//
// Subpackage nbdtest has a disk in memory, an authority for certificates, and a
// client. The server is tested by a client that speaks the protocol byte by byte, in
// all three styles of requests and replies, and by nbdinfo, nbdcopy, the libnbd
// shell, qemu-img, qemu-io, qemu-nbd, and fio, over unix sockets, TCP, and TLS of both
// kinds; what is installed most often knows all of it but extended headers. Package export has what is about the disk below: linearizability, and
// flushes that reach the unit. Negotiation and transmission are fuzzed; the
// allocators are checked against models. To fuzz transmission give
// -fuzzminimizetime=10x: goroutines make its coverage vary.
//
// # Clauses
//
// The NBD protocol, doc/proto.md of the NetworkBlockDevice project: fixed newstyle
// negotiation (EXPORT_NAME, ABORT, LIST, STARTTLS in its modes NOTLS, SELECTIVETLS
// and FORCEDTLS, INFO, GO, STRUCTURED_REPLY, LIST_META_CONTEXT and
// SET_META_CONTEXT with base:allocation); READ, WRITE, DISC, FLUSH, TRIM, CACHE,
// WRITE_ZEROES, BLOCK_STATUS; simple and structured replies. Its extension
// ext-header: EXTENDED_HEADERS, without BLOCK_STATUS_PAYLOAD. URIs: doc/uri.md.
package nbd
