// Package thin keeps disks in a badger database: what was never written takes no space and reads as zeros, and what is
// unmapped is deleted. It must not know what serves the disks.
//
//	DIR/            made with mode 0700, and locked while it is open
//	    db/         a badger database, one for all units; the next Open repairs what a kill has left of it
//	    seal        what is known of its files from the last time
//	    mark        number of the last flush that was told
//	    reserve     space that is kept for what badger writes by itself, and for opening and closing
//
// A disk is cut into extents of 4 KiB, each the value of a key. Bitmaps, in the database and in memory, say which are
// there; so holes cost no look-up, and an extent that badger has lost is an error and not zeros. A request of up to 512
// KiB that lies in one piece of as much is one transaction; larger ones are several.
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
// A write is acknowledged when it stands in badger's log, which is in the page cache: a kill loses nothing. FLUSH and FUA
// sync the logs, for all units of the database at once. What becomes of writes that were not flushed when the power
// fails is decided by badger's logs, extent by extent: an extent holds what it was written last or before that.
//
// # Space
//
// badger writes into mapped files, for which a full disk is a SIGBUS. So every change looks at the free space first, and
// is refused as long as there is little (SPACE ALLOCATION FAILED at an initiator); logs have their blocks before badger
// makes them; and a reserve is given up for the compactions that are under way when the space ends. A race with others
// who fill the disk remains only there; the process may die, and what was acknowledged is there at the next start.
// Giving space back is let through longer than writes. Initiators are warned before that (Warn).
//
// A database that is opened where there is no room for compactions can be read only, until there is: badger is opened
// without compactors then, which takes a few tables' room, and once more when there is more. Open refuses where there is
// not even that.
//
// What was given back or written over takes space until badger compacts. Where much was given back, that is seen to,
// unless the database is large; then it comes with what is written later.
//
// # Snapshots
//
// Store.Snapshot writes a disk as it is at one moment, by badger's stream, while it is used; DB.Restore makes a disk of
// that, of any name, or none if the snapshot is not whole.
//
// # Memory and time
//
// A database takes about 12 MiB when it is written to, 4 MiB for each of up to three tables, and a dozen goroutines, two
// of which compact; a unit takes 512 bytes for each 16 MiB of it that hold something. Compactions write no more than
// tables of 4 MiB at a time and do not compress; writers wait for them, on their units' workers and never at Dispatch.
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
// are killed while they are written to, damaged file by file, and filled up on a small file system.
package thin
