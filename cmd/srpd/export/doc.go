// Package export makes an nbd.Backend of a disk.Disk: what one calls memory, processors and properties in the other's
// words. It must not change what a request says, nor keep anything of it.
//
// # Ownership
//
// A Backend has no goroutine and owns nothing. The disk is the caller's, who closes it after the server.
//
// # Levels
//
// Submit is Dispatch and allocates nothing; Register and Deregister are Passive; the rest computes.
//
// # Errors
//
// The disk's own; package nbd translates them.
//
// # Testing
//
// An NBD server on a disk of RAM is read and written by its own tests' client, and told of changes of the disk.
package export
