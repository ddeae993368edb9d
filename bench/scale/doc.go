// Package scale measures what targets and units cost, and says how far that carries: stacks of different numbers of both
// take the same load, and stand idle, in one run; a plane through what they took gives what each target and each unit
// takes, and the system's limits say what runs out first. It must not guess: a figure that was not measured has no slope.
//
//	points  (targets, units) ─► cost a request, resident memory, goroutines, files, mappings, time until all is up
//	fit     y = fixed + targets·a + units·b, by least squares
//	limits  of the process, the system and the protocol ─► the number of units at which each is reached
//
// # Ownership
//
// Measure makes one stack after another, in directories of its own, and leaves nothing behind.
//
// # Levels
//
// Everything is Passive.
//
// # Testing
//
// The fit is tested on planes that are known, the extrapolation on figures that are; one small measurement is made.
package scale
