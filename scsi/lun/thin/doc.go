// Package thin keeps disks in a badger database: what was never written takes no space and reads as zeros, and what is
// unmapped is deleted. It must not know what serves the disks.
//
//	DIR/            made with mode 0700, and locked while it is open
//	    data        the bytes of all units, in slots of 4 KiB; see slots.go
//	    db/         a badger database, one for all units; the next Open repairs what a kill has left of it
//	    seal        what is known of its files from the last time
//	    mark        number of the last flush that was told
//	    reserve     space that is kept for what badger writes by itself, and for opening and closing
//
// A disk is cut into extents of 4 KiB, each with a key, under which the database has the slot where the bytes are and
// their checksum. The bytes are not in badger's tables: each level of these writes them anew, ten and more times in all,
// and keys alone are a hundredth of that. Bitmaps, in the database and in memory, say which extents are there; so holes
// cost no look-up, and an extent that badger has lost is an error and not zeros. A request of up to 512 KiB that lies in
// one piece of as much is one transaction; larger ones are several.
//
//	write:  free slot ─► bytes to the data file ─► commit: extent → slot, sum ─► acknowledged
//	flush:  sync the data file and the logs ─► note the mark ─► slots that were given up are free
//
// # Ownership
//
// A DB is its maker's, from Open to Close, and the only one on its directory in any process. A Store is its unit's, and
// the only one on its name; the DB is closed after its stores.
//
// # Levels
//
// All is Passive but what computes: Info, Name, Warn.
//
// # Durability
//
// A write is acknowledged when its bytes are in the page cache and its entry stands in badger's log, which is too: a kill
// loses nothing. FLUSH and FUA sync the data file and the logs, for all units of the database at once. A slot is not
// written again before a flush has made last that nobody refers to it, and an entry says which flush makes it last, and
// what was there before. So when the power fails, an extent has what was flushed last or something that was written
// later: Open looks at the sums of what no flush has covered. A byte that the medium has changed is an error when it is
// read.
//
// # Space
//
// badger writes into mapped files, for which a full disk is a SIGBUS. So every change looks at the free space first, and
// is refused as long as there is little (SPACE ALLOCATION FAILED at an initiator); logs have their blocks before badger
// makes them; and a reserve is given up for the compactions that are under way when the space ends. A race with others
// who fill the disk remains only there; the process may die, and what was acknowledged is there at the next start.
// Giving space back is let through longer than writes. Initiators are warned before that (Warn). The data file is not
// mapped: where it finds no block, that is an error.
//
// A database that is opened where there is no room for compactions can be read only, until there is: badger is opened
// without compactors then, which takes a few tables' room, and once more when there is more. Open refuses where there is
// not even that.
//
// What was given back or written over is used again for what is written later, by any unit; where much was given back,
// the file system gets it.
//
// # Snapshots
//
// Store.Snapshot writes a disk as it is at one moment, by badger's stream, while it is used; DB.Restore makes a disk of
// that, of any name, or none if the snapshot is not whole.
//
// # Memory and time
//
// A database takes about 12 MiB when it is written to, 3 MiB for each of up to three tables, a bit for each slot, and a
// dozen goroutines, two of which compact; a unit takes 512 bytes for each 16 MiB of it that hold something. Open goes
// over all keys, a second for some millions of them. Compactions write no more than tables of 2 MiB at a time, do not
// compress, and have keys only; writers wait for them, on their units' workers and never at Dispatch.
//
// # Errors
//
// *Error, which names the database and the way out, for one that cannot be used; lun.ErrGeometry, lun.ErrInUse and
// ErrNoUnit for a unit; ErrSnapshot; dbdir.ErrSpace, which is unix.ENOSPC; ErrDamaged for what was read. A database that cannot be
// used is left as it is.
//
// # Testing
//
// Stores are compared with a model; every command's effect is read back on one by the tests of package lun; databases
// are killed while they are written to, lose what was not flushed, are damaged file by file, and filled up on a small file
// system.
package thin
