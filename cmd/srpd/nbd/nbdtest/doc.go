// Package nbdtest has disks in memory, one that can do everything and one that is
// only fast, an authority for certificates and a client, for tests of the NBD server
// and of what uses it. It must not be used for data that anyone wants to keep.
//
// # Ownership
//
// A RAM belongs to whoever made it, who closes it after the server that exports
// it. Its contents are touched by its processor or its worker only; Snapshot and
// Durable copy them out through the same.
//
// # Levels
//
// Submit is Dispatch; the rest is Passive or computes.
package nbdtest
