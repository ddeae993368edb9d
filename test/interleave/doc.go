// Package interleave runs real concurrent code under a scheduler of its own, so that
// tests can have every order in which goroutines could meet, and have it again. It is
// for tests, and knows nothing of what runs.
//
// The code under test calls a hook before each access to state that goroutines share.
// In a test the hook is Run.At: the actor stops there, and a chooser decides who goes
// on. Random choosers try many orders; Search tries them systematically.
//
// # Ownership
//
// Actors are coroutines: one of them runs at a time, on the goroutine that calls
// Finish. A Run is used once.
//
// # Levels
//
// Everything here is for tests, at Passive.
package interleave
