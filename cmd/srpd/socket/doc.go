// Package socket makes the sockets that daemons listen on, and says who is at the other end. It must not know what is
// spoken over them.
//
// # Ownership
//
// A listener is its maker's until Close. A unix socket is held by a lock file beside it, so that what a killed process
// has left is told from what a living one serves, and is replaced without being asked.
//
// # Levels
//
// All of it is Passive.
//
// # Errors
//
// hold.InUseError, which is hold.ErrInUse, when somebody else listens there; fs.ErrExist when the path is something
// else than a socket, which is not touched.
//
// # Testing
//
// The tests leave sockets behind, as a killed process does, and listen beside a program that knows nothing of the lock.
//
// # Clauses
//
// unix(7): SO_PEERCRED, the length of a path.
package socket
