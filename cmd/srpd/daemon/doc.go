// Package daemon puts the parts of srpd together, and takes them apart in order. It must not do any part's work: it
// knows which parts there are, what each needs of the others, and what its errors mean to the user.
//
//	sockets → state → processors → fabric, capture → embedded target → port, adapter → logins → scan → disks
//	                                                                      → NBD exports → control socket → ready
//
// # Ownership
//
// A Daemon is made by Start and ended by Stop of the same caller. Each part that was started has put how it is ended
// on a stack; Stop, or a Start that fails, takes them off from the top. Goroutines of its own are the ones that serve
// a listener, and the one that follows what targets have and tries again what has failed; Stop waits for them.
//
// # Levels
//
// Passive, but for asking processors for their counters.
//
// # State machine
//
//	starting  all has been tried      running, Start returns
//	starting  an error, or ctx ends   taken apart, Start returns the error
//	running   Stop                    stopping
//	running   a listener fails        running; Failed tells
//	stopping  all parts have ended    ended
//	stopping  ctx ends                ended as it stands: what is left goes with the process
//
// An error at the start is one of the daemon's own parts, or of a target that is required. What else is missing, a
// target or a unit's store, is tried again while the daemon runs.
//
// Exports follow what targets say while no client has a command out: after SRP_AER_REQ units are looked for, and the disks
// of the target ask theirs again; a look that fails is one of what is tried again.
//
// Stopping: no client is read from any more, what is in flight completes and is answered, disks are flushed, the
// sessions log out, the embedded target flushes and closes its stores, the state is closed.
//
// # Control
//
// admin does what is asked for at the control socket. A target is changed by one request at a time; one that removes it or
// logs out has a login that is under way give up. What is served is changed by one at a time too: a request, or the
// goroutine that follows what targets have. Targets that were added there are in the state, and are logged in to at the
// next start as those of the configuration are that are not required.
//
// # Errors
//
// Start's and Stop's errors have exit codes (package exitcode); the table is in errors.go.
//
// # Testing
//
// Package cmd/srpd tests the program itself, as users start it. The tests here are of what cannot be seen from there:
// that nothing is left behind in the process, and the table of errors.
package daemon
