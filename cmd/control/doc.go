// Package control is what a daemon and its tools say to each other: HTTP and JSON over a unix socket. It must not know
// where what it tells comes from.
//
//	GET /v1/daemon      Daemon     who serves, since when, where its exports are
//	GET /v1/targets     Targets    target ports, their sessions and channels
//	GET /v1/units       Units      logical units, their disks and paths
//	GET /v1/counters    Counters   what has been counted, by layer
//
// Every answer has the number of this format, Version, which grows when a field changes its meaning or goes away; new
// fields may come at any time. An error is an Error object with an HTTP status other than 200.
//
// # Ownership
//
// A Server serves until Shutdown, which waits for its goroutines but for those of net/http that linger for half a
// second after a request that was none. A Client has no goroutine and one connection a call.
//
// # Levels
//
// All of it is Passive.
//
// # Access
//
// Only processes of the server's own user and of root are answered, whatever the permissions of the socket: the kernel
// says who they are.
//
// # Errors
//
// The client's errors have exit codes (package exitcode): NoDaemon, Denied, NotFound, Failure.
//
// # Testing
//
// A client and a server talk about a fixed source; golden files hold the JSON. Other tests break the protocol.
package control
