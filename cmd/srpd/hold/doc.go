// Package hold makes one process at a time the owner of a path, by a lock file that says who holds it. It must not
// know what the path is for.
//
// # Ownership
//
// A Lock is its maker's until Release. The kernel's lock (flock) ends with the process, so what a killed process
// leaves behind does not hold anybody up; the file's content, the holder's process ID, is only for the message.
//
// # Levels
//
// All of it is Passive.
//
// # Errors
//
// InUseError, which is ErrInUse, names the path and, where that is known, the holder.
//
// # Testing
//
// The tests lock from two descriptors and from a second process.
package hold
