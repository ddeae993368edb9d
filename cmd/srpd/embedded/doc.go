// Package embedded is the daemon's own target: an SRP target port with its units, on an HCA of its own in a software
// fabric. It must not know who logs in; the way there is the fabric, as for any other target.
//
// # Ownership
//
// A Target is its maker's, from Start to Close. The fabric and the processor are the caller's, who closes the processor
// after the target.
//
// # Levels
//
// Start and Close are Passive. What the target does at Dispatch is package srp/target's and scsi/lun's.
//
// # Stores
//
// Each unit has a store of its own. That of a file store is a sparse file, which keeps the size that it was made with.
// Units of kind Badger are in one database, under a name each, and take the space that was written to.
// A ram store is lost with the process, and a null store forgets at once. Of a target that is Partial, the units whose
// stores cannot be had are missing, and the others are served.
//
// # Errors
//
// *StoreError, which names the unit and its file and wraps lun's errors; ErrFault for a fault that is badly written;
// those of the target and the fabric.
//
// # Testing
//
// Units are read and written through a login over the fabric; stores are opened again, and refused in other sizes.
package embedded
