// Package providertest holds what every provider's tests need: two connected ends,
// and the behaviour on the data path that all providers must show. It must know of
// no provider.
//
// # Ownership
//
// A World belongs to one test, which drives it from its own goroutine. With manual
// processors nothing runs that the test did not ask for, and time stands still.
//
// # Levels
//
// For tests, at Passive. End.At goes to Dispatch.
package providertest
