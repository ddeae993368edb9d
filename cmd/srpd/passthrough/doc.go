// Package passthrough says which SCSI commands an operator may send to a unit that is in use: those that change neither
// data nor settings, and PERSISTENT RESERVE OUT. It must not send any.
//
// # Levels
//
// It computes.
//
// # Errors
//
// ErrRefused, with what is allowed.
//
// # Testing
//
// Every operation code and service action is held against the list; writes of all kinds are named one by one.
//
// # Clauses
//
// SPC-5 6 and SBC-4 5: the commands; SAM-5 5.2: the length of a CDB.
package passthrough
