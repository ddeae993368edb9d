// Package peer runs the servers that are measured: srpd, its NBD server over plain memory, and those of others. It must
// not measure anything.
//
// # Ownership
//
// A Pool has every server that was asked for, one of a kind, from the first time on until Close, which ends them and
// removes their files. It belongs to one goroutine.
//
// # Levels
//
// Passive.
//
// # Errors
//
// MissingError: a program is not installed. daemon.EndedError: a server has ended by itself; it has what it last said.
//
// # Testing
//
// The tests of bench run srpd and nbdkit.
package peer
