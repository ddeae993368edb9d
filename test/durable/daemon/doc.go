// Package daemon runs the program under test: starts it, waits until it says where its export is, kills it, or asks it
// to end. It must not know what the program does.
//
// # Ownership
//
// A Daemon has three goroutines (two read what the program prints, one waits for its end); all have ended when Kill or
// Stop returns. Its methods may be called by several goroutines.
//
// # Levels
//
// All Passive.
//
// # State machine
//
//	started → ready (URI printed) → ended
//	started → ended
//
// # Errors
//
// *EndedError: the program ended by itself, or did not become ready in time; it has what the program last printed.
//
// # Testing
//
// With the tools that use it, against nbdkit and the servers in package durable's tests.
//
// # Clauses
//
// The URI form of the NBD protocol.
package daemon
