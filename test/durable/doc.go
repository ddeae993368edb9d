// Package durable shows that an NBD server keeps its word: after kill -9, everything that it acknowledged as durable is
// there. It must not trust the server in anything, nor share code with it.
//
//	fill the area with zeros, flush
//	┌─▶ write, write with FUA, flush, trim, write zeroes, read: several connections, many requests at once
//	│   SIGKILL at a random moment
//	│   start the same command again, sometimes killing it once more while it starts
//	└── read everything back and compare with the record
//
// # What is checked
//
// Every block of 512 bytes that is written says in its content where it belongs and which write it is of, and has a
// checksum. The record keeps, for each block, the last version that is durable, and those after it. After a kill a
// block may hold any of these, whole; never an older one, another block's, a mixture, or what nobody wrote.
//
// A version is durable when a request with FUA has been answered, or a flush that was sent after the answer to the
// write had been received (on the same connection, unless the server says that a flush covers all). Versions of a block
// have an order because no two requests for it are under way at a time. A trimmed block may hold zeros or what it held,
// since NBD promises nothing about it; zeros written by write zeroes are a version like any other. What has been read
// back after a kill, and then flushed, is durable too.
//
// What is in the kernel's page cache survives the death of a process: that a server calls fsync shows only in a trace
// of its system calls, which is package flushtrace's affair.
//
// # Ownership
//
// Run owns everything: the daemon, the connections and their goroutines, which have all ended when it returns. The
// record belongs to the run, under its lock.
//
// # Levels
//
// All Passive.
//
// # State machine
//
// A request: issued → answered → durable. A kill makes what was issued or answered possible; reading back makes one of
// the possible ones certain and forgets the others.
//
// # Errors
//
// Run returns an error when the server could not be judged: it did not start, broke the protocol, refused a request,
// or ended by itself. What it lost is in Report.Violations.
//
// # Testing
//
// The tester must pass nbdkit's file plugin and an honest little server in the tests, and find each of the lies and
// mistakes that the same server can be told to make.
//
// # Clauses
//
// The NBD protocol (NetworkBlockDevice/nbd doc/proto.md), NBD_CMD_FLUSH, NBD_CMD_FLAG_FUA, NBD_CMD_TRIM,
// NBD_FLAG_CAN_MULTI_CONN.
package durable
