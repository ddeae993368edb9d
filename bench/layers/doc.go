// Package layers runs the benchmarks of go test, package by package, and reads what they print. It must not judge them.
//
// # Levels
//
// Passive.
//
// # Errors
//
// ErrNoSource: this is not run in the source tree. What of a package fails is an error with what go test said; the
// benchmarks before it are kept.
//
// # Testing
//
// With a module made for it.
package layers
