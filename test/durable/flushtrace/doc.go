// Package flushtrace shows, from a trace of its system calls, that an NBD server has its writes on the disk before it
// says so: that fsync or fdatasync of the file, or a write that is synchronous by itself, lies between each write and
// the reply to the flush that covers it, and between each write with FUA and its reply. A kill cannot show that, since
// the kernel's page cache outlives the process.
//
//	strace ──▶ Parse: calls ──▶ requests and replies (from what is read from and written to sockets)
//	                       └──▶ writes to files, syncs ──▶ Check: for each promise, what makes it true
//
// The order is that of the lines in the trace. strace sees a call before the kernel begins it and after the kernel has
// ended it, so a sync whose end stands above the beginning of a reply was over when the reply was sent.
//
// # What is not seen
//
// Which write to a file belongs to which request is told by the data: every 512 bytes that Record writes are unique. A
// server that stores them otherwise than as they are, or through mapped memory or io_uring, has nothing proved. That
// the disk obeys fsync is taken for granted, and so is that the file's metadata that count are covered by it.
//
// # Ownership
//
// Everything belongs to its caller. Record starts and ends the server, with strace as its tracer.
//
// # Levels
//
// All Passive, or computing.
//
// # State machine
//
// None.
//
// # Errors
//
// Parse: the line that is not strace's. Check: ErrTruncated when the trace does not show enough of a connection's
// bytes, which a larger -s cures. Record: see package daemon.
//
// # Testing
//
// On recorded traces of nbdkit, as they are and with syncs taken out, moved or failing; live on nbdkit.
//
// # Clauses
//
// strace 6.1's output with -f -ttt -y; the NBD protocol's requests and simple replies.
package flushtrace
