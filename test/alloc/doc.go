// Package alloc counts what a program takes from the heap, for tests that hold it to nothing. It must not be used by
// programs: it stops the collector while it counts.
package alloc
