// Package exitcode says how the programs of this module end: one table of exit codes, shared by all of them, and the
// errors that carry one. It must not know what fails, only what that means to whoever started the program.
//
// A code never changes its meaning and is never used again for another: scripts depend on it. Text is for people and
// may change.
//
// # Levels
//
// It computes.
//
// # Errors
//
// An *Error has a code and, for people, advice on what to do next. Of finds the code of any error.
//
// # Testing
//
// The table is held against a copy in the tests, so that no code changes by accident.
package exitcode
