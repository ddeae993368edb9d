// Package setup makes a target of what its user says: units, who sees them at which LUNs, and what goes wrong. It must
// not know who logs in.
//
// # Text
//
//	unit     NAME=file:PATH[,size=SIZE][,block=BYTES][,serial=TEXT]
//	         NAME=ram,size=SIZE[,block=BYTES][,serial=TEXT]
//	         NAME=null,size=SIZE[,block=BYTES][,serial=TEXT]
//	lun      N=NAME, or GROUP/N=NAME
//	group    NAME=WHO[,WHO…], as package access names initiators
//
// # Ownership
//
// A Target is its maker's, from Start to Close. It has a fabric and a processor of its own.
//
// # Levels
//
// All of it is Passive.
//
// # Files
//
// A target that is made here is there to be tried out. No file is changed: one that is there is opened and write
// protected, and in place of one that is not there yet, or of memory, stands a store that forgets.
//
// # Errors
//
// Problems, with all that is wrong with a Config; *StoreError, which wraps lun's errors and the system's; those of
// package target.
//
// # Testing
//
// Each text is read, and refused; targets are started on files that are there, are not, are in use, are too small.
package setup
