// Package store measures units whose stores are on a disk: small writes at random places, with a flush after every few,
// as a file system or a database would ask for. It must not look into the stores.
//
// # Ownership
//
// Measure makes a stack of its own in the directory that it is given, and leaves nothing behind.
//
// # Testing
//
//	make bench BENCH=Flushed
//
// The stores take turns in one run; the ratio is what is quoted.
package store
