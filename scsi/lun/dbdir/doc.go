// Package dbdir is what every badger database needs around it on a disk that may be full or was left by a kill. It must
// not know what is in the database.
//
// # Ownership
//
// Whoever calls has the directory for itself: the functions take no lock.
//
// # Levels
//
// All of it is Passive.
//
// # Space
//
// badger writes into mapped files: where no block can be had, that is a SIGBUS, which no program survives. So free
// space is looked at before badger is let at it, files that are mapped get their blocks as soon as they are there, and
// a Reserve keeps some for what badger does by itself.
//
// # Errors
//
// ErrSpace, which is unix.ENOSPC too; those of the system. What badger panics with becomes an error.
//
// # Testing
//
// The users of the package test it: cmd/srpd/state and scsi/lun/thin fill file systems up, kill, and damage.
package dbdir
