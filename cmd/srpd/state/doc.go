// Package state keeps what a daemon must know again after a restart: who it is, which name each disk has, and to which
// targets it was told to log in. It must not hold anything that the data path waits for.
//
//	DIR/            made with mode 0700
//	    lock        held while a daemon runs; names its process
//	    db/         a badger database; the next start repairs what a kill has left of it
//	    seal        fingerprints of the database's files
//	    reserve     space that is kept for the database, for when it is opened and closed
//
// # Ownership
//
// A Store is its maker's, from Open to Close, and the only one on its directory, in any process. Its methods may be
// called by several goroutines; they run one at a time.
//
// # Levels
//
// All of it is Passive.
//
// # Space
//
// The database writes into mapped files. Where the disk is full that is a SIGBUS, which no program survives. So Open
// and every change look for free space first and refuse with ErrSpace; the files that are mapped have their blocks
// allocated as soon as they are there; and a reserve is given up for what opening and closing write, and set aside again. A race with others who fill
// the disk remains only where badger makes a new file, which it does after some thousand changes.
//
// # Records
//
// Keys are "schema", "identity", "unit/N", "bind/IDENTITY" and "target/KEY"; values are JSON. A database with another schema than
// this package's is refused.
//
// # Errors
//
// hold.InUseError when another daemon has the directory; *DatabaseError, which names the database and the way out,
// when it cannot be used; ErrSpace. A database that cannot be used is left as it is.
//
// # Testing
//
// Every change is read back after Close and Open; a store is killed while it writes; the database is damaged byte by
// byte; and a small file system is filled up.
package state
