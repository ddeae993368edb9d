// Package rounds has contestants measured in turns, so that what disturbs the machine for a while disturbs all of them,
// and a ratio is one of neighbours in time. It must not know what they are.
//
// A run is a number of rounds. In a round every group has its turn, and in a group every contestant, one after the
// other; who is first moves on by one each round. So a disturbance of a minute reaches one round of a group, and not
// all of one contestant's.
//
// # Ownership
//
// Run calls Measure on its own goroutine, one at a time.
//
// # Levels
//
// Passive.
//
// # Errors
//
// What Measure returns is written down for the round, and does not end the run; a contestant that fails twice in a
// group is left out of it from then on. The end of the context ends the run, with its cause.
//
// # Testing
//
// With contestants that write down when they were called, and clocks that the test moves.
package rounds
