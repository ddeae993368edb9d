// Package nbdclient is a plain NBD client for tests: fixed newstyle negotiation with NBD_OPT_GO, and simple replies. It
// shares no code with the server in this module, so that it can judge it, and it must not hide anything: every error
// and every reply comes to the caller as it is.
//
// # Ownership
//
// A Conn has two halves: one goroutine may send while another receives. Do uses both, for callers with one request at
// a time. Close may be called by anybody, and ends what waits.
//
// # Levels
//
// All Passive.
//
// # State machine
//
// Dial returns a connection in the transmission phase; it stays there until Close or an error.
//
// # Errors
//
// ErrProtocol: the server broke the protocol; wrapped with what it sent. Errors of the network as they are; io.EOF
// when the server closed the connection between replies. Errno in a Reply is the server's answer, not an error.
//
// # Testing
//
// Against nbdkit, in package durable's tests.
//
// # Clauses
//
// The NBD protocol (NetworkBlockDevice/nbd doc/proto.md): fixed newstyle negotiation, simple replies, the URI form.
package nbdclient
